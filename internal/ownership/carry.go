package ownership

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// storing is a store of something that leads to objects. If other goroutines can read the target without being
// ordered after the store, nothing orders them after the initialization of the objects.
type storing struct {
	carries []carrier
	target  memory // zero: it is not known
	at      Position
}

// carrier is something that values of a type lead to.
type carrier struct {
	object  focus.Variable // objects of a struct type, named without Name
	methods string         // or what was converted to an interface with these methods, if isAny or not empty
	isAny   bool
	literal string // or what function literals with this signature have captured
}

// carriersIn returns what values of a type lead to, without following pointers in objects.
func carriersIn(t types.Type) (out []carrier) {
	seen := map[types.Type]bool{}
	var follow func(t types.Type, pointed bool)
	follow = func(t types.Type, pointed bool) {
		if seen[t] && !pointed {
			return
		}
		seen[t] = true
		if selfSynchronized(t) {
			return
		}
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			follow(u.Elem(), true)
		case *types.Slice:
			follow(u.Elem(), true)
		case *types.Map:
			follow(u.Key(), false)
			follow(u.Elem(), true)
		case *types.Chan:
			follow(u.Elem(), false)
		case *types.Array:
			follow(u.Elem(), pointed)
		case *types.Struct:
			if pointed {
				for _, v := range structsIn(t) {
					out = append(out, carrier{object: v})
				}
				return
			}
			for i := range u.NumFields() {
				follow(u.Field(i).Type(), false)
			}
		case *types.Interface:
			if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
				out = append(out, carrier{isAny: true})
				return
			}
			out = append(out, carrier{methods: methodNames(u), isAny: u.NumMethods() == 0})
		case *types.Signature:
			out = append(out, carrier{literal: signatureKey(u)})
		}
	}
	follow(t, false)
	return out
}

func signatureKey(s *types.Signature) string {
	return types.TypeString(types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic()), nil)
}

// methodNames returns the names of an interface's methods with a comma behind each, in order.
func methodNames(i *types.Interface) string {
	var names []string
	for m := range i.Methods() {
		names = append(names, m.Name())
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// structsIn returns the struct types of which there are values within a value of a type.
func structsIn(t types.Type) (out []focus.Variable) {
	if selfSynchronized(t) {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return structsIn(u.Elem())
	case *types.Struct:
		if n := ssaload.Named(t); n != nil {
			if v, ok := typeName(n); ok {
				out = append(out, v)
			}
		}
		for i := range u.NumFields() {
			out = append(out, structsIn(u.Field(i).Type())...)
		}
	}
	return out
}

// stored records a store through a pointer.
func (f *function) stored(store *ssa.Store) {
	if _, isConst := store.Val.(*ssa.Const); isConst || f.in.publish.unpublished(store.Addr, store) || f.a.inits[f.id] {
		return
	}
	t := store.Val.Type()
	if !aggregate(t) {
		f.addStore(store, store.Addr, t)
		return
	}
	known := false
	f.eachField(t, store.Addr, func(m memory, _ ssa.Value) {
		known = true
		if carries := carriersIn(f.a.variable(m).typ); len(carries) > 0 {
			f.a.stores = append(f.a.stores, &storing{carries, m, f.at(store, true)})
		}
	})
	if !known {
		f.addStore(store, nil, t)
	}
}

func (f *function) addStore(ins ssa.Instruction, address ssa.Value, t types.Type) {
	carries := carriersIn(t)
	if len(carries) == 0 {
		return
	}
	s := &storing{carries: carries, at: f.at(ins, true)}
	if address != nil {
		s.target, _ = f.memoryAt(address)
	}
	f.a.stores = append(f.a.stores, s)
}

// storedIn records a store in a map or slice.
func (f *function) storedIn(ins ssa.Instruction, in ssa.Value, t types.Type) {
	carries := carriersIn(t)
	if len(carries) == 0 || f.a.inits[f.id] {
		return
	}
	if c, ok := in.(*ssa.Const); ok && c.IsNil() || f.in.publish.unpublished(in, ins) {
		return
	}
	s := &storing{carries: carries, at: f.at(ins, true)}
	if load, ok := in.(*ssa.UnOp); ok {
		if m, ok := f.memoryAt(load.X); ok {
			m.elements = true
			s.target = m
		}
	}
	f.a.stores = append(f.a.stores, s)
}

// converted records what is converted to an interface. Code that has a value of the empty interface may access
// its fields by reflection, except code that is known to use it otherwise.
func (f *function) converted(box *ssa.MakeInterface) {
	t := box.X.Type()
	objects := structsIn(ssaload.Deref(t))
	methods := methodsOf(t)
	for _, v := range objects {
		f.a.boxed[v] = append(f.a.boxed[v], methods)
	}
	i, ok := box.Type().Underlying().(*types.Interface)
	if !ok || i.NumMethods() > 0 {
		return
	}
	for _, ref := range *box.Referrers() {
		by, deep := reflects(ref, t)
		if by == "" {
			continue
		}
		text := "values are passed to " + by + ", which may access them by reflection"
		for _, v := range objects {
			f.a.expose(v, f.at(box, false), text)
		}
		if deep {
			for _, v := range f.a.reachable(t) {
				f.a.expose(v, f.at(box, false), text)
			}
		}
	}
}

func methodsOf(t types.Type) string {
	var names []string
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		names = append(names, set.At(i).Obj().Name())
	}
	slices.Sort(names)
	return "," + strings.Join(names, ",") + ","
}

// reflects returns by what an instruction may let the fields of a value be accessed by reflection, or "". deep
// says that this includes what the fields point to.
func reflects(ins ssa.Instruction, t types.Type) (by string, deep bool) {
	switch ins := ins.(type) {
	case *ssa.TypeAssert, *ssa.DebugRef, *ssa.BinOp, *ssa.If, *ssa.Panic, *ssa.Phi:
		if _, ok := ins.(*ssa.Phi); ok {
			return "a variable of an interface type", true
		}
		return "", false
	case *ssa.Store: // as an argument of a variadic function, or in a variable
		by = variadicCallee(ins)
		if by == "" {
			return "a variable of an interface type", true
		}
	case ssa.CallInstruction:
		callee := ins.Common().StaticCallee()
		if callee == nil {
			return "a function that is not known", true
		}
		by = callee.String()
	default:
		return "", false
	}
	for _, pkg := range []string{"sync.", "(*sync.", "(*sync/atomic.", "container/", "(*container/", "context.", "errors.", "runtime.", "unique.", "iter."} {
		if strings.HasPrefix(by, pkg) {
			return "", false
		}
	}
	for _, pkg := range []string{"fmt.", "log.", "(*log.", "(*testing."} {
		if strings.HasPrefix(by, pkg) {
			methods := methodsOf(t)
			for _, name := range []string{",Error,", ",String,", ",Format,"} {
				if strings.Contains(methods, name) {
					return "", false
				}
			}
			return by, false
		}
	}
	return by, true
}

// variadicCallee returns the function to which a value is passed that is stored in the slice for its last
// parameter, or "".
func variadicCallee(store *ssa.Store) string {
	element, ok := store.Addr.(*ssa.IndexAddr)
	if !ok {
		return ""
	}
	array, ok := element.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" {
		return ""
	}
	for _, ref := range *array.Referrers() {
		slice, ok := ref.(*ssa.Slice)
		if !ok {
			continue
		}
		for _, use := range *slice.Referrers() {
			if call, ok := use.(ssa.CallInstruction); ok && call.Common().StaticCallee() != nil {
				return call.Common().StaticCallee().String()
			}
		}
	}
	return ""
}

// expose says that code which is not followed may access the fields of a type.
func (a *analysis) expose(v focus.Variable, at Position, text string) {
	if _, ok := a.exposed[v]; !ok {
		a.exposed[v] = Reason{at, text}
	}
}

// reachable returns the struct types to which values of a type lead through any number of pointers.
func (a *analysis) reachable(t types.Type) (out []focus.Variable) {
	seen := map[types.Type]bool{}
	var follow func(t types.Type)
	follow = func(t types.Type) {
		if seen[t] || selfSynchronized(t) {
			return
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			follow(u.Elem())
		case *types.Slice:
			follow(u.Elem())
		case *types.Array:
			follow(u.Elem())
		case *types.Map:
			follow(u.Key())
			follow(u.Elem())
		case *types.Struct:
			if n := ssaload.Named(t); n != nil {
				if v, ok := typeName(n); ok {
					out = append(out, v)
				}
			}
			for i := range u.NumFields() {
				follow(u.Field(i).Type())
			}
		}
	}
	follow(t)
	return out
}

// captures records what a literal captures that is not only called where it stands.
func (f *function) captures(closure *ssa.MakeClosure) {
	if calledOnly(closure) {
		return
	}
	key := signatureKey(closure.Fn.(*ssa.Function).Signature)
	for _, bound := range closure.Bindings {
		for _, t := range []types.Type{bound.Type(), ssaload.Deref(bound.Type())} {
			for _, c := range carriersIn(t) {
				if c.object.Type == "" {
					continue
				}
				if f.a.captured[key] == nil {
					f.a.captured[key] = map[focus.Variable]bool{}
				}
				f.a.captured[key][c.object] = true
			}
		}
	}
}

// convertedUnsafely exposes what a pointer points to that is converted to an unsafe.Pointer.
func (f *function) convertedUnsafely(c *ssa.Convert) {
	if b, ok := c.Type().Underlying().(*types.Basic); !ok || b.Kind() != types.UnsafePointer {
		return
	}
	for _, v := range structsIn(ssaload.Deref(c.X.Type())) {
		f.a.expose(v, f.at(c, false), "a pointer is converted to an unsafe.Pointer")
	}
}

// changed exposes struct types between which a pointer is converted: a variable then has two names.
func (f *function) changed(c *ssa.ChangeType) {
	from, to := ssaload.Deref(c.X.Type()), ssaload.Deref(c.Type())
	if !aggregate(from) || types.Identical(from, to) || c.X.Type() == from {
		return
	}
	for _, t := range []types.Type{from, to} {
		for _, v := range structsIn(t) {
			f.a.expose(v, f.at(c, false), "a pointer is converted to one to another type")
		}
	}
}
