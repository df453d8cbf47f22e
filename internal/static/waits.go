package static

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// A Delay says what a goroutine may have to wait for in an operation, apart from locks of the program and apart from what
// functions of the program do.
type Delay uint8

// The delays, the shortest first.
const (
	// NoDelay: it waits for nothing.
	NoDelay Delay = iota
	// SomeDelay: it takes some time, and ends whatever others do. It sleeps, waits for the disk, or writes to standard
	// output, standard error or the standard logger, whose readers are other processes.
	SomeDelay
	// AnyDelay: it may wait for another goroutine, or for input or output.
	AnyDelay
)

// Waits says where the goroutines of a program may wait.
type Waits struct {
	g *CallGraph

	Definitions *Definitions
	Redirects   bool // the program may read its own standard output
	bubbles     bool // it uses testing/synctest, so that a sleep may wait for other goroutines
	polls       map[ast.Node]poll
}

// FindWaits returns what is known of the waits of a program.
func FindWaits(g *CallGraph) *Waits {
	w := &Waits{g: g, Definitions: FindDefinitions(g.Program), polls: findPolls(g)}
	for _, f := range g.Program.Files() {
		for _, imported := range f.Syntax.Imports {
			w.bubbles = w.bubbles || imported.Path.Value == `"testing/synctest"`
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if fn, ok := f.Info().Uses[n].(*types.Func); ok {
					name := fn.FullName()
					w.Redirects = w.Redirects || name == "os.Pipe" || name == "log.SetOutput"
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if sel, ok := ast.Unparen(left).(*ast.SelectorExpr); ok {
						v, ok := f.Info().Uses[sel.Sel].(*types.Var)
						w.Redirects = w.Redirects || ok && v.Pkg() != nil && v.Pkg().Path() == "os" && strings.HasPrefix(v.Name(), "Std")
					}
				}
			}
			return true
		})
	}
	return w
}

// Operation returns what operation a node is at which a goroutine may wait, other than a call; "" if it is none. An
// operation of a case of a select statement is none: the statement is, unless it has a default case.
func (w *Waits) Operation(info *types.Info, n ast.Node) string {
	switch n := n.(type) {
	case *ast.SendStmt:
		if !w.selected(n) {
			return "a channel operation"
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !w.selected(n) {
			return "a channel operation"
		}
	case *ast.SelectStmt:
		for _, c := range n.Body.List {
			if c.(*ast.CommClause).Comm == nil {
				return ""
			}
		}
		return "select"
	case *ast.RangeStmt:
		if t := info.TypeOf(n.X); t != nil {
			switch t.Underlying().(type) {
			case *types.Chan:
				return "a channel operation"
			case *types.Signature:
				return "an iterator"
			}
		}
	}
	return ""
}

// selected reports whether a channel operation is the one of a case of a select statement.
func (w *Waits) selected(n ast.Node) bool {
	for inner, outer := n, w.g.Program.Parent(n); ; inner, outer = outer, w.g.Program.Parent(outer) {
		switch outer := outer.(type) {
		case *ast.ParenExpr, *ast.ExprStmt:
		case *ast.AssignStmt:
			if len(outer.Rhs) != 1 || outer.Rhs[0] != inner {
				return false
			}
		case *ast.CommClause:
			return outer.Comm == inner
		default:
			return false
		}
	}
}

// Delay returns how long a call may take outside of the program. What it calls in the program is not considered.
func (w *Waits) Delay(c *Call) Delay {
	info, fn, expr := c.In.Info(), c.Outside, c.Expr
	switch {
	case c.Open:
		return AnyDelay
	case fn == nil, LockOpOf(fn) != NoLockOp:
		return NoDelay
	}
	facts := Known(fn)
	switch {
	case w.toMemory(info, fn, expr), facts.Has(Wraps):
		return NoDelay
	case facts.Has(Disk):
		return SomeDelay
	case facts.Has(Prints), facts.Has(WritesTo) && standard(expr),
		facts.Has(NeverReturns) && fn.Pkg().Path() == "log" && fn.Signature().Recv() == nil:
		return w.unless(w.Redirects)
	case w.readsOrWrites(info, fn, expr):
		return AnyDelay
	case fn.FullName() == "time.Sleep":
		return w.unless(w.bubbles)
	case facts.Has(Prompt) && (facts.Has(CallsElsewhere) || !slices.ContainsFunc(expr.Args, func(arg ast.Expr) bool { return w.unknownFunction(info, arg) })):
		return NoDelay
	}
	return AnyDelay
}

// unknownFunction reports whether an expression is a function that may wait, and that the program does not have: a function
// value may be one of another module.
func (w *Waits) unknownFunction(info *types.Info, e ast.Expr) bool {
	e = ast.Unparen(e)
	if _, literal := e.(*ast.FuncLit); literal || !isFunction(info.TypeOf(e)) || info.Types[e].IsType() {
		return false
	}
	bound, fn := w.g.bound(info, e)
	if bound != nil {
		return false
	}
	if fn == nil {
		fn = namedFunc(info, e)
	}
	return fn == nil || w.g.Program.Declared(fn) == nil && !Known(fn).Has(Prompt)
}

// unless returns the delay of what ends by itself, unless something is so.
func (w *Waits) unless(so bool) Delay {
	if so {
		return AnyDelay
	}
	return SomeDelay
}

// toMemory reports whether a call waits for nothing because it writes to memory: a function that writes to its first
// argument, which is such a writer, or a method of what such a call returns.
func (w *Waits) toMemory(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	if Known(fn).Has(WritesTo) {
		return len(expr.Args) > 0 && w.isMemory(info, expr.Args[0])
	}
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	if !ok || fn.Signature().Recv() == nil || throughInterface(fn) {
		return false
	}
	_, named := w.writerCall(info, sel.X)
	return named && w.isMemory(info, sel.X)
}

// readsOrWrites reports whether a call passes on a reader or writer that is not in memory.
func (w *Waits) readsOrWrites(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	params := fn.Signature().Params()
	for i := range min(params.Len(), len(expr.Args)) {
		n, ok := types.Unalias(params.At(i).Type()).(*types.Named)
		if ok && types.IsInterface(n) && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "io" && !w.isMemory(info, expr.Args[i]) {
			return true
		}
	}
	return false
}

// isMemory reports whether an expression is a writer to memory or a reader from it: a *bytes.Buffer, a *bytes.Reader, a
// *strings.Builder, a *strings.Reader, or what a function that writes to its first argument makes of such a writer. A local
// variable is one if it is defined so and not assigned anew.
func (w *Waits) isMemory(info *types.Info, e ast.Expr) bool {
	if t := info.TypeOf(e); t != nil {
		if ptr, ok := t.Underlying().(*types.Pointer); ok {
			switch typeName(types.Unalias(ptr.Elem())) {
			case "bytes.Buffer", "bytes.Reader", "strings.Builder", "strings.Reader":
				return true
			}
		}
	}
	call, ok := w.writerCall(info, e)
	return ok && len(call.Args) > 0 && w.isMemory(info, call.Args[0])
}

// writerCall returns the call of a function that writes to its first argument that an expression is, or that defines the
// local variable which the expression names.
func (w *Waits) writerCall(info *types.Info, e ast.Expr) (*ast.CallExpr, bool) {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		v, ok := info.Uses[id].(*types.Var)
		if !ok {
			return nil, false
		}
		if e = w.Definitions.Value(v); e == nil {
			return nil, false
		}
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	return call, Known(Callee(info, call)).Has(WritesTo)
}

// standard reports whether the first argument of a call is standard output or standard error.
func standard(expr *ast.CallExpr) bool {
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

// A Wait is a place at which a goroutine may wait.
type Wait struct {
	At   ast.Node
	What string // such as "a channel operation"
}

// In returns a place in a node of a function at which a goroutine waits for something other than a lock, or may do so; nil if
// there is none. A place that polls counts, and so does one with SomeDelay. Calls are followed through the program.
func (w *Waits) In(fn *Function, root ast.Node) *Wait {
	return w.in(fn, root, map[*Function]bool{})
}

func (w *Waits) in(fn *Function, root ast.Node, seen map[*Function]bool) (found *Wait) {
	Own(root, func(n ast.Node) {
		if found != nil {
			return
		}
		if what := w.Operation(fn.Info(), n); what != "" {
			found = &Wait{n, what}
		} else if w.polls[n].polls {
			found = &Wait{n, "a loop that may wait for other goroutines"}
		}
		if expr, ok := n.(*ast.CallExpr); ok && found == nil {
			found = w.inCall(fn, expr, seen)
		}
	})
	return found
}

func (w *Waits) inCall(fn *Function, expr *ast.CallExpr, seen map[*Function]bool) *Wait {
	c := w.g.Call(expr)
	if c.Started || w.g.Program.LockCall(fn.Info(), expr) != nil {
		return nil
	}
	if w.Delay(c) > NoDelay {
		return &Wait{expr, fmt.Sprintf("the call of %s", types.ExprString(expr.Fun))}
	}
	for _, callee := range w.g.May(c.Targets) {
		if seen[callee] {
			continue
		}
		seen[callee] = true
		if wait := w.in(callee, callee.Body, seen); wait != nil {
			at := w.g.Program.Fset.Position(wait.At.Pos())
			return &Wait{expr, fmt.Sprintf("the call of %s, which may wait at %s:%d", types.ExprString(expr.Fun), filepath.Base(at.Filename), at.Line)}
		}
	}
	return nil
}

// Polls reports whether a goroutine may wait for others at a loop, at a call by which a function calls itself, or at a goto
// statement, by looking again and again at what they change.
//
// A loop is such a place if its end depends on memory that another goroutine may write, on a lock, an atomic variable, a
// channel, the clock or the system. It is none if it comes to an end by itself: it counts, goes through the elements of
// something, or follows pointers. An earlier end of such a loop counts only if each iteration looks at the same thing anew,
// other than at plain memory, or lets time pass. An operation in a loop that waits by itself is a place of its own.
func (w *Waits) Polls(n ast.Node) bool { return w.polls[n].polls }

// Certainly reports whether a goroutine waits for other ones at a node for certain, unless these are ahead of it. A place that
// polls is such a node if what it looks at is changed by others only.
func (w *Waits) Certainly(info *types.Info, n ast.Node) bool {
	if w.polls[n].lasts {
		return true
	}
	if expr, ok := n.(*ast.CallExpr); ok {
		c := w.g.Call(expr)
		if c == nil || c.Outside == nil {
			return false
		}
		name := c.Outside.FullName()
		return name == "(*sync.WaitGroup).Wait" || name == "(*sync.Cond).Wait"
	}
	what := w.Operation(info, n)
	return what != "" && what != "an iterator"
}

// Possibly reports whether a goroutine may wait at a node, other than for a lock, for another goroutine or for input or
// output. What a call does in the program has nodes of its own.
func (w *Waits) Possibly(info *types.Info, n ast.Node) bool {
	if w.polls[n].polls {
		return true
	}
	if expr, ok := n.(*ast.CallExpr); ok {
		c := w.g.Call(expr)
		return c != nil && !c.Started && w.Delay(c) == AnyDelay
	}
	return w.Operation(info, n) != ""
}
