package source

import (
	"go/ast"
	"go/token"
	"go/types"
)

// reachable returns the local variables that another goroutine may reach: their address is taken,
// or a function literal captures them and they change, or are large. The compiler copies other captured variables.
// It does not instrument accesses to other local variables, so no finding is about
// those. language is that of the files, as far as they do not say themselves: before Go 1.22, all iterations
// of a loop change the same variables.
func reachable(info *types.Info, files []*ast.File, language string) map[types.Object]bool {
	r := &reach{
		info:      info,
		addressed: map[types.Object]bool{},
		captured:  map[types.Object]bool{},
		assigned:  map[types.Object]bool{},
	}
	for _, f := range files {
		r.shared = sharesLoopVariables(f, language)
		r.walk(f, nil)
	}
	for obj := range r.captured {
		if r.assigned[obj] || sizeOf(obj.Type()) > maxCopied {
			r.addressed[obj] = true
		}
	}
	return r.addressed
}

type reach struct {
	info                          *types.Info
	addressed, captured, assigned map[types.Object]bool
	shared                        bool // the iterations of a loop share its variables
}

// maxCopied is the size in bytes up to which the compiler copies a captured variable that never changes.
const maxCopied = 128

// walk visits the tree under root, whose innermost function literal is lit.
func (r *reach) walk(root ast.Node, lit *ast.FuncLit) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != lit {
				r.walk(n, n)
				return false
			}
		case *ast.FuncType:
			for _, name := range namesIn(n.Results) { // return assigns to them
				r.assigned[r.info.Defs[name]] = true
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
			r.assign(n.Key, n.Tok)
			r.assign(n.Value, n.Tok)
		case *ast.ForStmt:
			return r.loop(n, lit)
		}
		return true
	})
}

// assign marks a variable of a range statement.
func (r *reach) assign(e ast.Expr, tok token.Token) {
	id, ok := e.(*ast.Ident)
	switch {
	case tok == token.ASSIGN:
		r.mark(r.assigned, e)
	case ok && r.shared && r.info.Defs[id] != nil:
		r.assigned[r.info.Defs[id]] = true
	}
}

// loop walks a loop. If each iteration has variables of its own, what comes after an iteration changes those of the
// next one, which no goroutine has yet.
func (r *reach) loop(s *ast.ForStmt, lit *ast.FuncLit) (walk bool) {
	init, ok := s.Init.(*ast.AssignStmt)
	if r.shared || !ok || init.Tok != token.DEFINE || s.Post == nil {
		return true
	}
	own := map[types.Object]bool{}
	for _, x := range init.Lhs {
		if id, ok := x.(*ast.Ident); ok {
			own[r.info.Defs[id]] = true
		}
	}
	r.walk(s.Post, lit)
	for obj := range own {
		delete(r.assigned, obj)
	}
	r.walk(s.Init, lit)
	if s.Cond != nil {
		r.walk(s.Cond, lit)
	}
	r.walk(s.Body, lit)
	return false
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
