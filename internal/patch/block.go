package patch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/heisen-go/heisen/internal/static"
)

// known returns what is known of a call of a builtin function, of a conversion, or of a function of the standard
// library.
func known(info *types.Info, call *ast.CallExpr) static.Fact {
	switch fun := info.Types[call.Fun]; {
	case fun.IsBuiltin():
		return static.Prompt | static.StartsNothing | static.HandsOver
	case fun.IsType():
		return static.Prompt | static.StartsNothing
	}
	return static.Known(static.Callee(info, call))
}

// callsBefore are the facts of a function that calls the functions which it is given before it returns, and not after that.
const callsBefore = static.StartsNothing | static.HandsOver

// wait is a place at which a goroutine may wait.
type wait struct {
	at   ast.Node
	what string
}

// waits returns a place in a node at which a goroutine may wait for something other than a lock, or nil. It
// follows calls.
func (p *program) waits(fn *function, n ast.Node) *wait {
	return p.waitsIn(fn, n, map[*function]bool{})
}

func (p *program) waitsIn(fn *function, root ast.Node, seen map[*function]bool) (found *wait) {
	info := fn.Info()
	later := map[ast.Node]bool{}
	static.Own(root, func(n ast.Node) {
		if found != nil {
			return
		}
		switch n := n.(type) {
		case *ast.SendStmt:
			found = &wait{n, "a channel operation"}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				found = &wait{n, "a channel operation"}
			}
		case *ast.SelectStmt:
			found = &wait{n, "select"}
		case *ast.RangeStmt:
			t := info.TypeOf(n.X)
			if t == nil {
				return
			}
			switch t.Underlying().(type) {
			case *types.Chan:
				found = &wait{n, "a channel operation"}
			case *types.Signature:
				found = &wait{n, "an iterator"}
			}
		case *ast.GoStmt:
			later[n.Call] = true
		case *ast.CallExpr:
			if later[n] {
				return
			}
			found = p.waitsInCall(fn, n, seen)
		}
	})
	return found
}

func (p *program) waitsInCall(fn *function, expr *ast.CallExpr, seen map[*function]bool) *wait {
	info := fn.Info()
	if _, ok := p.lockCallOf(info, expr); ok {
		return nil
	}
	c := p.callOf(fn, expr)
	if known(info, expr).Has(static.Prompt) && !p.passesFunction(fn, expr) {
		return nil
	}
	if !c.known || c.std != nil {
		return &wait{expr, fmt.Sprintf("the call of %s", types.ExprString(expr.Fun))}
	}
	for _, callee := range c.callees {
		if seen[callee] {
			continue
		}
		seen[callee] = true
		if w := p.waitsIn(callee, callee.Body, seen); w != nil {
			return &wait{expr, fmt.Sprintf("the call of %s, which may wait at %s", types.ExprString(expr.Fun), p.place(w.at))}
		}
	}
	return nil
}

// passesFunction reports whether a call passes a function, which it may call.
func (p *program) passesFunction(fn *function, expr *ast.CallExpr) bool {
	for _, arg := range expr.Args {
		t := fn.Info().TypeOf(arg)
		if t == nil {
			continue
		}
		if _, ok := t.Underlying().(*types.Signature); !ok {
			continue
		}
		lit, ok := arg.(*ast.FuncLit)
		if !ok || p.waitsIn(p.one(p.Of(lit)), lit.Body, map[*function]bool{}) != nil {
			return true
		}
	}
	return false
}

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

// heldWhileWaiting returns the locks that may be held while a goroutine waits for another one, with a place where that is
// so. Whoever takes such a lock may wait for that other goroutine, too.
func (p *program) heldWhileWaiting() map[static.Key]ast.Node {
	out := map[static.Key]ast.Node{}
	for _, fn := range p.functions {
		info := fn.Info()
		static.Own(fn.Body, func(n ast.Node) {
			var at ast.Node
			switch n := n.(type) {
			case *ast.SendStmt:
				at = n.Chan
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					at = n
				}
			case *ast.RangeStmt:
				if t := info.TypeOf(n.X); t != nil {
					if _, ok := t.Underlying().(*types.Chan); ok {
						at = n.X
					}
				}
			case *ast.CallExpr:
				if f := p.callOf(fn, n).std; f != nil && (f.FullName() == "(*sync.WaitGroup).Wait" || f.FullName() == "(*sync.Cond).Wait") {
					at = n
				}
			}
			if at == nil {
				return
			}
			if h := p.locks.at(at); h != nil {
				for class := range h.may {
					out[class] = n
				}
			}
		})
	}
	return out
}
