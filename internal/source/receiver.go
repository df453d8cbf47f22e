package source

import (
	"go/ast"
	"go/types"
	"path/filepath"

	"github.com/heisen-go/heisen"
)

// Receiver returns the identity of the variable to whose value a function of another package is applied in a frame, as the receiver of a method
// or as the only argument that has an identity. It is empty if that is not known, or if calls on the line are to several variables.
func (c *Cache) Receiver(frame heisen.Frame, function string) (identity string) {
	if c == nil || frame.Line <= 0 {
		return ""
	}
	frame.File = filepath.ToSlash(frame.File)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == nil {
		c.store = newStore(c.memory)
	}
	p := c.packageOf(frame)
	if p == nil {
		return ""
	}
	file, lines := p.linesOf(frame.File, frame.Line)
	if file == nil || file.syntax == nil {
		return ""
	}
	find := &finder{pkg: p, file: file, fset: p.fset, lines: lines, importPath: p.importPathOf(frame.Func)}
	unknown := false
	ast.Inspect(file.syntax, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return n == nil || find.onLine(n.Pos(), n.End())
		}
		if fun, ok := call.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == function && find.onLine(fun.Sel.Pos(), call.Rparen) {
			of := find.appliedTo(call, fun)
			unknown = unknown || of == "" || identity != "" && of != identity
			identity = of
		}
		return true
	})
	if unknown {
		return ""
	}
	return identity
}

// appliedTo returns the identity of the variable that is the receiver of a call, or its only argument with an identity.
func (f *finder) appliedTo(call *ast.CallExpr, fun *ast.SelectorExpr) (identity string) {
	if f.packageName(fun.X) == "" {
		return f.operandOf(fun.X)
	}
	for _, arg := range call.Args {
		if of := f.operandOf(arg); of != "" {
			if identity != "" {
				return ""
			}
			identity = of
		}
	}
	return identity
}

// operandOf returns the identity of the variable that an operand, or what it points to, is in.
func (f *finder) operandOf(e ast.Expr) string {
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = address.X
	}
	if named, ok := types.Unalias(f.typeOf(e)).(*types.Named); ok {
		return f.pointedTo(types.NewPointer(named))
	}
	if of := f.pointedTo(f.typeOf(e)); of != "" {
		return of
	}
	return f.identityOf(e)[0]
}

// ReceiverType returns the name of the type to which a method belongs, without type parameters, and whether its receiver is a pointer.
// It is empty of a function.
func ReceiverType(fn *ast.FuncDecl) (name string, pointer bool) {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return "", false
	}
	for e := fn.Recv.List[0].Type; ; {
		switch t := e.(type) {
		case *ast.StarExpr:
			e, pointer = t.X, true
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name, pointer
		default:
			return "", false
		}
	}
}
