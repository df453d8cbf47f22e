package source

import (
	"go/ast"
	"go/token"
	"go/types"
)

// reachable returns the local variables that another goroutine may reach: their address is taken,
// or a function literal captures them and they change. The compiler copies captured variables that
// never change. It does not instrument accesses to other local variables, so no finding is about
// those.
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
			// A method may have a pointer receiver, which takes the address. Nothing is known
			// about the methods of imported types.
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

// mark adds the variable whose storage contains e to set, if a name denotes it. It does not mark
// names that e defines.
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

// valueMethod reports whether sel is known to be a method that gets a copy of its receiver.
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
