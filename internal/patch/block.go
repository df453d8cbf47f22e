package patch

import (
	"go/ast"
	"go/token"
)

// leaves returns a statement in n by which control may leave n other than at its end, or nil.
func leaves(root ast.Node) (found ast.Node) {
	labels := map[string]bool{}
	ast.Inspect(root, func(n ast.Node) bool {
		if l, ok := n.(*ast.LabeledStmt); ok {
			labels[l.Label.Name] = true
		}
		return true
	})
	var visit func(n ast.Node, loop, breakable bool)
	visit = func(n ast.Node, loop, breakable bool) {
		ast.Inspect(n, func(inner ast.Node) bool {
			if found != nil {
				return false
			}
			switch inner := inner.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt:
				found = inner
			case *ast.BranchStmt:
				switch {
				case inner.Label != nil:
					if !labels[inner.Label.Name] {
						found = inner
					}
				case inner.Tok == token.GOTO, inner.Tok == token.CONTINUE && !loop, inner.Tok == token.BREAK && !breakable:
					found = inner
				}
			case *ast.ForStmt:
				if inner != n {
					visit(inner.Body, true, true)
					return false
				}
			case *ast.RangeStmt:
				if inner != n {
					visit(inner.Body, true, true)
					return false
				}
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if inner != n {
					visit(inner, loop, true)
					return false
				}
			}
			return true
		})
	}
	switch n := root.(type) {
	case *ast.ForStmt:
		visit(n.Body, true, true)
	case *ast.RangeStmt:
		visit(n.Body, true, true)
	case *ast.SwitchStmt, *ast.TypeSwitchStmt:
		visit(n, false, true)
	default:
		visit(root, false, false)
	}
	return found
}
