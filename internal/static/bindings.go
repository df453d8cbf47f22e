package static

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A binding is the only value of a variable of a function type, apart from nil.
type binding struct {
	info *types.Info
	expr ast.Expr // nil if the variable may have several values, or one that is not known
}

// bindings has the variables of function types that the source declares with var or :=, and sets in one place.
type bindings map[Key]binding

// bindingsOf returns the bindings of a program. Variables whose address is taken have none, and neither have those that
// packages outside of the program may set.
func bindingsOf(p *Program) bindings {
	declared := map[Key]bool{}
	b := bindings{}
	for _, f := range p.Files() {
		info := f.Info()
		set := func(left, right ast.Expr) {
			v := functionVariable(info, left)
			if v == nil {
				return
			}
			key := p.Key(v)
			if _, again := b[key]; again || outsideMaySet(v) {
				right = nil
			}
			b[key] = binding{info, right}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if v := functionVariable(info, name); v != nil {
						declared[p.Key(v)] = true
					}
					if len(n.Values) > 0 {
						set(name, at(n.Values, i, len(n.Names)))
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && info.Defs[id] != nil {
						declared[p.Key(info.Defs[id])] = true
					}
					set(left, at(n.Rhs, i, len(n.Lhs)))
				}
			case *ast.RangeStmt:
				for _, left := range []ast.Expr{n.Key, n.Value} {
					if left != nil {
						set(left, nil)
					}
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					set(n.X, nil)
				}
			}
			return true
		})
	}
	for key := range b {
		if !declared[key] {
			delete(b, key)
		}
	}
	return b
}

// at returns the element of a list that goes to one of several variables; nil if one element goes to all of them.
func at(list []ast.Expr, i, variables int) ast.Expr {
	if len(list) != variables {
		return nil
	}
	return list[i]
}

// functionVariable returns the variable of a function type that an expression names; nil if it names none, or a field.
func functionVariable(info *types.Info, e ast.Expr) *types.Var {
	var obj types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		obj = info.ObjectOf(e)
	case *ast.SelectorExpr:
		obj = info.Uses[e.Sel]
	}
	v, ok := obj.(*types.Var)
	if !ok || v.IsField() || !isFunction(v.Type()) {
		return nil
	}
	return v
}

// outsideMaySet reports whether packages outside of a program may set a variable of it.
func outsideMaySet(v *types.Var) bool {
	pkg := v.Pkg()
	return pkg != nil && v.Parent() == pkg.Scope() && v.Exported() && pkg.Name() != "main" && !strings.Contains("/"+pkg.Path()+"/", "/internal/")
}

// value returns the expression that an expression stands for: the only value of a variable, also by way of other variables, or the
// expression itself.
func (b bindings) value(p *Program, info *types.Info, e ast.Expr) (*types.Info, ast.Expr) {
	for range len(b) + 1 { // two variables may have each other's value
		e = ast.Unparen(e)
		v := functionVariable(info, e)
		if v == nil || b[p.Key(v)].expr == nil {
			break
		}
		info, e = b[p.Key(v)].info, b[p.Key(v)].expr
	}
	return info, ast.Unparen(e)
}

// bound returns the function that the variable of a call has as its only value: one of the program, or one of another module. It
// returns nil for methods, whose receiver the call does not show.
func (g *CallGraph) bound(info *types.Info, e ast.Expr) (*Function, *types.Func) {
	info, e = g.bindings.value(g.Program, info, e)
	if lit, ok := e.(*ast.FuncLit); ok {
		return g.Program.Of(lit), nil
	}
	named := namedFunc(info, e)
	if named == nil || named.Signature().Recv() != nil {
		return nil, nil
	}
	if fn := g.Program.Declared(named); fn != nil {
		return fn, nil
	}
	return nil, named
}
