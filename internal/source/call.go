package source

import (
	"go/ast"
	"go/token"
	"go/types"
)

// methodRoles recognizes the standard library's synchronization by the names of methods. Its types
// are imported, so only the names are known.
var methodRoles = map[string]role{
	"Lock": locks | acquiring | exclusive, "TryLock": locks | acquiring | exclusive, "Unlock": locks | releasing | exclusive,
	"RLock": locks | acquiring | shared, "TryRLock": locks | acquiring | shared, "RUnlock": locks | releasing | shared,

	"Load": atomics, "Store": atomics, "Swap": atomics, "CompareAndSwap": atomics,
	"And": atomics, "Or": atomics, "Add": atomics | messages,

	"Done": messages, "Wait": messages, "Do": messages, "Go": messages, // see inside
	"Signal": messages, "Broadcast": messages, "Get": messages, "Put": messages,
}

// inside has what methods do to parts of what they synchronize by. On a line, another expression is more likely. Add and Wait of a
// WaitGroup access a part of it, so that their misuse is a race.
var inside = map[string]role{"Do": insideOnce, "Add": reads, "Wait": writes}

// insideOnce is what a call does inside a sync.Once, also inside the one of a function that sync.OnceFunc, OnceValue or OnceValues
// has made.
const insideOnce = locks | acquiring | releasing | exclusive | atomics

// methodVerbs says in words what methods do.
var methodVerbs = map[string]string{
	"TryLock": Lock, "TryRLock": Lock, "Wait": Wait, "Signal": "signal", "Broadcast": "broadcast to", "Done": "count down", "Add": "add to", "Go": "add to",
	"Do": "call Do of", "Get": "get from", "Put": "put into",
}

// call walks a call: its operands are read, built-in functions do more.
func (f *finder) call(c *ast.CallExpr) {
	switch fun := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		if f.builtin(fun, c) {
			return
		}
		switch f.pkg.info.Uses[fun].(type) {
		case *types.Var: // a function value
			f.add(fun, insideOnce, rankRemote)
			f.expr(fun, reads, rankShared)
		}
	case *ast.SelectorExpr:
		f.method(fun, c)
	case *ast.IndexExpr:
		// An instantiated generic function, or an element that is a function. Without types the
		// former is more likely.
		if f.typeOf(fun.X) != nil {
			f.expr(fun, reads, rankShared)
		}
	default:
		f.expr(fun, reads, rankShared)
	}
	f.exprs(c.Args)
	if f.copiesElements(c) {
		f.addElements(c.Args[0], reads)
	}
	if n := len(c.Args); c.Ellipsis.IsValid() && n > 0 {
		f.addElements(c.Args[n-1], reads)
	}
}

// copiesElements reports whether a call is a conversion of a slice to a string.
func (f *finder) copiesElements(c *ast.CallExpr) bool {
	if len(c.Args) != 1 || !f.pkg.info.Types[c.Fun].IsType() {
		return false
	}
	to, isBasic := under(f.typeOf(c.Fun)).(*types.Basic)
	_, isSlice := under(f.typeOf(c.Args[0])).(*types.Slice)
	return isBasic && isSlice && to.Kind() == types.String
}

// builtin walks a call of a built-in function and reports whether it is one.
func (f *finder) builtin(name *ast.Ident, c *ast.CallExpr) bool {
	if _, ok := f.pkg.info.Uses[name].(*types.Builtin); !ok {
		return false
	}
	args := c.Args
	switch {
	case name.Name == "append" && len(args) > 0:
		// Stores into the free part of the array behind the slice.
		f.addElements(args[0], reads)
		f.within = c
		f.addElements(args[0], writes)
		f.within = nil
		if c.Ellipsis.IsValid() {
			f.addElements(args[len(args)-1], reads)
		}
	case name.Name == "copy" && len(args) == 2:
		f.addElements(args[0], writes)
		f.addElements(args[1], reads)
	case name.Name == "clear" && len(args) == 1, name.Name == "delete" && len(args) == 2:
		f.addElements(args[0], writes)
	case name.Name == "close" && len(args) == 1:
		f.verb = Close
		f.addElements(args[0], writes|messages)
		f.verb = ""
	case name.Name == "len" && len(args) == 1:
		switch under(f.typeOf(args[0])).(type) {
		case *types.Map, *types.Chan: // their length is where their elements are
			f.addElements(args[0], reads)
		}
	}
	f.exprs(args)
	return true
}

// method walks the function of a call that is written x.name.
func (f *finder) method(fun *ast.SelectorExpr, c *ast.CallExpr) {
	if path := f.packageName(fun.X); path != "" {
		if path == "sync/atomic" && len(c.Args) > 0 {
			f.atomic(c.Args[0])
		}
		return
	}
	isChannel := c == f.received && fun.Sel.Name == "Done" // that of a context, not of a WaitGroup
	if r := methodRoles[fun.Sel.Name]; r != 0 && !isChannel {
		f.verb = methodVerbs[fun.Sel.Name]
		f.add(fun.X, r, rankShared)
		f.verb = ""
		if r := inside[fun.Sel.Name]; r != 0 {
			f.add(fun.X, r, rankRemote)
		}
		if fun.Sel.Name == "Wait" { // of a Cond
			f.add(&ast.SelectorExpr{X: fun.X, Sel: &ast.Ident{NamePos: fun.Sel.Pos(), Name: "L"}}, locks|acquiring|releasing|exclusive, rankRemote)
		}
	}
	s := f.pkg.info.Selections[fun]
	switch {
	case s == nil:
		f.base(fun)
	case s.Kind() == types.FieldVal: // a function value
		f.add(fun, insideOnce, rankRemote)
		f.expr(fun, reads, rankShared)
	case !valueMethod(&f.pkg.info, fun):
		f.base(fun)
	case isPointer(f.typeOf(fun.X)): // the copy for the receiver loads it
		f.add(&ast.StarExpr{Star: fun.X.Pos(), X: fun.X}, reads, rankShared)
		f.expr(fun.X, reads, rankShared)
	default:
		f.expr(fun.X, reads, rankShared)
	}
}

// sendsTime reports whether an expression is the channel of a timer, as far as the source tells: the field C of a Timer or Ticker, what
// time.After or time.Tick returns, or a variable with such a value.
func (f *finder) sendsTime(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "C" && f.typeOf(e) == nil
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.SelectorExpr)
		return ok && f.packageName(fun.X) == "time"
	case *ast.Ident:
		value := f.valueOf(e)
		return value != nil && f.sendsTime(value)
	}
	return false
}

// valueOf returns the value with which a variable of the file is defined, nil if there is none, or it is a variable itself.
func (f *finder) valueOf(name *ast.Ident) (value ast.Expr) {
	object := f.pkg.info.ObjectOf(name)
	if object == nil {
		return nil
	}
	ast.Inspect(f.file.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && f.pkg.info.Defs[id] == object && len(n.Lhs) == len(n.Rhs) {
					value = n.Rhs[i]
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if f.pkg.info.Defs[id] == object && i < len(n.Values) {
					value = n.Values[i]
				}
			}
		}
		return value == nil
	})
	if _, isVariable := value.(*ast.Ident); isVariable {
		return nil
	}
	return value
}

// atomic adds the variable behind the pointer that an atomic function gets.
func (f *finder) atomic(pointer ast.Expr) {
	if u, ok := ast.Unparen(pointer).(*ast.UnaryExpr); ok && u.Op == token.AND {
		f.add(u.X, atomics, rankShared)
		return
	}
	f.add(&ast.StarExpr{Star: pointer.Pos(), X: pointer}, atomics, rankShared)
}
