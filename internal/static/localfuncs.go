package static

import (
	"go/ast"
	"go/types"
	"slices"
)

// onlyNamed returns the literals that are called by the name of a local variable, and are used in no other way.
func onlyNamed(p *Program, b bindings) map[*Function]bool {
	out := map[*Function]bool{}
	used := map[Key]bool{} // variables that are used other than by calling them
	local := func(info *types.Info, id *ast.Ident) *types.Var {
		if v := functionVariable(info, id); v != nil && !IsGlobal(v) {
			return v
		}
		return nil
	}
	for _, f := range p.Files() {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && f.Info().Uses[id] != nil && !p.called(id) && !p.assigned(id) {
				if v := local(f.Info(), id); v != nil {
					used[p.Key(v)] = true
				}
			}
			return true
		})
	}
	for _, f := range p.Files() {
		for id, obj := range f.Info().Defs {
			if obj == nil || local(f.Info(), id) == nil || used[p.Key(obj)] {
				continue
			}
			if lit, ok := ast.Unparen(b[p.Key(obj)].expr).(*ast.FuncLit); ok {
				out[p.Of(lit)] = true
			}
		}
	}
	return out
}

// assigned reports whether a name stands on the left of an assignment.
func (p *Program) assigned(id *ast.Ident) bool {
	assign, ok := p.Parent(id).(*ast.AssignStmt)
	return ok && slices.Contains(assign.Lhs, ast.Expr(id))
}
