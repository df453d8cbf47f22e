package patch

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/heisen-go/heisen/internal/static"
)

// evaluatedAhead returns the operands of a plain statement that are evaluated ahead of it, without the lock, because one of them
// waits or takes the lock itself: all calls and receive operations, in their order. It returns nil if that would change what the
// statement does.
func (r *repair) evaluatedAhead(u *use, stmt ast.Stmt) (out []ast.Expr) {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		if _, receives := ast.Unparen(s.Rhs[0]).(*ast.UnaryExpr); len(s.Lhs) != len(s.Rhs) && (receives || isCall(s.Rhs[0])) {
			return nil
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); !ok || !u.fn.Info().Types[call.Fun].IsBuiltin() {
			return nil
		}
	default:
		return nil
	}
	info := u.fn.Info()
	possible := true
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				possible = possible && !acts(info, n.Y) // it may not be evaluated
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				out = append(out, n)
				return false
			}
		case *ast.CallExpr:
			if info.Types[n.Fun].IsBuiltin() || info.Types[n.Fun].IsType() {
				return true
			}
			if isTuple(info.TypeOf(n)) || info.TypeOf(n) == nil {
				possible = false
				return false
			}
			out = append(out, n)
			return false
		}
		return true
	})
	for _, e := range out { // it reads the target itself
		for _, other := range r.shared {
			possible = possible && !(other.fn == u.fn && within(e, other.expr))
		}
		for callee := range r.p.graph.Reach(r.targets(e)) {
			for _, other := range r.shared {
				possible = possible && other.fn != callee
			}
		}
	}
	if !possible {
		return nil
	}
	for _, e := range out {
		if call, ok := e.(*ast.CallExpr); ok && operandName(info, call) == "" {
			return nil
		}
	}
	return out
}

// acts reports whether an expression calls a function, or receives.
func acts(info *types.Info, e ast.Expr) (found bool) {
	static.Own(e, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || !info.Types[n.Fun].IsBuiltin() && !info.Types[n.Fun].IsType()
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
	})
	return found
}

// targets returns the nodes that an operand calls.
func (r *repair) targets(e ast.Expr) (out []int) {
	static.Own(e, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok {
			if c := r.p.graph.Call(call); c != nil {
				out = append(out, c.Targets...)
			}
		}
	})
	return out
}

// operandName returns a name for the value of a call: that of the function, without Get or New.
func operandName(info *types.Info, call *ast.CallExpr) string {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return lowered(fun.Name) + "Value"
	case *ast.SelectorExpr:
		return lowered(fun.Sel.Name)
	case *ast.IndexExpr:
		return "value"
	}
	return "value"
}
