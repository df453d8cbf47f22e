package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// readAhead returns the largest expression around a use whose value can be read before the statement, or nil.
func (r *repair) readAhead(u *use, stmt ast.Stmt) ast.Expr {
	if u.write || u.leaves != nil || u.addr || r.p.Around(u.expr) != u.fn {
		return nil
	}
	e := r.largest(u, stmt)
	if e == nil || r.overtakes(u.fn, e, evaluated(stmt, u.expr)) {
		return nil
	}
	return e
}

// largest is readAhead, whatever else the statement evaluates.
func (r *repair) largest(u *use, stmt ast.Stmt) ast.Expr {
	part := evaluated(stmt, u.expr)
	if part == nil {
		return nil
	}
	if whole := r.condition(u, part); whole != nil {
		return whole
	}
	if skipped(r.p, u.expr, part) {
		return nil
	}
	if _, isCall := u.expr.(*ast.CallExpr); isCall {
		return nil
	}
	info := u.fn.Info()
	e := u.expr
	for {
		outer, ok := r.p.Parent(e).(ast.Expr)
		if !ok {
			break
		}
		larger := false
		switch outer := outer.(type) {
		case *ast.SelectorExpr:
			selection := info.Selections[outer]
			larger = selection != nil && selection.Kind() == types.FieldVal && !isPointer(info.TypeOf(e))
		case *ast.IndexExpr:
			larger = outer.X == e && info.TypeOf(outer) != nil
			if t, ok := info.TypeOf(outer).(*types.Tuple); ok && t != nil {
				return nil
			}
		case *ast.CallExpr:
			id, ok := outer.Fun.(*ast.Ident)
			_, builtin := info.Uses[id].(*types.Builtin)
			larger = ok && builtin && (id.Name == "len" || id.Name == "cap")
		}
		if !larger {
			break
		}
		e = outer
	}
	t := info.TypeOf(e)
	if t == nil || leadsOn(t) && !r.keepsElements(u, e) {
		return nil
	}
	return e
}

// keepsElements reports whether an expression of a use is a slice that a loop goes through, whose elements stay the same while others change
// the variable.
func (r *repair) keepsElements(u *use, e ast.Expr) bool {
	loop, ok := r.p.Parent(e).(*ast.RangeStmt)
	return ok && loop.X == e && !isMap(u.fn.Info().TypeOf(e)) && inPlace(r.shared) <= u.depth
}

// evaluated returns the part of a statement with an expression in it that is evaluated once, and first, whenever the statement is
// executed; nil if there is none.
func evaluated(stmt ast.Stmt, e ast.Expr) ast.Node {
	var part ast.Node = stmt
	switch s := stmt.(type) {
	case *ast.IfStmt:
		if part = s.Cond; s.Init != nil {
			return nil
		}
	case *ast.SwitchStmt:
		if s.Init != nil || s.Tag == nil {
			return nil
		}
		part = s.Tag
	case *ast.RangeStmt:
		part = s.X
	case *ast.ExprStmt, *ast.ReturnStmt, *ast.AssignStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.DeclStmt:
	default:
		return nil
	}
	if !within(part, e) {
		return nil
	}
	return part
}

// skipped reports whether an expression may not be evaluated, because of what a condition ahead of it is.
func skipped(p *program, e ast.Node, part ast.Node) bool {
	for n := e; n != part; n = p.Parent(n) {
		if b, ok := p.Parent(n).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) && b.Y == n {
			return true
		}
	}
	return false
}

// condition returns the largest expression of && and || around a use, if some use in it may be skipped, so that only the whole of it
// can be evaluated ahead: nothing in it waits, or takes the lock, or writes the variable. It returns nil for others.
func (r *repair) condition(u *use, part ast.Node) (whole ast.Expr) {
	for n := ast.Node(u.expr); ; n = r.p.Parent(n) {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
			whole = b
		}
		if n == part {
			break
		}
	}
	if whole == nil || r.waitsIn(u.fn, whole) != nil || r.takesLock(u.fn, whole) != nil {
		return nil
	}
	some := false
	for _, other := range r.uses {
		if other.fn != u.fn || !within(whole, other.expr) {
			continue
		}
		if other.write || other.leaves != nil || r.p.Around(other.expr) != u.fn {
			return nil
		}
		some = some || skipped(r.p, other.expr, whole)
	}
	if !some {
		return nil
	}
	return whole
}

// overtakes reports whether it makes a difference if an expression is evaluated ahead of what else a statement evaluates: a receive
// operation or a call there may wait for other goroutines, or write the variable.
func (r *repair) overtakes(fn *static.Function, e ast.Expr, root ast.Node) (found bool) {
	static.Own(root, func(n ast.Node) {
		if found || within(n, e) || within(e, n) {
			return
		}
		switch n := n.(type) {
		case *ast.UnaryExpr:
			found = n.Op == token.ARROW
		case *ast.CallExpr:
			found = r.changes(fn, n)
		}
	})
	return found
}

// changes reports whether a call may write the variable, or wait for other goroutines which do.
func (r *repair) changes(fn *static.Function, call *ast.CallExpr) bool {
	c := r.p.graph.Call(call)
	if c == nil || c.Started {
		return false
	}
	if r.p.waits.Certainly(fn.Info(), call) {
		return true
	}
	for callee := range r.p.graph.Reach(c.Targets) {
		if slices.ContainsFunc(r.shared, func(u *use) bool { return u.write && u.fn == callee }) {
			return true
		}
		waits := false
		static.Own(callee.Body, func(n ast.Node) {
			waits = waits || r.p.waits.Certainly(callee.Info(), n)
		})
		if waits {
			return true
		}
	}
	return false
}
