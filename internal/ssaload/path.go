package ssaload

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Path is how a function reaches a variable: from a value, through fields, elements and pointers.
// Two accesses in one activation by equal paths concern the same variable, if nothing on the path
// changes in between. Other paths may lead to the same variable; the analysis does not know them.
type Path struct {
	Root  ssa.Value
	Steps []Step
}

// Step leads from a variable to another one.
type Step struct {
	Kind  StepKind
	Field *types.Var   // of a field
	Owner *types.Named // the type that has the field, if it has a name
	Index ssa.Value    // of an element, if it is no constant
	At    string       // the constant index
}

// StepKind is a kind of Step.
type StepKind uint8

// The kinds of steps.
const (
	FieldStep StepKind = iota
	ElemStep
	DerefStep    // the target of the pointer or slice
	ContentsStep // the elements of a map, which are one variable, as at run time
)

// With returns p and one more step. It does not change p.
func (p Path) With(s Step) Path {
	return Path{p.Root, append(p.Steps[:len(p.Steps):len(p.Steps)], s)}
}

// Same reports whether two steps lead from a variable to the same one.
func (s Step) Same(t Step) bool {
	if s.Kind != t.Kind || s.Field != t.Field || s.At != t.At {
		return false
	}
	return s.Index == t.Index || s.Index != nil && t.Index != nil && SameValue(s.Index, t.Index)
}

// Equal reports whether p and q have the same root and steps.
func (p Path) Equal(q Path) bool {
	return len(p.Steps) == len(q.Steps) && p.HasPrefix(q)
}

// HasPrefix reports whether p begins with the root and steps of q.
func (p Path) HasPrefix(q Path) bool {
	if p.Root != q.Root || len(p.Steps) < len(q.Steps) {
		return false
	}
	for i := range q.Steps {
		if !p.Steps[i].Same(q.Steps[i]) {
			return false
		}
	}
	return true
}

// Through reports whether p leads through a pointer that is stored at q. A store to q then makes p
// lead elsewhere.
func (p Path) Through(q Path) bool {
	if len(p.Steps) <= len(q.Steps) || !p.HasPrefix(q) {
		return false
	}
	for _, s := range p.Steps[len(q.Steps):] {
		if s.Kind == DerefStep {
			return true
		}
	}
	return false
}

// DependsOn reports whether p leads elsewhere after v is computed anew.
func (p Path) DependsOn(v ssa.Value) bool {
	if p.Root == v {
		return true
	}
	for _, s := range p.Steps {
		if s.Index != nil && s.Index == v {
			return true
		}
	}
	return false
}

// Last returns the field, package-level or local variable that p ends in, or nil. For elements,
// Contents and targets of pointers it returns the variable that has them.
func (p Path) Last() any {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if p.Steps[i].Kind == FieldStep {
			return p.Steps[i].Field
		}
	}
	switch root := p.Root.(type) {
	case *ssa.Global, *ssa.Alloc:
		return root
	}
	return nil
}

// Direct reports whether p is a field, or a whole package-level or local variable, rather than an
// element or the target of a pointer.
func (p Path) Direct() bool {
	if n := len(p.Steps); n > 0 {
		return p.Steps[n-1].Kind == FieldStep
	}
	switch p.Root.(type) {
	case *ssa.Global, *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

func (p Path) String() string {
	var out strings.Builder
	out.WriteString(p.Root.Name())
	for _, s := range p.Steps {
		switch s.Kind {
		case FieldStep:
			out.WriteString("." + s.Field.Name())
		case ElemStep:
			if s.Index != nil {
				fmt.Fprintf(&out, "[%s]", s.Index.Name())
			} else {
				fmt.Fprintf(&out, "[%s]", s.At)
			}
		case DerefStep:
			out.WriteString("^")
		case ContentsStep:
			out.WriteString("{}")
		}
	}
	return out.String()
}

// Pointee returns the path of the variable that a pointer points to.
func Pointee(v ssa.Value) Path {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		owner := Deref(v.X.Type())
		st, ok := StructOf(owner)
		if !ok {
			break
		}
		return Pointee(v.X).With(Step{Kind: FieldStep, Field: st.Field(v.Field).Origin(), Owner: Named(owner)})
	case *ssa.IndexAddr:
		s := Step{Kind: ElemStep}
		if c, ok := v.Index.(*ssa.Const); ok {
			s.At = c.Value.String()
		} else {
			s.Index = v.Index
		}
		return Pointee(v.X).With(s)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return Pointee(v.X).With(Step{Kind: DerefStep})
		}
	case *ssa.ChangeType:
		return Pointee(v.X)
	}
	return Path{Root: v}
}

// Contents returns the path of the elements of a map.
func Contents(m ssa.Value) Path { return Pointee(m).With(Step{Kind: ContentsStep}) }

// SameValue reports whether two values are equal if nothing is stored between their computations:
// they are the same value, loads of the same variable, or computed in the same way from such
// values.
func SameValue(a, b ssa.Value) bool {
	if a == b {
		return true
	}
	switch a := a.(type) {
	case *ssa.Const:
		b, ok := b.(*ssa.Const)
		return ok && types.Identical(a.Type(), b.Type()) && a.String() == b.String()
	case *ssa.UnOp:
		b, ok := b.(*ssa.UnOp)
		return ok && a.Op == b.Op && (a.Op == token.MUL && Pointee(a.X).Equal(Pointee(b.X)) || SameValue(a.X, b.X))
	case *ssa.MakeInterface:
		b, ok := b.(*ssa.MakeInterface)
		return ok && SameValue(a.X, b.X)
	case *ssa.Convert:
		b, ok := b.(*ssa.Convert)
		return ok && types.Identical(a.Type(), b.Type()) && SameValue(a.X, b.X)
	case *ssa.Field:
		b, ok := b.(*ssa.Field)
		return ok && a.Field == b.Field && SameValue(a.X, b.X)
	case *ssa.BinOp:
		b, ok := b.(*ssa.BinOp)
		return ok && a.Op == b.Op && SameValue(a.X, b.X) && SameValue(a.Y, b.Y)
	case *ssa.Extract:
		b, ok := b.(*ssa.Extract)
		return ok && a.Index == b.Index && SameValue(a.Tuple, b.Tuple)
	case *ssa.Lookup:
		b, ok := b.(*ssa.Lookup)
		return ok && SameValue(a.X, b.X) && SameValue(a.Index, b.Index)
	case *ssa.FieldAddr:
		b, ok := b.(*ssa.FieldAddr)
		return ok && Pointee(a).Equal(Pointee(b))
	case *ssa.Call:
		b, ok := b.(*ssa.Call)
		return ok && sameCall(&a.Call, &b.Call)
	}
	return false
}

// sameCall reports whether two calls read the same thing and change nothing: len, cap and atomic
// loads.
func sameCall(a, b *ssa.CallCommon) bool {
	if len(a.Args) != 1 || len(b.Args) != 1 || !SameValue(a.Args[0], b.Args[0]) {
		return false
	}
	if f, ok := a.Value.(*ssa.Builtin); ok {
		g, ok := b.Value.(*ssa.Builtin)
		return ok && f.Name() == g.Name()
	}
	f, g := a.StaticCallee(), b.StaticCallee()
	return IsAtomic(f) && f == g && strings.HasPrefix(f.Name(), "Load")
}

// Translate returns the path by which a callee reaches the variable that p is in its caller, if
// there is one.
func (p Path) Translate(call *ssa.CallCommon, callee *ssa.Function) (Path, bool) {
	best, found := Path{}, false
	try := func(inside, outside ssa.Value) {
		base := Pointee(outside)
		if !p.HasPrefix(base) || found && len(p.Steps)-len(base.Steps) > len(best.Steps) {
			return
		}
		q := Path{inside, p.Steps[len(base.Steps):]}
		if q.Movable() {
			best, found = q, true
		}
	}
	for i, arg := range Arguments(call) {
		if i < len(callee.Params) {
			try(callee.Params[i], arg)
		}
	}
	if closure, ok := call.Value.(*ssa.MakeClosure); ok {
		for i, bound := range closure.Bindings {
			try(callee.FreeVars[i], bound)
		}
	}
	if !found && IsGlobal(p.Root) {
		return p, p.Movable()
	}
	return best, found
}

// Back returns the path by which a caller reaches the variable that p is in its callee, if there is
// one.
func (p Path) Back(call *ssa.CallCommon, callee *ssa.Function) (Path, bool) {
	if !p.Movable() {
		return Path{}, false
	}
	var outside ssa.Value
	switch root := p.Root.(type) {
	case *ssa.Global:
		return p, true
	case *ssa.Parameter:
		args := Arguments(call)
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
		return Path{}, false
	}
	base := Pointee(outside)
	return Path{base.Root, append(base.Steps[:len(base.Steps):len(base.Steps)], p.Steps...)}, true
}

// Movable reports whether the steps of p have the same meaning in another function.
func (p Path) Movable() bool {
	for _, s := range p.Steps {
		if s.Index != nil {
			return false
		}
	}
	return true
}

// Deref returns the type that a pointer type points to, and other types as they are.
func Deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

// StructOf returns the struct type that is the underlying type of t.
func StructOf(t types.Type) (*types.Struct, bool) {
	st, ok := t.Underlying().(*types.Struct)
	return st, ok
}

// Named returns t as a named type, the generic one for an instance, or nil.
func Named(t types.Type) *types.Named {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	return n.Origin()
}
