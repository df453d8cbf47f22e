package report

import (
	"go/ast"
	"go/token"
	"go/types"
)

// reachable returns the local variables that a goroutine other than their own
// may reach: their address is taken, or a function literal captures them and
// they change (the compiler copies captured variables that never do). Accesses
// to other local variables are not instrumented, so no access is theirs.
func reachable(info *types.Info, files []*ast.File) map[types.Object]bool {
	r := &reach{
		info:      info,
		addressed: map[types.Object]bool{},
		captured:  map[types.Object]bool{},
		assigned:  map[types.Object]bool{},
	}
	for _, f := range files {
		r.walk(f, nil)
	}
	for obj := range r.captured {
		if r.assigned[obj] {
			r.addressed[obj] = true
		}
	}
	return r.addressed
}

type reach struct {
	info                          *types.Info
	addressed, captured, assigned map[types.Object]bool
}

// walk visits the tree under root, whose innermost function literal is lit.
func (r *reach) walk(root ast.Node, lit *ast.FuncLit) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != lit {
				r.walk(n, n)
				return false
			}
		case *ast.Ident:
			obj, ok := r.info.Uses[n].(*types.Var)
			if ok && lit != nil && (obj.Pos() < lit.Pos() || obj.Pos() > lit.End()) {
				r.captured[obj] = true
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				r.mark(r.addressed, n.X)
			}
		case *ast.SliceExpr:
			if _, ok := under(r.info.TypeOf(n.X)).(*types.Array); ok {
				r.mark(r.addressed, n.X)
			}
		case *ast.CallExpr:
			// A method may have a pointer receiver, which takes the address.
			// Where the type is imported nothing is known, so it may.
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && !isPointer(r.info.TypeOf(sel.X)) && !valueMethod(r.info, sel) {
				r.mark(r.addressed, sel.X)
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				r.mark(r.assigned, x)
			}
		case *ast.IncDecStmt:
			r.mark(r.assigned, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				r.mark(r.assigned, n.Key)
				r.mark(r.assigned, n.Value)
			}
		}
		return true
	})
}

// mark adds to set the variable in whose storage e lies, if it is one that a
// name denotes. Names that e defines are not marked.
func (r *reach) mark(set map[types.Object]bool, e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			if isPointer(r.info.TypeOf(x.X)) {
				return
			}
			e = x.X
		case *ast.IndexExpr:
			if _, ok := under(r.info.TypeOf(x.X)).(*types.Array); !ok {
				return
			}
			e = x.X
		case *ast.Ident:
			if v, ok := r.info.Uses[x].(*types.Var); ok {
				set[v] = true
			}
			return
		default:
			return
		}
	}
}

// valueMethod reports whether sel is a method that is known to get a copy of
// its receiver.
func valueMethod(info *types.Info, sel *ast.SelectorExpr) bool {
	s := info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	recv := s.Obj().Type().(*types.Signature).Recv()
	return recv != nil && !isPointer(recv.Type())
}

// under returns the type under t, or nil if t is not known.
func under(t types.Type) types.Type {
	if t == nil || t == types.Typ[types.Invalid] {
		return nil
	}
	return t.Underlying()
}

func isPointer(t types.Type) bool {
	_, ok := under(t).(*types.Pointer)
	return ok
}
