package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// form is how a critical section is written.
type form uint8

const (
	around    form = iota // Lock before the statements, Unlock after them
	deferred              // Lock and defer Unlock before the statements, to the end of the function
	ahead                 // the values are read before the statement, into new variables
	enclosed              // the statements become a function literal that is called at once, with defer Unlock
	withExits             // Lock before the statements, Unlock after them and ahead of each statement that leaves them
)

// finish chooses how a region of statements is written. A section in which anything may panic ends with defer, so that the lock
// does not stay held if the program recovers.
func (r *repair) finish(g *region) *refusal {
	if g.form == ahead {
		return r.finishAhead(g)
	}
	at, exits := r.panics(g), g.leaves()
	if at == nil && exits == nil && !g.late() {
		g.form = around
		return nil
	}
	if r.deferrable(g) {
		return nil
	}
	switch {
	case g.late():
		if _, why := r.toEnd(g); why != nil {
			return why
		}
		return refuse(g.list[g.first], "the lock would be held to the end of the function, and that is not possible")
	case exits == nil:
		return r.encloses(g)
	case at == nil:
		return r.unlocksAtExits(g)
	}
	return refuse(at, "%s, and control leaves the statements at line %d", staysHeld, r.p.position(exits.Pos()).Line)
}

func endsIn[T ast.Stmt](g *region) bool {
	_, ok := g.list[g.last].(T)
	return ok
}

// panics returns a place in a region at which a panic may begin.
func (r *repair) panics(g *region) ast.Node {
	for _, s := range g.list[g.first : g.last+1] {
		if at := r.p.mayPanic(g.fn, s, g.lock, g.early...); at != nil {
			return at
		}
	}
	return nil
}

// leaves returns a statement by which control may leave a region other than at its end.
func (g *region) leaves() ast.Node {
	for _, s := range g.list[g.first : g.last+1] {
		if at := leaves(s); at != nil {
			return at
		}
	}
	return nil
}

// finishAhead returns why the values that are read ahead cannot be: reading them may panic.
func (r *repair) finishAhead(g *region) *refusal {
	if g.init != nil {
		if at := r.p.mayPanic(g.fn, g.init, g.lock); at != nil {
			return refuse(at, staysHeld)
		}
		return nil
	}
	for _, u := range g.uses {
		if e := r.readAhead(u, g.list[g.first]); e != nil {
			if at := r.p.mayPanic(g.fn, e, g.lock); at != nil {
				return refuse(at, staysHeld)
			}
		}
	}
	return nil
}

// deferrable makes a region one that reaches to the end of its function, if that is possible: nothing in the rest of the function
// waits, or takes the lock.
func (r *repair) deferrable(g *region) bool {
	if len(g.early) > 0 {
		return false
	}
	longer := *g
	longer.form = deferred
	if sameList(g.list, g.fn.Body.List) {
		longer.last = len(g.list) - 1
	} else if !endsIn[*ast.ReturnStmt](g) {
		return false
	}
	for _, s := range longer.list[longer.first : longer.last+1] {
		_, isGo := s.(*ast.GoStmt)
		if w := r.waitsIn(g.fn, s); w != nil && !isGo || hasLabels(s) {
			return false
		}
		if !sameList(g.list, g.fn.Body.List) && branchesOut(s) {
			return false
		}
	}
	for _, other := range r.uses { // they are protected by it, too, or by a lock of another object
		if other.fn == g.fn && !slices.Contains(longer.uses, other) && longer.start() <= other.expr.Pos() && other.expr.Pos() < longer.end() {
			if r.g.expression(r.p, other, r.texts.of) != g.lock {
				return false
			}
			longer.uses = append(slices.Clip(longer.uses), other)
			longer.exclusive = longer.exclusive || other.write || !r.g.rw
		}
	}
	if r.check(&longer) != nil {
		return false
	}
	*g = longer
	return true
}

// hasLabels reports whether a statement has labels or jumps to some, by which a deferred call may be made twice.
func hasLabels(root ast.Node) (found bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && b.Tok == token.GOTO
		return !found
	})
	return found
}

// branchesOut reports whether a statement has a branch statement by which control leaves it.
func branchesOut(s ast.Stmt) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && (b.Label != nil || b.Tok == token.BREAK || b.Tok == token.CONTINUE || b.Tok == token.GOTO)
		return !found
	})
	return found && leaves(s) != nil
}

// encloses makes a region a function of its own. Variables that it declares, and that the function names later, are declared ahead
// of it.
func (r *repair) encloses(g *region) (why *refusal) {
	g.form, g.declared = enclosed, nil
	info := g.fn.Info()
	for _, s := range g.list[g.first : g.last+1] {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				if why := r.declareAhead(g, s); why != nil {
					return why
				}
			}
		case *ast.DeclStmt:
			ast.Inspect(s, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && info.Defs[id] != nil && r.namedAfter(g, info.Defs[id]) {
					why = refuse(s, "%s, and %s is declared there", staysHeld, id.Name)
				}
				return true
			})
		case *ast.LabeledStmt:
			return refuse(s, staysHeld)
		}
		static.Own(s, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.DeferStmt:
				why = refuse(n, staysHeld)
			case *ast.CallExpr: // recover works only in the deferred function itself
				if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "recover" && info.Types[n.Fun].IsBuiltin() {
					why = refuse(n, staysHeld)
				}
			}
		})
	}
	return why
}

const staysHeld = "a panic would leave the lock held if the program recovers"

// declareAhead declares the variables of a statement ahead of its region, if they are named behind the region, or if the statement
// also assigns to others.
func (r *repair) declareAhead(g *region, s *ast.AssignStmt) *refusal {
	info := g.fn.Info()
	needed := false
	for _, left := range s.Lhs {
		id := left.(*ast.Ident)
		if obj := info.Defs[id]; obj != nil {
			needed = needed || r.namedAfter(g, obj)
		} else if id.Name != "_" {
			needed = true
		}
	}
	if !needed {
		return nil
	}
	for _, left := range s.Lhs {
		id := left.(*ast.Ident)
		obj := info.Defs[id]
		if obj == nil || id.Name == "_" {
			continue
		}
		text, ok := typeText(g.fn.File, obj.Type())
		if !ok || r.namesOther(g, obj) {
			return refuse(s, "%s, and %s cannot be declared ahead of it", staysHeld, id.Name)
		}
		g.declared = append(g.declared, declaration{id.Name, text, s})
	}
	return nil
}

// namesOther reports whether a region names something else by the name of a variable that it declares.
func (r *repair) namesOther(g *region, obj types.Object) (found bool) {
	for _, s := range g.list[g.first : g.last+1] {
		ast.Inspect(s, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if ok && id.Name == obj.Name() {
				other := g.fn.Info().Uses[id]
				if v, isVar := other.(*types.Var); isVar && v.IsField() {
					return true
				}
				found = found || other != nil && other != obj && other.Pos() < obj.Pos()
			}
			return true
		})
	}
	return found
}

// declaration is a variable that is declared ahead of a region.
type declaration struct {
	name, typ string
	at        *ast.AssignStmt // that declared it
}

// namedAfter reports whether the function names a variable behind a region.
func (r *repair) namedAfter(g *region, obj types.Object) (found bool) {
	ast.Inspect(g.fn.Node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Pos() >= g.end() && g.fn.Info().Uses[id] == obj
		return !found
	})
	return found
}

// typeText returns a type as the source of a file; false if the file cannot name it.
func typeText(f *static.File, t types.Type) (string, bool) {
	ok := true
	text := types.TypeString(t, func(pkg *types.Package) string {
		if pkg == f.Package.Types {
			return ""
		}
		for _, spec := range f.Syntax.Imports {
			if strings.Trim(spec.Path.Value, "\"`") == pkg.Path() {
				switch {
				case spec.Name == nil:
					return pkg.Name()
				case spec.Name.Name != "_" && spec.Name.Name != ".":
					return spec.Name.Name
				}
			}
		}
		ok = false
		return pkg.Name()
	})
	if b, basic := t.(*types.Basic); basic && b.Info()&types.IsUntyped != 0 {
		ok = false
	}
	return text, ok && !namesHidden(t, f.Package.Types)
}

// namesHidden reports whether a type has an unexported name of another package, or one that is declared in a function.
func namesHidden(t types.Type, here *types.Package) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		obj := t.Obj()
		if obj.Pkg() != nil && (obj.Pkg() != here && !obj.Exported() || obj.Parent() != nil && obj.Parent() != obj.Pkg().Scope()) {
			return true
		}
		for arg := range t.TypeArgs().Types() {
			if namesHidden(arg, here) {
				return true
			}
		}
	case *types.Pointer:
		return namesHidden(t.Elem(), here)
	case *types.Slice:
		return namesHidden(t.Elem(), here)
	case *types.Array:
		return namesHidden(t.Elem(), here)
	case *types.Chan:
		return namesHidden(t.Elem(), here)
	case *types.Map:
		return namesHidden(t.Key(), here) || namesHidden(t.Elem(), here)
	case *types.Struct, *types.Signature, *types.Interface:
		return true // rather another form
	}
	return false
}

// unlocksAtExits makes a region one that gives the lock back ahead of each statement that leaves it. What a return statement
// reads of the target is read ahead of that.
func (r *repair) unlocksAtExits(g *region) (why *refusal) {
	g.form, g.exits = withExits, nil
	for _, s := range g.list[g.first : g.last+1] {
		if r.p.hasDefer(s) {
			return refuse(s, "control leaves the statements that the lock would be held around")
		}
		eachExit(s, func(exit ast.Stmt) {
			if ret, ok := exit.(*ast.ReturnStmt); ok {
				for _, e := range ret.Results {
					if r.hasUse(g, e) && (len(ret.Results) > 1 && isCall(e) && isTuple(g.fn.Info().TypeOf(e)) || !named(g.fn.Info().TypeOf(e))) {
						why = refuse(e, "control leaves the statements that the lock would be held around")
					}
				}
				if len(ret.Results) == 0 && g.fn.Type.Results != nil && r.targetIsResult(g.fn) {
					why = refuse(ret, "control leaves the statements that the lock would be held around")
				}
			}
			if statements(r.p.Parent(exit)) == nil {
				why = refuse(exit, "control leaves the statements that the lock would be held around")
			}
			g.exits = append(g.exits, exit)
		})
	}
	return why
}

// targetIsResult reports whether the target is a named result of a function, which a plain return statement reads.
func (r *repair) targetIsResult(fn *static.Function) bool {
	return slices.ContainsFunc(r.t.variables, func(v *variable) bool { return within(fn.Type.Results, v.ident) })
}

func isCall(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok
}

func isTuple(t types.Type) bool {
	_, ok := t.(*types.Tuple)
	return ok
}

// named reports whether a variable can be declared with a value of a type.
func named(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return t != nil && !isTuple(t) && !(ok && b.Info()&types.IsUntyped != 0)
}

// hasUse reports whether an expression has one of the accesses of a region.
func (r *repair) hasUse(g *region, e ast.Expr) bool {
	return slices.ContainsFunc(g.uses, func(u *use) bool { return within(e, u.expr) })
}

// hasDefer reports whether a statement defers something.
func (p *program) hasDefer(root ast.Node) (found bool) {
	static.Own(root, func(n ast.Node) {
		_, ok := n.(*ast.DeferStmt)
		found = found || ok
	})
	return found
}

// eachExit calls visit with the statements by which control leaves a statement.
func eachExit(root ast.Stmt, visit func(ast.Stmt)) {
	static.Own(root, func(n ast.Node) {
		s, ok := n.(ast.Stmt)
		if !ok {
			return
		}
		switch s.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			if exits(root, s) {
				visit(s)
			}
		}
	})
}

// exits reports whether control leaves root by a return or branch statement in it.
func exits(root ast.Stmt, s ast.Stmt) bool {
	b, ok := s.(*ast.BranchStmt)
	if !ok {
		return true
	}
	if b.Tok == token.FALLTHROUGH {
		return false
	}
	if b.Label != nil {
		label := false
		ast.Inspect(root, func(n ast.Node) bool {
			l, ok := n.(*ast.LabeledStmt)
			label = label || ok && l.Label.Name == b.Label.Name
			return true
		})
		return !label
	}
	inside := false
	ast.Inspect(root, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			inside = inside || within(n, b)
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			inside = inside || within(n, b) && b.Tok == token.BREAK
		}
		return true
	})
	return !inside
}

// ends reports whether control does not come to the end of a statement.
func ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.BlockStmt:
		return len(s.List) > 0 && ends(s.List[len(s.List)-1])
	case *ast.IfStmt:
		return s.Else != nil && ends(s.Body) && ends(s.Else)
	}
	return false
}
