package static

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Definitions says which local variables keep the value that they are defined with.
type Definitions struct {
	values  map[*types.Var]ast.Expr
	changed map[*types.Var]bool
}

// Value returns the expression that defines a local variable which is not assigned anew, and whose address is not taken; nil
// for others.
func (d *Definitions) Value(v *types.Var) ast.Expr {
	if d.changed[v] {
		return nil
	}
	return d.values[v]
}

// Changes reports whether a variable is assigned other than where it is defined, or its address is taken.
func (d *Definitions) Changes(v *types.Var) bool { return d.changed[v] }

// FindDefinitions finds the definitions of all variables of a program.
func FindDefinitions(p *Program) *Definitions {
	d := &Definitions{values: map[*types.Var]ast.Expr{}, changed: map[*types.Var]bool{}}
	for _, f := range p.Files() {
		info := f.Info()
		change := func(e ast.Expr) {
			if id, ok := e.(*ast.Ident); ok {
				if v, ok := info.Uses[id].(*types.Var); ok {
					d.changed[v] = true
				}
			}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					change(ast.Unparen(left))
					if id, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
						if v, ok := info.Defs[id].(*types.Var); ok {
							d.values[v] = n.Rhs[i]
						}
					}
				}
			case *ast.IncDecStmt:
				change(ast.Unparen(n.X))
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					change(ast.Unparen(n.X))
				}
			case *ast.RangeStmt:
				change(n.Key)
				change(n.Value)
			}
			return true
		})
	}
	return d
}
