package infer

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// path is how a function reaches a variable: from a value, through fields, elements and pointers.
// Two accesses in one activation by equal paths concern the same variable, if nothing on the path
// changes in between. Other paths may lead to the same variable; the analysis does not know them.
type path struct {
	root  ssa.Value
	steps []step
}

type step struct {
	kind  stepKind
	field *types.Var   // of a field
	owner *types.Named // the type that has the field, if it has a name
	index ssa.Value    // of an element, if it is no constant
	at    string       // the constant index
}

type stepKind uint8

const (
	fieldStep stepKind = iota
	elemStep
	derefStep    // the target of the pointer or slice
	contentsStep // the elements of a map, which are one variable, as at run time
)

func (p path) with(s step) path {
	return path{p.root, append(p.steps[:len(p.steps):len(p.steps)], s)}
}

func (s step) same(t step) bool {
	if s.kind != t.kind || s.field != t.field || s.at != t.at {
		return false
	}
	return s.index == t.index || s.index != nil && t.index != nil && sameValue(s.index, t.index)
}

func (p path) equal(q path) bool {
	return len(p.steps) == len(q.steps) && p.hasPrefix(q)
}

func (p path) hasPrefix(q path) bool {
	if p.root != q.root || len(p.steps) < len(q.steps) {
		return false
	}
	for i := range q.steps {
		if !p.steps[i].same(q.steps[i]) {
			return false
		}
	}
	return true
}

// through reports whether p leads through a pointer that is stored at q. A store to q then makes p
// lead elsewhere.
func (p path) through(q path) bool {
	if len(p.steps) <= len(q.steps) || !p.hasPrefix(q) {
		return false
	}
	for _, s := range p.steps[len(q.steps):] {
		if s.kind == derefStep {
			return true
		}
	}
	return false
}

// dependsOn reports whether p leads elsewhere after v is computed anew.
func (p path) dependsOn(v ssa.Value) bool {
	if p.root == v {
		return true
	}
	for _, s := range p.steps {
		if s.index != nil && s.index == v {
			return true
		}
	}
	return false
}

// last returns the field, package-level or local variable that p ends in, or nil. For elements,
// contents and targets of pointers it returns the variable that has them.
func (p path) last() any {
	for i := len(p.steps) - 1; i >= 0; i-- {
		if p.steps[i].kind == fieldStep {
			return p.steps[i].field
		}
	}
	switch root := p.root.(type) {
	case *ssa.Global, *ssa.Alloc:
		return root
	}
	return nil
}

// direct reports whether p is a field, or a whole package-level or local variable, rather than an
// element or the target of a pointer.
func (p path) direct() bool {
	if n := len(p.steps); n > 0 {
		return p.steps[n-1].kind == fieldStep
	}
	switch p.root.(type) {
	case *ssa.Global, *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

func (p path) String() string {
	var out strings.Builder
	out.WriteString(p.root.Name())
	for _, s := range p.steps {
		switch s.kind {
		case fieldStep:
			out.WriteString("." + s.field.Name())
		case elemStep:
			if s.index != nil {
				fmt.Fprintf(&out, "[%s]", s.index.Name())
			} else {
				fmt.Fprintf(&out, "[%s]", s.at)
			}
		case derefStep:
			out.WriteString("^")
		case contentsStep:
			out.WriteString("{}")
		}
	}
	return out.String()
}

// pointee returns the path of the variable that a pointer points to.
func pointee(v ssa.Value) path {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		owner := deref(v.X.Type())
		st, ok := structOf(owner)
		if !ok {
			break
		}
		return pointee(v.X).with(step{kind: fieldStep, field: st.Field(v.Field).Origin(), owner: named(owner)})
	case *ssa.IndexAddr:
		s := step{kind: elemStep}
		if c, ok := v.Index.(*ssa.Const); ok {
			s.at = c.Value.String()
		} else {
			s.index = v.Index
		}
		return pointee(v.X).with(s)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return pointee(v.X).with(step{kind: derefStep})
		}
	case *ssa.ChangeType:
		return pointee(v.X)
	}
	return path{root: v}
}

// contents returns the path of the elements of a map.
func contents(m ssa.Value) path { return pointee(m).with(step{kind: contentsStep}) }

// sameValue reports whether two values are equal if nothing is stored between their computations:
// they are the same value, loads of the same variable, or computed in the same way from such
// values.
func sameValue(a, b ssa.Value) bool {
	if a == b {
		return true
	}
	switch a := a.(type) {
	case *ssa.Const:
		b, ok := b.(*ssa.Const)
		return ok && types.Identical(a.Type(), b.Type()) && a.String() == b.String()
	case *ssa.UnOp:
		b, ok := b.(*ssa.UnOp)
		return ok && a.Op == b.Op && (a.Op == token.MUL && pointee(a.X).equal(pointee(b.X)) || sameValue(a.X, b.X))
	case *ssa.MakeInterface:
		b, ok := b.(*ssa.MakeInterface)
		return ok && sameValue(a.X, b.X)
	case *ssa.Convert:
		b, ok := b.(*ssa.Convert)
		return ok && types.Identical(a.Type(), b.Type()) && sameValue(a.X, b.X)
	case *ssa.Field:
		b, ok := b.(*ssa.Field)
		return ok && a.Field == b.Field && sameValue(a.X, b.X)
	case *ssa.BinOp:
		b, ok := b.(*ssa.BinOp)
		return ok && a.Op == b.Op && sameValue(a.X, b.X) && sameValue(a.Y, b.Y)
	case *ssa.Extract:
		b, ok := b.(*ssa.Extract)
		return ok && a.Index == b.Index && sameValue(a.Tuple, b.Tuple)
	case *ssa.Lookup:
		b, ok := b.(*ssa.Lookup)
		return ok && sameValue(a.X, b.X) && sameValue(a.Index, b.Index)
	case *ssa.FieldAddr:
		b, ok := b.(*ssa.FieldAddr)
		return ok && pointee(a).equal(pointee(b))
	case *ssa.Call:
		b, ok := b.(*ssa.Call)
		return ok && sameCall(&a.Call, &b.Call)
	}
	return false
}

// sameCall reports whether two calls read the same thing and change nothing: len, cap and atomic
// loads.
func sameCall(a, b *ssa.CallCommon) bool {
	if len(a.Args) != 1 || len(b.Args) != 1 || !sameValue(a.Args[0], b.Args[0]) {
		return false
	}
	if f, ok := a.Value.(*ssa.Builtin); ok {
		g, ok := b.Value.(*ssa.Builtin)
		return ok && f.Name() == g.Name()
	}
	f, g := a.StaticCallee(), b.StaticCallee()
	return isAtomic(f) && f == g && strings.HasPrefix(f.Name(), "Load")
}

// translate returns the path by which a callee reaches the variable that p is in its caller, if
// there is one.
func (p path) translate(call *ssa.CallCommon, callee *ssa.Function) (path, bool) {
	best, found := path{}, false
	try := func(inside, outside ssa.Value) {
		base := pointee(outside)
		if !p.hasPrefix(base) || found && len(p.steps)-len(base.steps) > len(best.steps) {
			return
		}
		q := path{inside, p.steps[len(base.steps):]}
		if q.movable() {
			best, found = q, true
		}
	}
	for i, arg := range arguments(call) {
		if i < len(callee.Params) {
			try(callee.Params[i], arg)
		}
	}
	if closure, ok := call.Value.(*ssa.MakeClosure); ok {
		for i, bound := range closure.Bindings {
			try(callee.FreeVars[i], bound)
		}
	}
	if !found && isGlobal(p.root) {
		return p, p.movable()
	}
	return best, found
}

// back returns the path by which a caller reaches the variable that p is in its callee, if there is
// one.
func (p path) back(call *ssa.CallCommon, callee *ssa.Function) (path, bool) {
	if !p.movable() {
		return path{}, false
	}
	var outside ssa.Value
	switch root := p.root.(type) {
	case *ssa.Global:
		return p, true
	case *ssa.Parameter:
		args := arguments(call)
		for i, param := range callee.Params {
			if param == root && i < len(args) {
				outside = args[i]
			}
		}
	case *ssa.FreeVar:
		if closure, ok := call.Value.(*ssa.MakeClosure); ok {
			for i, fv := range callee.FreeVars {
				if fv == root {
					outside = closure.Bindings[i]
				}
			}
		}
	}
	if outside == nil {
		return path{}, false
	}
	base := pointee(outside)
	return path{base.root, append(base.steps[:len(base.steps):len(base.steps)], p.steps...)}, true
}

// movable reports whether the steps of p have the same meaning in another function.
func (p path) movable() bool {
	for _, s := range p.steps {
		if s.index != nil {
			return false
		}
	}
	return true
}

func deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

func structOf(t types.Type) (*types.Struct, bool) {
	st, ok := t.Underlying().(*types.Struct)
	return st, ok
}

func named(t types.Type) *types.Named {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	return n.Origin()
}
