package enforce

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// call is a call in a step, in the same goroutine.
type call struct {
	expr    *ast.CallExpr
	targets []int // what it may call: functions of the module by their numbers, and groups of them
	// callee is set if it calls this function and nothing else, so that it can be given what its caller holds.
	callee *unit
	waits  bool // it may wait in code that is not of the module
}

// operations adds to a step what its part does besides accesses: calls, operations on locks and channels.
func (p *Program) operations(u *unit, s *step, part ast.Node) {
	static.Own(part, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SendStmt:
			s.waits, s.waitsAt = true, n.Pos()
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				s.waits, s.waitsAt = true, n.Pos()
			}
		case *ast.CallExpr:
			p.operation(u, s, n)
		}
	})
}

// operation adds a call to a step.
func (p *Program) operation(u *unit, s *step, expr *ast.CallExpr) {
	info := u.Info()
	if op := p.lockOf(info, expr); op != nil {
		if s.lock == nil {
			s.lock = op
			return
		}
		s.waits, s.waitsAt = s.waits || !op.Releases() && !op.Tries(), expr.Pos()
		s.further = append(s.further, op.name)
		return
	}
	if c := p.callOf(info, expr); c != nil {
		s.calls = append(s.calls, c)
	}
}

// lockOf returns the operation on a lock that a call is, or nil.
func (p *Program) lockOf(info *types.Info, expr *ast.CallExpr) *lockOp {
	fn := static.Callee(info, expr)
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	op := &lockOp{LockOp: static.LockOpOf(fn), call: expr}
	if !ok || op.LockOp == static.NoLockOp || types.IsInterface(fn.Signature().Recv().Type()) {
		return nil
	}
	op.name = p.lockName(info, sel)
	return op
}

// lockName names the lock of a method call: its field or variable. Locks of other objects of a type have one name.
func (p *Program) lockName(info *types.Info, sel *ast.SelectorExpr) string {
	var v *types.Var
	if s := info.Selections[sel]; s != nil && len(s.Index()) > 1 { // of an embedded field
		t := s.Recv()
		for _, i := range s.Index()[:len(s.Index())-1] {
			if ptr, ok := t.Underlying().(*types.Pointer); ok {
				t = ptr.Elem()
			}
			st, ok := t.Underlying().(*types.Struct)
			if !ok {
				break
			}
			v = st.Field(i)
			t = v.Type()
		}
	} else {
		switch e := ast.Unparen(sel.X).(type) {
		case *ast.Ident:
			v, _ = info.Uses[e].(*types.Var)
		case *ast.SelectorExpr:
			v, _ = info.Uses[e.Sel].(*types.Var)
		}
	}
	if v == nil {
		return unnamedLock
	}
	return p.nameOfLock(v)
}

// unnamedLock is the name of all locks that no field or variable names.
const unnamedLock = "?"

// nameOfLock names the lock that a field or variable is.
func (p *Program) nameOfLock(v *types.Var) string {
	if name := p.fields[p.src.Key(v)]; name != "" {
		return name
	}
	at := p.src.Fset.PositionFor(v.Pos(), false)
	return fmt.Sprintf("%s@%s:%d", v.Name(), filepath.Base(at.Filename), at.Line)
}

// callOf returns what is known of a call; nil if it calls nothing that matters.
func (p *Program) callOf(info *types.Info, expr *ast.CallExpr) *call {
	if info.Types[expr.Fun].IsType() {
		return nil
	}
	if lit, ok := ast.Unparen(expr.Fun).(*ast.FuncLit); ok {
		return direct(expr, p.unitOf(p.src.Of(lit)))
	}
	if info.Types[expr.Fun].IsBuiltin() { // also those of package unsafe
		return nil
	}
	fn := static.Callee(info, expr)
	switch {
	case fn == nil: // a function value
		return &call{expr: expr, targets: p.group(anyValue), waits: true}
	case fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()):
		return &call{expr: expr, targets: p.group(fn.Name()), waits: true}
	}
	if u := p.unitOf(p.src.Declared(fn)); u != nil {
		return direct(expr, u)
	}
	switch fn.FullName() {
	case "(*sync.WaitGroup).Go", "time.AfterFunc": // in another goroutine
		return nil
	}
	c := &call{expr: expr, waits: p.mayWait(info, fn, expr)}
	for _, arg := range expr.Args {
		if static.Known(fn).Has(static.CallsFunctionsOnly) {
			if _, function := underlying(info.TypeOf(arg)).(*types.Signature); !function {
				continue
			}
		}
		c.targets = append(c.targets, p.callbacks(info, arg)...)
	}
	if sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil && !static.Known(fn).Has(static.CallsFunctionsOnly) {
		c.targets = append(c.targets, p.callbacks(info, sel.X)...)
	}
	slices.Sort(c.targets)
	c.targets = slices.Compact(c.targets)
	if len(c.targets) == 0 && !c.waits {
		return nil
	}
	return c
}

func direct(expr *ast.CallExpr, u *unit) *call {
	return &call{expr: expr, targets: []int{u.Number}, callee: u}
}

// anyValue is the name of the group of all functions that are used other than by calling them. Other groups have the
// name of a method.
const anyValue = ""

// group returns the targets of calls of function values, or of methods with a name: the number of the group, which
// comes after those of the functions. A group of one is the function itself, and one of none is nothing.
func (p *Program) group(name string) []int {
	all := p.src.Methods(name)
	if name == anyValue {
		all = p.src.Values()
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return []int{all[0].Number}
	}
	n, ok := p.groupOf[name]
	if !ok {
		n = len(p.units) + len(p.groups)
		var numbers []int
		for _, u := range all {
			numbers = append(numbers, u.Number)
		}
		p.groupOf[name], p.groups = n, append(p.groups, numbers)
	}
	return []int{n}
}

// members returns the functions that a target stands for.
func (p *Program) members(target int) []int {
	if target < len(p.units) {
		return []int{target}
	}
	return p.groups[target-len(p.units)]
}

// callbacks returns the targets in the module that code outside of it may call if it gets an argument.
func (p *Program) callbacks(info *types.Info, arg ast.Expr) (out []int) {
	arg = ast.Unparen(arg)
	if lit, ok := arg.(*ast.FuncLit); ok {
		return []int{p.src.Of(lit).Number}
	}
	t := info.TypeOf(arg)
	out, known := p.callbacksBy[t]
	if !known {
		p.callbacksOf(t, map[types.Type]bool{}, &out)
		slices.Sort(out)
		out = slices.Compact(out)
		p.callbacksBy[t] = out
	}
	return out
}

// implicit are the methods that functions of the standard library look for in values of any type.
var implicit = []string{
	"String", "Error", "Format", "GoString", "MarshalJSON", "MarshalText", "MarshalBinary", "MarshalXML", "GobEncode",
	"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "UnmarshalXML", "GobDecode",
}

// callbacksOf adds the functions that can be called through a value of a type, its elements and its fields.
func (p *Program) callbacksOf(t types.Type, seen map[types.Type]bool, out *[]int) {
	if t = types.Unalias(t); t == nil || seen[t] {
		return
	}
	seen[t] = true
	if n, ok := t.(*types.Named); ok {
		for i := range n.NumMethods() {
			if u := p.src.Declared(n.Method(i)); u != nil {
				*out = append(*out, u.Number)
			}
		}
		for arg := range n.TypeArgs().Types() {
			p.callbacksOf(arg, seen, out)
		}
		if pkg := n.Obj().Pkg(); pkg != nil && !types.IsInterface(n) && !p.packages[pkg.Path()] {
			return // its parts are not of the module
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		*out = append(*out, p.group(anyValue)...)
	case *types.Interface:
		if u.NumMethods() == 0 {
			for _, name := range implicit {
				*out = append(*out, p.group(name)...)
			}
		}
		for i := range u.NumMethods() {
			*out = append(*out, p.group(u.Method(i).Name())...)
		}
	case *types.Pointer:
		p.callbacksOf(u.Elem(), seen, out)
	case *types.Slice:
		p.callbacksOf(u.Elem(), seen, out)
	case *types.Array:
		p.callbacksOf(u.Elem(), seen, out)
	case *types.Map:
		p.callbacksOf(u.Key(), seen, out)
		p.callbacksOf(u.Elem(), seen, out)
	case *types.Struct:
		for i := range u.NumFields() {
			p.callbacksOf(u.Field(i).Type(), seen, out)
		}
	}
}

// findOutputs finds out whether the module reads its own output, and whether it uses testing/synctest.
func (p *Program) findOutputs() {
	for _, f := range p.src.Files() {
		for _, imported := range f.Syntax.Imports {
			p.bubbles = p.bubbles || imported.Path.Value == `"testing/synctest"`
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if fn, ok := f.Info().Uses[n].(*types.Func); ok {
					name := fn.FullName()
					p.redirects = p.redirects || name == "os.Pipe" || name == "log.SetOutput"
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if sel, ok := ast.Unparen(left).(*ast.SelectorExpr); ok {
						v, ok := f.Info().Uses[sel.Sel].(*types.Var)
						p.redirects = p.redirects || ok && v.Pkg() != nil && v.Pkg().Path() == "os" && strings.HasPrefix(v.Name(), "Std")
					}
				}
			}
			return true
		})
	}
}
