package enforce

import (
	"go/ast"
	"go/types"

	"github.com/heisen-go/heisen/internal/static"
)

// mayWait reports whether a call of another module's function may wait for another goroutine, or for input or output.
// Standard output and the standard logger are taken for prompt, unless the module puts something else in their place:
// who reads them is another process. So is what is written to memory, and what waits for the disk only. A sleep ends by itself, except among goroutines
// that testing/synctest watches.
func (p *Program) mayWait(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	if fn.Pkg() == nil {
		return false // the method of an error
	}
	facts := static.Known(fn)
	switch {
	case p.toMemory(info, fn, expr), facts.Has(static.Disk), facts.Has(static.Wraps):
		return false
	case facts.Has(static.Prints), facts.Has(static.WritesTo) && p.standard(expr),
		facts.Has(static.NeverReturns) && fn.Pkg().Path() == "log" && fn.Signature().Recv() == nil:
		return p.redirects
	case p.readsOrWrites(info, fn, expr):
		return true
	case fn.FullName() == "time.Sleep":
		return p.bubbles
	}
	return !facts.Has(static.Prompt)
}

// toMemory reports whether a call waits for nothing because it writes to memory: a function that writes to its first argument whose first
// argument is such a writer, or a method of what such a call returns.
func (p *Program) toMemory(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	if static.Known(fn).Has(static.WritesTo) {
		return len(expr.Args) > 0 && p.isMemory(info, expr.Args[0])
	}
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	if !ok || fn.Signature().Recv() == nil || types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	_, named := p.writerCall(info, sel.X)
	return named && p.isMemory(info, sel.X)
}

// readsOrWrites reports whether a call passes on a reader or writer that is not in memory.
func (p *Program) readsOrWrites(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	params := fn.Signature().Params()
	for i := range min(params.Len(), len(expr.Args)) {
		n, ok := types.Unalias(params.At(i).Type()).(*types.Named)
		if ok && types.IsInterface(n) && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "io" && !p.isMemory(info, expr.Args[i]) {
			return true
		}
	}
	return false
}

// isMemory reports whether an expression is a writer to memory or a reader from it: a *bytes.Buffer, a *bytes.Reader, a
// *strings.Builder, a *strings.Reader, or what a function that writes to its first argument makes of such a writer. A local variable is one if it is defined so and not assigned anew.
func (p *Program) isMemory(info *types.Info, e ast.Expr) bool {
	if ptr, ok := underlying(info.TypeOf(e)).(*types.Pointer); ok {
		if n, ok := types.Unalias(ptr.Elem()).(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
			case "bytes.Buffer", "bytes.Reader", "strings.Builder", "strings.Reader":
				return true
			}
		}
	}
	call, ok := p.writerCall(info, e)
	return ok && len(call.Args) > 0 && p.isMemory(info, call.Args[0])
}

// writerCall returns the call of a function that writes to its first argument that an expression is, or that defines the local variable which
// the expression names.
func (p *Program) writerCall(info *types.Info, e ast.Expr) (*ast.CallExpr, bool) {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		v, ok := info.Uses[id].(*types.Var)
		if !ok {
			return nil, false
		}
		if e = p.definitions[v]; e == nil {
			return nil, false
		}
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	fn := static.Callee(info, call)
	return call, fn != nil && static.Known(fn).Has(static.WritesTo)
}

// findDefinitions finds the local variables that a definition gives a value which they keep, and those that change.
func (p *Program) findDefinitions() {
	p.definitions, p.changed = map[*types.Var]ast.Expr{}, map[*types.Var]bool{}
	changed := p.changed
	for _, f := range p.src.Files() {
		info := f.Info()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					id, ok := left.(*ast.Ident)
					if !ok {
						continue
					}
					if v, ok := info.Defs[id].(*types.Var); ok && len(n.Lhs) == len(n.Rhs) {
						p.definitions[v] = n.Rhs[i]
					} else if v, ok := info.Uses[id].(*types.Var); ok {
						changed[v] = true
					}
				}
			case *ast.UnaryExpr: // its address is taken
				if id, ok := ast.Unparen(n.X).(*ast.Ident); ok {
					if v, ok := info.Uses[id].(*types.Var); ok {
						changed[v] = true
					}
				}
			case *ast.RangeStmt:
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if id, ok := e.(*ast.Ident); ok {
						if v, ok := info.Uses[id].(*types.Var); ok {
							changed[v] = true
						}
					}
				}
			}
			return true
		})
	}
	for v := range changed {
		delete(p.definitions, v)
	}
}

// standard reports whether the first argument of a call is standard output or standard error.
func (p *Program) standard(expr *ast.CallExpr) bool {
	if len(expr.Args) == 0 {
		return false
	}
	sel, ok := ast.Unparen(expr.Args[0]).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Stdout" && sel.Sel.Name != "Stderr" {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "os"
}
