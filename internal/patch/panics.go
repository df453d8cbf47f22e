package patch

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// panics looks for what may panic. A lock that is held there would stay held if the program recovers.
type panics struct {
	p    *program
	lock string // as source; what it leads through is not nil where it is held
	skip []ast.Expr
	seen map[*static.Function]bool
}

// mayPanic returns a place in a node at which a panic may begin, or nil. What is in skip is evaluated elsewhere.
func (p *program) mayPanic(fn *static.Function, root ast.Node, lock string, skip ...ast.Expr) ast.Node {
	return (&panics{p: p, lock: lock, skip: skip, seen: map[*static.Function]bool{}}).in(fn, root)
}

func (f *panics) in(fn *static.Function, root ast.Node) (found ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || found != nil {
			return false
		}
		if e, ok := n.(ast.Expr); ok && slices.Contains(f.skip, e) {
			return false
		}
		if _, literal := n.(*ast.FuncLit); literal && n != root {
			return false
		}
		if f.at(fn, n) {
			found = n
		}
		return found == nil
	})
	return found
}

// at reports whether a node may panic by itself.
func (f *panics) at(fn *static.Function, n ast.Node) bool {
	info := fn.Info()
	switch n := n.(type) {
	case *ast.CallExpr:
		return f.call(fn, n)
	case *ast.SendStmt:
		return true // the channel may be closed
	case *ast.SelectorExpr:
		selection := info.Selections[n]
		return selection != nil && (isPointer(info.TypeOf(n.X)) || selection.Indirect()) && selection.Kind() == types.FieldVal && !f.notNil(fn, n.X)
	case *ast.StarExpr:
		return info.Types[n].IsValue() && !f.notNil(fn, n.X)
	case *ast.IndexExpr:
		return f.index(fn, n)
	case *ast.SliceExpr:
		return true
	case *ast.TypeAssertExpr:
		return n.Type != nil && !f.commaOK(n)
	case *ast.BinaryExpr:
		switch n.Op {
		case token.QUO, token.REM:
			return !isFloat(info.TypeOf(n)) && !notZero(info, n.Y)
		case token.SHL, token.SHR:
			return mayBeNegative(info, n.Y)
		case token.EQL, token.NEQ:
			return types.IsInterface(info.TypeOf(n.X)) && types.IsInterface(info.TypeOf(n.Y)) && !isNil(info, n.X) && !isNil(info, n.Y) &&
				!types.Implements(info.TypeOf(n.X), errorInterface)
		}
	case *ast.AssignStmt:
		switch n.Tok {
		case token.QUO_ASSIGN, token.REM_ASSIGN:
			return !isFloat(info.TypeOf(n.Lhs[0])) && !notZero(info, n.Rhs[0])
		case token.SHL_ASSIGN, token.SHR_ASSIGN:
			return mayBeNegative(info, n.Rhs[0])
		}
	case *ast.RangeStmt:
		t := info.TypeOf(n.X)
		_, iterator := t.Underlying().(*types.Signature)
		return iterator
	}
	return false
}

var errorInterface = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

func isNil(info *types.Info, e ast.Expr) bool { return info.Types[e].IsNil() }

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

func notZero(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	return v != nil && constant.Sign(v) != 0
}

func mayBeNegative(info *types.Info, e ast.Expr) bool {
	b, ok := info.TypeOf(e).Underlying().(*types.Basic)
	return info.Types[e].Value == nil && !(ok && b.Info()&types.IsUnsigned != 0)
}

// notNil reports whether a pointer is not nil where the lock is held: the lock is reached through it.
func (f *panics) notNil(fn *static.Function, e ast.Expr) bool {
	text := types.ExprString(ast.Unparen(e))
	if f.lock == text || strings.HasPrefix(f.lock, text+".") {
		return true
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := fn.Info().Uses[id].(*types.Var)
	return ok && makes(fn.Info(), f.p.waits.Definitions.Value(v))
}

// index reports whether an index expression may panic.
func (f *panics) index(fn *static.Function, n *ast.IndexExpr) bool {
	info := fn.Info()
	if !info.Types[n].IsValue() {
		return false // an instance
	}
	switch t := info.TypeOf(n.X).Underlying().(type) {
	case *types.Map:
		if interfaceWithin(t.Key()) {
			return true
		}
		return f.p.assigns(n) || f.p.assigned(n)
	case *types.Signature:
		return false
	case *types.Array:
		return info.Types[n.Index].Value == nil
	}
	return true
}

// interfaceWithin reports whether values of a type have parts that are interfaces, so that comparing them may panic.
func interfaceWithin(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return true
	case *types.Array:
		return interfaceWithin(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			if interfaceWithin(field.Type()) {
				return true
			}
		}
	}
	return false
}

// assigned reports whether an element of a map is changed by way of its own elements or fields.
func (p *program) assigned(e ast.Expr) bool {
	for {
		outer, ok := p.Parent(e).(ast.Expr)
		if !ok {
			return p.assigns(e)
		}
		switch outer := outer.(type) {
		case *ast.ParenExpr:
		case *ast.IndexExpr:
			if outer.X != e {
				return false
			}
		default:
			return false
		}
		e = outer
	}
}

// commaOK reports whether a type assertion also says whether it holds.
func (f *panics) commaOK(e ast.Expr) bool {
	switch outer := f.p.Parent(e).(type) {
	case *ast.AssignStmt:
		return len(outer.Lhs) == 2 && len(outer.Rhs) == 1
	case *ast.ValueSpec:
		return len(outer.Names) == 2 && len(outer.Values) == 1
	}
	return false
}

// call reports whether a call may panic.
func (f *panics) call(fn *static.Function, call *ast.CallExpr) bool {
	info := fn.Info()
	if info.Types[call.Fun].IsType() {
		_, slice := info.TypeOf(call.Args[0]).Underlying().(*types.Slice)
		_, toSlice := info.TypeOf(call).Underlying().(*types.Slice)
		return slice && !toSlice && !isString(info.TypeOf(call))
	}
	if info.Types[call.Fun].IsBuiltin() {
		id, _ := ast.Unparen(call.Fun).(*ast.Ident)
		if id == nil {
			return true
		}
		switch id.Name {
		case "append", "cap", "clear", "complex", "copy", "imag", "len", "max", "min", "new", "print", "println", "real", "recover":
			return false
		case "make":
			return slices.ContainsFunc(call.Args[1:], func(e ast.Expr) bool { return info.Types[e].Value == nil && !isLength(info, e) })
		case "delete":
			m, ok := info.TypeOf(call.Args[0]).Underlying().(*types.Map)
			return !ok || interfaceWithin(m.Key())
		}
		return true
	}
	if f.p.LockCall(info, call) != nil {
		return false
	}
	c := f.p.graph.Call(call)
	if c == nil || c.Started {
		return c == nil
	}
	callee := c.Only()
	if callee == nil {
		return c.Outside == nil || c.Open || !calm(c.Outside) || slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
			_, function := info.TypeOf(e).Underlying().(*types.Signature)
			return function
		})
	}
	if f.seen[callee] {
		return false
	}
	f.seen[callee] = true
	inner := &panics{p: f.p, seen: f.seen}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && (!isPointer(info.TypeOf(sel.X)) || f.notNil(fn, sel.X)) {
		if recv := callee.Recv(); recv != nil && len(recv.List[0].Names) > 0 {
			inner.lock = recv.List[0].Names[0].Name
		}
	}
	return inner.in(callee, callee.Body) != nil
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// isLength reports whether an expression is the length of something, which is not negative.
func isLength(info *types.Info, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || !info.Types[call.Fun].IsBuiltin() {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && (id.Name == "len" || id.Name == "cap")
}

// calm reports whether a function of the standard library never panics: those that only compute, apart from some.
func calm(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "errors":
		return fn.Name() == "New"
	case "fmt":
		return strings.HasPrefix(fn.Name(), "Sprint") || fn.Name() == "Errorf"
	case "math", "math/bits", "unicode", "unicode/utf8", "sync/atomic", "html":
		return fn.Signature().Recv() == nil && !strings.HasPrefix(fn.Name(), "Div") && !strings.HasPrefix(fn.Name(), "Rem")
	case "strconv":
		return strings.HasPrefix(fn.Name(), "Parse") || fn.Name() == "Itoa" || fn.Name() == "Atoi" || strings.HasPrefix(fn.Name(), "Quote")
	case "strings":
		return fn.Name() != "Repeat" && fn.Signature().Recv() == nil
	case "time":
		switch fn.Name() {
		case "Now", "Since", "Until", "Add", "Sub", "After", "Before", "Equal", "Unix", "UnixNano", "Seconds", "Milliseconds", "IsZero":
			return true
		}
	}
	return false
}
