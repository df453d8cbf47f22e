package enforce

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// operands returns the expressions in a step that may wait whose accesses come before the wait: operands of the one
// operation that waits, which may be a select statement. Held locks are paused after the last of them. It returns false if an
// access of a planned variable may come later, or more than one operation may wait.
func (plan *Plan) operands(u *unit, s *step) (out []ast.Expr, ok bool) {
	all, waits := plan.waiting(u, s)
	if waits != 1 {
		return nil, false
	}
	for _, part := range s.parts {
		for _, a := range plan.p.accessesIn(u.Info(), part) {
			if a.made || !slices.Contains(plan.names, a.variable) {
				continue
			}
			i := slices.IndexFunc(all, func(e ast.Expr) bool { return e.Pos() <= a.at && a.at < e.End() })
			if i < 0 {
				return nil, false
			}
			if t := u.Info().Types[all[i]]; !t.IsValue() || isTuple(t.Type) || isUntyped(t.Type) {
				return nil, false
			}
			if !slices.Contains(out, all[i]) {
				out = append(out, all[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b ast.Expr) int { return int(a.Pos() - b.Pos()) })
	return out, true
}

// waiting returns the operands of the operations in a step that wait, in the order of the source, and how many operations these are.
// The communications of a select statement are one: all their operands are evaluated before it waits.
func (plan *Plan) waiting(u *unit, s *step) (operands []ast.Expr, waits int) {
	communicates := func(part ast.Node) bool {
		clause, ok := plan.p.src.Parent(part).(*ast.CommClause)
		return ok && clause.Comm == part
	}
	selects := len(s.parts) > 0 && !slices.ContainsFunc(s.parts, func(part ast.Node) bool { return !communicates(part) })
	if len(s.parts) != 1 && !selects {
		return nil, 0
	}
	for _, part := range s.parts {
		of, n := plan.waitingIn(u, s, part)
		operands = append(operands, of...)
		waits += n
	}
	if selects { // each part communicates
		waits -= len(s.parts) - 1
	}
	return operands, waits
}

// waitingIn is waiting for a part of a step.
func (plan *Plan) waitingIn(u *unit, s *step, part ast.Node) (all []ast.Expr, waits int) {
	take := func(operands ...ast.Expr) {
		waits++
		all = operands
	}
	static.Own(part, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SendStmt:
			take(n.Chan, n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				take(n.X)
			}
		case *ast.CallExpr:
			i := slices.IndexFunc(s.calls, func(c *call) bool { return c.Expr == n })
			if i < 0 || !plan.waitsCall(s.calls[i]) {
				return
			}
			take(n.Args...)
			if sel, isSelector := ast.Unparen(n.Fun).(*ast.SelectorExpr); isSelector && u.Info().Selections[sel] != nil {
				switch underlying(u.Info().TypeOf(sel.X)).(type) {
				case *types.Pointer, *types.Interface:
					all = append([]ast.Expr{sel.X}, all...)
				}
			}
		}
	})
	return all, waits
}

func isTuple(t types.Type) bool {
	_, ok := t.(*types.Tuple)
	return ok
}

func isUntyped(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// waitsCall reports whether a call may wait, unless it is told what is held.
func (plan *Plan) waitsCall(c *call) bool {
	return c.Callee == nil && (c.waits || slices.ContainsFunc(c.mayCall(), func(t int) bool { return plan.needs[t][waiting] }))
}
