package patch

import (
	"go/ast"
	"go/token"
	"go/types"
)

// readAhead returns the largest expression around a use whose value can be read before the statement, or nil.
func (r *repair) readAhead(u *use, stmt ast.Stmt) ast.Expr {
	if u.write || u.alias || u.addr || r.p.Around(u.expr) != u.fn || r.mayBeSkipped(u, stmt) {
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
	if t == nil || leadsOn(t) {
		return nil
	}
	return e
}

// mayBeSkipped reports whether a statement may not evaluate a use, or evaluate it several times.
func (r *repair) mayBeSkipped(u *use, stmt ast.Stmt) bool {
	switch s := stmt.(type) {
	case *ast.IfStmt:
		if s.Init != nil || !within(s.Cond, u.expr) {
			return true
		}
	case *ast.SwitchStmt:
		if s.Init != nil || s.Tag == nil || !within(s.Tag, u.expr) {
			return true
		}
	case *ast.RangeStmt:
		if !within(s.X, u.expr) {
			return true
		}
	case *ast.ExprStmt, *ast.ReturnStmt, *ast.AssignStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.DeclStmt:
	default:
		return true
	}
	for n := ast.Node(u.expr); n != stmt; n = r.p.Parent(n) {
		if b, ok := r.p.Parent(n).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) && b.Y == n {
			return true
		}
	}
	return false
}
