package static

import (
	"go/ast"
	"go/token"
	"go/types"
)

// localFunc is what is known of a local variable of a function type.
type localFunc struct {
	literal  *ast.FuncLit // that is assigned to it
	assigned int          // how often it is, as far as the source shows
	declared bool         // it is no parameter, and has no other value before
	other    bool         // it may get another value
	used     bool         // it is used other than by calling it
}

// findLocals returns the literals of the local variables that have one value only, which is a literal: until it is assigned, such a
// variable is nil. It also returns those of them that are only called, by the name of their variable.
func findLocals(p *Program) (literals map[*types.Var]*Function, named map[*Function]bool) {
	literals, named = map[*types.Var]*Function{}, map[*Function]bool{}
	for _, f := range p.Files() {
		all := &localFuncs{p: p, info: f.Info(), of: map[*types.Var]*localFunc{}}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			all.see(n)
			return true
		})
		for v, l := range all.of {
			if !l.declared || l.other || l.assigned != 1 || l.literal == nil {
				continue
			}
			literals[v] = p.Of(l.literal)
			named[p.Of(l.literal)] = !l.used
		}
	}
	return literals, named
}

// localFuncs has the local variables of a file whose types are those of functions.
type localFuncs struct {
	p    *Program
	info *types.Info
	of   map[*types.Var]*localFunc
}

// at returns what is known of the variable that an expression names; nil if it is not such a variable.
func (all *localFuncs) at(e ast.Expr) *localFunc {
	if e == nil {
		return nil
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := all.info.ObjectOf(id).(*types.Var)
	if !ok || v.IsField() || IsGlobal(v) || !isFunction(v.Type()) {
		return nil
	}
	if all.of[v] == nil {
		all.of[v] = &localFunc{}
	}
	return all.of[v]
}

func (all *localFuncs) see(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			var value ast.Expr
			if len(n.Lhs) == len(n.Rhs) {
				value = n.Rhs[i]
			}
			all.assign(left, value, n.Tok == token.DEFINE)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			switch l := all.at(name); {
			case l == nil:
			case len(n.Values) == 0:
				l.declared = true
			case len(n.Names) == len(n.Values):
				all.assign(name, n.Values[i], true)
			default:
				l.other = true
			}
		}
	case *ast.RangeStmt:
		all.assign(n.Key, nil, false)
		all.assign(n.Value, nil, false)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			all.assign(n.X, nil, false)
		}
	case *ast.Ident:
		if l := all.at(n); l != nil && all.info.Uses[n] != nil && !all.p.called(n) && !all.assigned(n) {
			l.used = true
		}
	}
}

// assign notes that a variable gets a value; nil for one that is not known.
func (all *localFuncs) assign(to, value ast.Expr, declares bool) {
	l := all.at(to)
	if l == nil {
		return
	}
	l.assigned++
	if id, ok := ast.Unparen(to).(*ast.Ident); ok && declares && all.info.Defs[id] != nil {
		l.declared = true
	}
	if value == nil {
		l.other = true
		return
	}
	if l.literal, _ = ast.Unparen(value).(*ast.FuncLit); l.literal == nil {
		l.other = true
	}
}

// assigned reports whether a name stands on the left of an assignment.
func (all *localFuncs) assigned(id *ast.Ident) bool {
	assign, ok := all.p.Parent(id).(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, left := range assign.Lhs {
		if left == id {
			return true
		}
	}
	return false
}

// local returns the literal of the local variable that an expression names, or nil.
func (g *CallGraph) local(info *types.Info, e ast.Expr) *Function {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := info.Uses[id].(*types.Var)
	return g.locals[v]
}
