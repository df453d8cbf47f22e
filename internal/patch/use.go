package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// use is an access to the variable that is repaired: an expression that names it, or a call of a function that
// accesses it.
type use struct {
	fn    *static.Function
	expr  ast.Expr
	base  ast.Expr    // the struct of a field; nil for other variables, and if it has no expression
	path  static.Path // of the struct, with embedded fields; of the variable itself if it is no field
	write bool
	addr  bool // its address is taken
	late  bool // it is a deferred call, which is made at the end of the function

	// depth is how many elements lead from the variable to what is accessed: 1 for an element of a slice or map, 2 for one of that.
	depth int
	// changes is the depth of what may be changed in place, while others have the slice or map that it is in; 0 for nothing.
	changes int
	// leaves is what leaves the statement and still leads to the elements of a map or slice; nil if nothing does.
	leaves ast.Expr
	left   int // its depth
}

// namedVariable is a variable with the expression that names it.
type namedVariable struct {
	v    *types.Var
	expr string
}

// find returns the variables that expressions on a line name. Without expressions it is what is accessed on the line, if that
// is only one.
func (p *program) find(name string, line int, exprs []string) map[static.Key]namedVariable {
	out := map[static.Key]namedVariable{}
	for _, f := range p.Files() {
		if p.position(f.Syntax.Package).Filename != name {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			first, last := p.position(e.Pos()).Line, p.position(e.End()).Line
			text := types.ExprString(ast.Unparen(e))
			if first > line || line > last || len(exprs) > 0 && !slices.Contains(exprs, text) {
				return true
			}
			if v := static.Variable(f.Info(), e); v != nil {
				out[p.Key(v)] = namedVariable{v, text}
			}
			return true
		})
	}
	return out
}

// uses returns the accesses to the variables of a target, by file and position.
func (p *program) uses(t *target) (out []*use) {
	for _, f := range p.Files() {
		info := f.Info()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := info.Uses[id].(*types.Var)
			if !ok || !t.has(p.Key(v)) {
				return true
			}
			if u := p.useOf(info, id, t); u != nil {
				out = append(out, u)
			}
			return true
		})
	}
	return out
}

// useOf describes an access by name. It returns nil for the key of a composite literal.
func (p *program) useOf(info *types.Info, id *ast.Ident, t *target) *use {
	u := &use{fn: p.Around(id), expr: id}
	for u.fn != nil && p.graph.InPlace(u.fn) != nil {
		u.fn = u.fn.Parent
	}
	if sel, ok := p.Parent(id).(*ast.SelectorExpr); ok && sel.Sel == id {
		u.expr = sel
		if selection := info.Selections[sel]; selection != nil {
			u.base = sel.X
			u.path = p.PathOf(info, sel.X).Through(selection)
		}
	} else if t.isField() {
		return nil
	}
	if !t.isField() {
		u.path = p.PathOf(info, u.expr)
	}
	p.classify(info, u)
	return u
}

// inPlace returns the depth of the innermost elements that uses may change in place.
func inPlace(uses []*use) (depth int) {
	for _, u := range uses {
		if depth = max(depth, u.changes); u.write {
			depth = max(depth, u.depth)
		}
	}
	return depth
}

// classify finds out what a use does, from the expressions around it.
func (p *program) classify(info *types.Info, u *use) {
	var inner ast.Node = u.expr
	for {
		outer := p.Parent(inner)
		switch outer := outer.(type) {
		case *ast.ParenExpr, *ast.StarExpr:
		case *ast.SelectorExpr:
			if selection := info.Selections[outer]; selection != nil && selection.Kind() == types.MethodVal {
				_, pointer := selection.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
				_, already := info.TypeOf(inner.(ast.Expr)).Underlying().(*types.Pointer)
				u.write = u.write || pointer && !already
				return
			}
			if _, pointer := info.TypeOf(inner.(ast.Expr)).Underlying().(*types.Pointer); pointer {
				return // another variable
			}
		case *ast.IndexExpr:
			if outer.X != inner {
				return
			}
			u.depth++
			if _, pointer := info.TypeOf(outer).Underlying().(*types.Pointer); pointer && !p.assigns(outer) {
				return
			}
		case *ast.SliceExpr:
			if outer.X != inner {
				return
			}
			if keepsRoom(outer) && leadsOn(info.TypeOf(outer)) {
				u.changes = max(u.changes, u.depth+1)
			}
		case *ast.UnaryExpr:
			u.addr = outer.Op == token.AND
			return
		case *ast.IncDecStmt:
			u.write = true
			return
		case *ast.RangeStmt:
			u.write = outer.Key == inner || outer.Value == inner
			return
		case *ast.AssignStmt:
			for i, left := range outer.Lhs {
				if left == inner {
					u.write = true
					return
				}
				if len(outer.Lhs) == len(outer.Rhs) && outer.Rhs[i] == inner && !isPartOf(outer.Rhs[i], left) {
					u.leave(info, inner.(ast.Expr))
				}
			}
			return
		case *ast.CallExpr:
			p.argument(info, u, outer, inner.(ast.Expr))
			return
		case *ast.ReturnStmt, *ast.ValueSpec, *ast.CompositeLit, *ast.KeyValueExpr, *ast.SendStmt:
			if e, ok := inner.(ast.Expr); ok {
				u.leave(info, e)
			}
			return
		default:
			return
		}
		inner = outer
	}
}

// assigns reports whether an expression stands on the left of an assignment.
func (p *program) assigns(e ast.Expr) bool {
	switch outer := p.Parent(e).(type) {
	case *ast.AssignStmt:
		for _, left := range outer.Lhs {
			if left == e {
				return true
			}
		}
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// argument finds out what a call does with a use.
func (p *program) argument(info *types.Info, u *use, call *ast.CallExpr, arg ast.Expr) {
	if !leadsOn(info.TypeOf(arg)) {
		return
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if _, builtin := info.Uses[id].(*types.Builtin); builtin {
			switch id.Name {
			case "delete", "clear":
				u.write = true
			case "copy":
				u.write = call.Args[0] == arg
			case "append":
				u.write = call.Args[0] == arg && keepsRoom(arg)
			}
			if u.write {
				u.depth++
			}
			return
		}
	}
	if !known(info, call).Has(static.HandsOver) {
		u.leave(info, arg)
	}
	u.write = true
	if p.changes(info, call, arg) {
		u.depth++
	}
}

// changes reports whether a call changes elements of a slice or map that it is given.
func (p *program) changes(info *types.Info, call *ast.CallExpr, arg ast.Expr) bool {
	callee := static.Callee(info, call)
	if static.Known(callee).Has(static.ChangesElements) {
		return true
	}
	if callee == nil {
		return false
	}
	fn := p.Declared(callee)
	if fn == nil {
		return false
	}
	i, params := slices.Index(call.Args, arg), fn.Info().Defs[fn.Decl.Name].(*types.Func).Signature().Params()
	if i < 0 || params.Len() == 0 {
		return false
	}
	return p.changesVariable(fn, params.At(min(i, params.Len()-1)))
}

// changesVariable reports whether a function changes elements of its parameter.
func (p *program) changesVariable(fn *static.Function, param *types.Var) (found bool) {
	if p.changed == nil {
		p.changed = map[*types.Var]bool{}
	}
	if known, ok := p.changed[param]; ok {
		return known
	}
	p.changed[param] = false // for recursion
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || fn.Info().Uses[id] != param {
			return !found
		}
		u := &use{fn: fn, expr: id}
		p.classify(fn.Info(), u)
		found = inPlace([]*use{u}) > 0
		return !found
	})
	p.changed[param] = found
	return found
}

// isPartOf reports whether an expression is a slice, or a part of it.
func isPartOf(e, slice ast.Expr) bool {
	for {
		part, ok := ast.Unparen(e).(*ast.SliceExpr)
		if !ok {
			return types.ExprString(ast.Unparen(e)) == types.ExprString(slice)
		}
		e = part.X
	}
}

// keepsRoom reports whether an expression is a part of a slice such that append to it writes what follows it in the slice.
func keepsRoom(e ast.Expr) bool {
	part, ok := ast.Unparen(e).(*ast.SliceExpr)
	return ok && part.High != nil && part.Max == nil
}

// leave notes that a value leaves the statement.
func (u *use) leave(info *types.Info, e ast.Expr) {
	if leadsOn(info.TypeOf(e)) {
		u.leaves, u.left = e, u.depth
	}
}

// leadsOn reports whether values of a type lead to elements that belong to the variable.
func leadsOn(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Map, *types.Slice:
		return true
	}
	return false
}

// copied returns an expression that reads or writes the whole struct of a field, other than a local variable, or nil.
func (p *program) copied(t *target) (found ast.Expr) {
	if !t.isField() {
		return nil
	}
	spec := p.typeSpec(t.first().ident)
	if spec == nil {
		return nil
	}
	owner := p.Key(t.file.Info().Defs[spec.Name])
	for _, f := range p.Files() {
		info := f.Info()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok && loop.Value != nil && found == nil {
				if named, ok := types.Unalias(info.TypeOf(loop.Value)).(*types.Named); ok && p.Key(named.Obj()) == owner {
					found = loop.Value
				}
			}
			e, ok := n.(ast.Expr)
			if !ok || found != nil || !info.Types[e].IsValue() {
				return true
			}
			if p.copiesReceiver(info, e, owner) {
				found = e
				return true
			}
			named, ok := types.Unalias(info.TypeOf(e)).(*types.Named)
			if !ok || p.Key(named.Obj()) != owner {
				return true
			}
			switch e := e.(type) {
			case *ast.Ident:
				if v, ok := info.Uses[e].(*types.Var); !ok || !static.IsGlobal(v) {
					return true
				}
			case *ast.StarExpr, *ast.SelectorExpr, *ast.IndexExpr:
			default:
				return true
			}
			if !p.selects(info, e) {
				found = e
			}
			return true
		})
	}
	return found
}

// copiesReceiver reports whether an expression names a method that gets a copy of a struct, which a pointer leads to.
func (p *program) copiesReceiver(info *types.Info, e ast.Expr, owner static.Key) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	selection := info.Selections[sel]
	if selection == nil || selection.Kind() != types.MethodVal {
		return false
	}
	method := selection.Obj().(*types.Func)
	recv := types.Unalias(method.Signature().Recv().Type())
	if named, ok := recv.(*types.Named); ok && !types.IsInterface(named) {
		return p.Key(named.Obj()) == owner && (selection.Indirect() || isPointer(info.TypeOf(sel.X)))
	}
	if !types.IsInterface(recv) {
		return false
	}
	for _, fn := range p.Methods(method.Name()) { // a pointer may be in the interface
		if obj, ok := fn.Info().Defs[fn.Decl.Name].(*types.Func); ok {
			if named, ok := types.Unalias(obj.Signature().Recv().Type()).(*types.Named); ok && p.Key(named.Obj()) == owner {
				return true
			}
		}
	}
	return false
}

// selects reports whether the struct that an expression names is used only for a field or method, or for its address.
func (p *program) selects(info *types.Info, e ast.Expr) bool {
	switch outer := p.Parent(e).(type) {
	case *ast.SelectorExpr:
		if outer.Sel == e {
			return true // of the selection as a whole
		}
		if selection := info.Selections[outer]; selection != nil && selection.Kind() == types.MethodVal {
			_, pointer := selection.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
			return pointer
		}
		return true
	case *ast.UnaryExpr:
		return outer.Op == token.AND
	case *ast.ParenExpr:
		return p.selects(info, outer)
	}
	return false
}
