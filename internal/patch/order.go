package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// start is a place at which functions are started in other goroutines.
type start struct {
	in      *static.Function
	at      ast.Node
	begins  []*static.Function
	literal *static.Function // the literal that is started, if it is one
	group   static.Path      // the WaitGroup that its end is told to, if it is known
	reaches map[*static.Function]bool
}

// waiting has the functions of other packages that call a function before they return.
var waiting = map[string]bool{
	"(*testing.T).Run": true, "(*testing.B).Run": true, "(*sync.Once).Do": true, "(*testing.common).Cleanup": true,
}

// starts returns the places in the program at which goroutines begin. A function that is passed to another
// package may be started by it.
func (p *program) starts() (out []*start) {
	for c := range p.calls {
		switch {
		case c.Started:
			s := &start{in: c.In, at: c.Expr, begins: p.graph.May(c.Targets)}
			if c.Only() != nil && c.Only().Parent != nil {
				s.literal = c.Only()
				s.group = p.doneBy(s.literal)
			}
			out = append(out, s)
		case c.Outside != nil && !c.Open && !waiting[c.Outside.FullName()] && !static.Known(c.Outside).Has(static.CallsBefore):
			out = append(out, p.passedOn(c)...)
		}
	}
	for _, s := range out {
		s.reaches = p.graph.ReachFrom(s.begins)
	}
	return out
}

// passedOn returns the starts of the functions that a call passes to another package.
func (p *program) passedOn(c *static.Call) (out []*start) {
	for _, arg := range c.Expr.Args {
		begins := p.graph.Function(c.In.Info(), arg)
		if len(begins) == 0 {
			continue
		}
		s := &start{in: c.In, at: c.Expr, begins: begins}
		if c.Outside.FullName() == "(*sync.WaitGroup).Go" {
			s.literal = begins[0]
			s.group = p.PathOf(c.In.Info(), ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr).X)
		}
		out = append(out, s)
	}
	return out
}

// doneBy returns the WaitGroup whose Done a literal defers, if it does so first of all.
func (p *program) doneBy(fn *static.Function) static.Path {
	if len(fn.Body.List) == 0 {
		return static.Path{}
	}
	if d, ok := fn.Body.List[0].(*ast.DeferStmt); ok { // so it runs after all others
		if sel, ok := ast.Unparen(d.Call.Fun).(*ast.SelectorExpr); ok {
			if f, ok := fn.Info().Uses[sel.Sel].(*types.Func); ok && f.FullName() == "(*sync.WaitGroup).Done" {
				return p.PathOf(fn.Info(), sel.X)
			}
		}
	}
	return static.Path{}
}

// ordering knows which accesses no other goroutine can come between.
type ordering struct {
	p      *program
	starts []*start // those that lead to an access to the variable
}

func (p *program) newOrdering(all []*start, uses []*use) *ordering {
	o := &ordering{p: p}
	for _, s := range all {
		for _, u := range uses {
			if s.reaches[u.fn] {
				o.starts = append(o.starts, s)
				break
			}
		}
	}
	return o
}

// alone reports whether no other goroutine can access the variable at the same time as u: it is not shared yet, or
// all goroutines that access it have not begun, or have been waited for.
func (o *ordering) alone(u *use, t *target) bool {
	if u.fn == nil || o.initializes(u.fn) {
		return true
	}
	return o.fresh(u) || o.beforeCaptured(u, t) || o.outside(u, t)
}

// initializes reports whether a function is one of those named init, which run before all others, and no goroutine
// begins in it.
func (o *ordering) initializes(fn *static.Function) bool {
	decl, ok := fn.Node.(*ast.FuncDecl)
	return ok && decl.Recv == nil && fn.Name() == "init" && !slices.ContainsFunc(o.starts, func(s *start) bool { return !o.p.isRoot(s.in) })
}

// outside reports whether u runs before the goroutines begin, or after they have been waited for.
func (o *ordering) outside(u *use, t *target) bool {
	local := t.fn != nil && !t.isField() && u.fn == t.fn // each call of the function has a variable of its own
	if !local && !o.p.isRoot(u.fn) {
		return false
	}
	for _, s := range o.starts {
		if local && s.in != u.fn || !local && (s.reaches[u.fn] || !o.p.isRoot(s.in)) {
			return false
		}
		joined := o.p.joined(s)
		switch {
		case s.in != u.fn:
			if joined == nil {
				return false
			}
		case u.expr.Pos() < s.at.Pos():
			loop := o.p.loopOfBoth(u.expr, s.at)
			if loop != nil && (joined == nil || !within(loop, joined)) {
				return false
			}
		case joined == nil || u.expr.Pos() < joined.End():
			return false
		}
	}
	return true
}

// isRoot reports whether a function runs by itself: main, or a test that runs at the same time as no other one.
func (p *program) isRoot(fn *static.Function) bool {
	decl, ok := fn.Node.(*ast.FuncDecl)
	if !ok || decl.Recv != nil || p.graph.IsValue(fn) {
		return false
	}
	for c := range p.calls {
		if c.Callee == fn {
			return false
		}
	}
	if fn.Name() == "main" {
		return fn.Package.Name == "main"
	}
	if p.parallel || len(fn.Type.Params.List) != 1 {
		return false
	}
	t := fn.Info().TypeOf(fn.Type.Params.List[0].Type)
	return t != nil && t.String() == "*testing.T"
}

// joined returns the statement of a function that waits for the goroutines of a start, on all paths after it; nil if there is none.
// It stands in the list of statements in which the start stands, or in one around it.
func (p *program) joined(s *start) ast.Stmt {
	if !s.group.Valid() {
		return nil
	}
	for n := ast.Node(s.at); n != nil && n != s.in.Node; n = p.Parent(n) {
		list := statements(p.Parent(n))
		i := slices.IndexFunc(list, func(stmt ast.Stmt) bool { return stmt == n })
		if i < 0 {
			continue
		}
		for _, stmt := range list[i+1:] {
			if p.waitsFor(s, stmt) {
				return stmt
			}
			if branchesOut(stmt) {
				return nil
			}
		}
	}
	return nil
}

// waitsFor reports whether a statement waits for the goroutines of a start.
func (p *program) waitsFor(s *start, stmt ast.Stmt) bool {
	info := s.in.Info()
	e, ok := stmt.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := info.Uses[sel.Sel].(*types.Func)
	return ok && f.FullName() == "(*sync.WaitGroup).Wait" && p.PathOf(info, sel.X) == s.group
}

// loopOfBoth returns the innermost loop of the function that contains two nodes, or nil.
func (p *program) loopOfBoth(a, b ast.Node) ast.Node {
	for n := p.Parent(a); n != nil && p.Of(n) == nil; n = p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if within(n, b) {
				return n
			}
		}
	}
	return nil
}

// commonLoop reports whether a loop of the function contains two nodes.
func (p *program) commonLoop(a, b ast.Node) bool {
	for n := p.Parent(a); n != nil && p.Of(n) == nil; n = p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if n.Pos() <= b.Pos() && b.End() <= n.End() {
				return true
			}
		}
	}
	return false
}

// fresh reports whether u is about a struct that the function has just made, and that it has used for nothing but
// its fields.
func (o *ordering) fresh(u *use) bool {
	id, ok := ast.Unparen(u.base).(*ast.Ident)
	if u.base == nil || !ok {
		return false
	}
	info := u.fn.Info()
	v, ok := info.Uses[id].(*types.Var)
	if !ok || static.IsGlobal(v) {
		return false
	}
	def := o.p.made(u.fn, v)
	if def == nil {
		return false
	}
	for n := o.p.Parent(u.expr); n != nil && n != u.fn.Node; n = o.p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if def.Pos() < n.Pos() {
				return false
			}
		}
	}
	fresh := true
	ast.Inspect(u.fn.Body, func(n ast.Node) bool {
		other, ok := n.(*ast.Ident)
		if !ok || info.Uses[other] != v || other.Pos() >= u.expr.Pos() {
			return true
		}
		sel, ok := o.p.Parent(other).(*ast.SelectorExpr)
		if !ok || o.p.Around(other) != u.fn {
			fresh = false
		} else if selection := info.Selections[sel]; selection == nil || selection.Kind() != types.FieldVal {
			fresh = false
		} else if addr, ok := o.p.Parent(sel).(*ast.UnaryExpr); ok && addr.Op == token.AND {
			fresh = false
		}
		return true
	})
	return fresh
}

// made returns the definition of a local variable whose value is a new struct, or nil.
func (p *program) made(fn *static.Function, v *types.Var) (def ast.Node) {
	info := fn.Info()
	static.Own(fn.Body, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
				return
			}
			if id, ok := n.Lhs[0].(*ast.Ident); ok && info.Defs[id] == v && p.makes(info, n.Rhs[0]) {
				def = n
			}
		case *ast.ValueSpec:
			if len(n.Names) == 1 && info.Defs[n.Names[0]] == v && (len(n.Values) == 0 && !isPointer(v.Type()) || len(n.Values) == 1 && p.makes(info, n.Values[0])) {
				def = n
			}
		}
	})
	return def
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// makes reports whether an expression is a new struct: itself, or what a function of the program returns on all paths.
func (p *program) makes(info *types.Info, e ast.Expr) bool {
	if makes(info, e) {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	c := p.graph.Call(call)
	if c == nil || c.Only() == nil || c.Only().Type.Results.NumFields() != 1 {
		return false
	}
	all := true
	static.Own(c.Only().Body, func(n ast.Node) {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			all = all && len(ret.Results) == 1 && makes(c.Only().Info(), ret.Results[0])
		}
	})
	return all
}

func makes(info *types.Info, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.UnaryExpr:
		_, ok := e.X.(*ast.CompositeLit)
		return ok
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		_, builtin := info.Uses[id].(*types.Builtin)
		return ok && builtin && id.Name == "new"
	}
	return false
}

// beforeCaptured reports whether u is about a local variable, in the function that declares it and before any
// literal names it.
func (o *ordering) beforeCaptured(u *use, t *target) bool {
	if t.isField() || t.fn == nil || u.fn != t.fn {
		return false
	}
	captured := false
	ast.Inspect(t.fn.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		ast.Inspect(lit.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && u.fn.Info().Uses[id] == t.first().v {
				if lit.Pos() < u.expr.Pos() {
					captured = true
				} else if o.p.commonLoop(u.expr, lit) && !o.p.commonLoopWithin(u.expr, lit, t.first().ident) {
					captured = true
				}
			}
			return true
		})
		return false
	})
	return !captured
}

// commonLoopWithin reports whether all loops that contain a and b contain the declaration, too.
func (p *program) commonLoopWithin(a, b, declaration ast.Node) bool {
	for n := p.Parent(a); n != nil && p.Of(n) == nil; n = p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if n.Pos() <= b.Pos() && b.End() <= n.End() && !(n.Pos() <= declaration.Pos() && declaration.End() <= n.End()) {
				return false
			}
		}
	}
	return true
}
