package ownership

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// transfer is a store of something that leads to objects. If other goroutines can read the memory without being
// ordered after the store, nothing orders them after the initialization of the objects.
type transfer struct {
	carriers []carrier
	to       memory // zero: it is not known
	at       Reason
	f        *function
	ins      ssa.Instruction
}

// carrier is something that values of a type lead to without following pointers in objects.
type carrier struct {
	object  memory // objects of a struct type, named without Name, or elements
	methods string // or what was converted to an interface with these methods
	boxed   bool
	literal string // or what function literals with this signature have captured
}

// boxedType is a type of which there are values in interfaces.
type boxedType struct {
	typ     types.Type
	methods string
}

// carriersIn returns what values of a type lead to.
func (a *analysis) carriersIn(t types.Type) (out []carrier) {
	seen := map[types.Type]bool{}
	var follow func(t types.Type, pointed bool)
	follow = func(t types.Type, pointed bool) {
		if t == nil || seen[t] && !pointed || selfSynchronized(t) {
			return
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			follow(u.Elem(), true)
			if array, ok := u.Elem().Underlying().(*types.Array); ok {
				out = append(out, carrier{object: pooled(array.Elem())})
			}
		case *types.Slice:
			out = append(out, carrier{object: pooled(u.Elem())})
			follow(u.Elem(), true)
		case *types.Map:
			out = append(out, carrier{object: pooledMap(u)})
		case *types.Chan:
		case *types.Array:
			follow(u.Elem(), pointed)
		case *types.Struct:
			if pointed {
				for _, v := range a.structsIn(t) {
					out = append(out, carrier{object: v})
				}
				return
			}
			for i := range u.NumFields() {
				follow(u.Field(i).Type(), false)
			}
		case *types.Interface:
			if _, isParam := types.Unalias(t).(*types.TypeParam); isParam {
				out = append(out, carrier{boxed: true})
				return
			}
			out = append(out, carrier{methods: methodNames(u), boxed: true})
		case *types.Signature:
			out = append(out, carrier{literal: signatureKey(u)})
		}
	}
	follow(t, false)
	return out
}

func signatureKey(s *types.Signature) string {
	return typeKey(s)
}

// methodNames returns the names of an interface's methods with a comma before and behind each, in order.
func methodNames(i *types.Interface) string {
	var names []string
	for m := range i.Methods() {
		names = append(names, m.Name())
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// has reports whether the type has all methods of an interface.
func (b boxedType) has(methods string) bool {
	if methods == "" {
		return true
	}
	for _, name := range strings.Split(methods, ",") {
		if !strings.Contains(b.methods, ","+name+",") {
			return false
		}
	}
	return true
}

// structsIn returns the struct types of which there are values within a value of a type.
func (a *analysis) structsIn(t types.Type) (out []memory) {
	if selfSynchronized(t) {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return a.structsIn(u.Elem())
	case *types.Struct:
		if v, ok := a.ours(t); ok {
			out = append(out, memory{Variable: v})
		}
		for i := range u.NumFields() {
			out = append(out, a.structsIn(u.Field(i).Type())...)
		}
	}
	return out
}

// box records that values of a type are in interfaces.
func (a *analysis) box(t types.Type) {
	key := typeKey(t)
	if _, ok := a.boxed[key]; ok {
		return
	}
	var names []string
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		names = append(names, set.At(i).Obj().Name())
	}
	slices.Sort(names)
	a.boxed[key] = boxedType{t, "," + strings.Join(names, ",") + ","}
}

// collectTransfers records stores of what leads to objects.
func (f *function) collectTransfers(ins ssa.Instruction) {
	switch ins := ins.(type) {
	case *ssa.Store:
		f.stored(ins)
	case *ssa.MapUpdate:
		f.storedIn(ins, ins.Map, f.carriersOf(ins.Value))
		f.storedIn(ins, ins.Map, f.carriersOf(ins.Key))
	case *ssa.MakeInterface:
		f.a.box(ins.X.Type())
	case *ssa.MakeClosure:
		f.captures(ins)
	case ssa.CallInstruction:
		f.passed(ins)
	}
}

// stored records a store through a pointer.
func (f *function) stored(store *ssa.Store) {
	if c, isConst := store.Val.(*ssa.Const); isConst && c.IsNil() || onStack(store.Addr) || foreignArguments(store.Addr) {
		return
	}
	list, complete := f.chosen(store.Val.Type(), store.Addr)
	if !f.a.aggregate(store.Val.Type()) && len(list) == 1 {
		f.transfer(store, list[0].memory, f.carriersOf(store.Val))
		return
	}
	for _, t := range list {
		f.transfer(store, t.memory, f.a.carriersIn(t.typ))
	}
	if !complete && !f.in.publish.private(store.Addr) {
		f.transfer(store, memory{}, f.carriersOf(store.Val))
	}
}

func (f *function) transfer(ins ssa.Instruction, to memory, carriers []carrier) {
	if len(carriers) > 0 {
		f.a.transfers = append(f.a.transfers, transfer{carriers, to, Reason{f.position(ins), ""}, f, ins})
	}
}

// storedIn records a store in a map or slice.
func (f *function) storedIn(ins ssa.Instruction, in ssa.Value, carriers []carrier) {
	if len(carriers) == 0 || f.in.publish.private(in) {
		return
	}
	if slice, ok := in.Type().Underlying().(*types.Slice); ok && f.a.aggregate(slice.Elem()) {
		list, complete := []target{}, true
		f.fields(slice.Elem(), in, place{}, &list, &complete)
		for _, target := range list {
			f.transfer(ins, target.memory, f.a.carriersIn(target.typ))
		}
		if complete {
			return
		}
	}
	if to, ok := f.elementsOf(in); ok {
		f.transfer(ins, to.memory, carriers)
		return
	}
	f.transfer(ins, memory{}, carriers)
}

// captures records what a literal captures that is not only called where it stands.
func (f *function) captures(closure *ssa.MakeClosure) {
	if calledOnly(closure) {
		return
	}
	key := signatureKey(closure.Fn.(*ssa.Function).Signature)
	f.a.captured[key] = append(f.a.captured[key], f.bound(closure)...)
}

// bound returns what a literal, or a method value, has captured.
func (f *function) bound(closure *ssa.MakeClosure) (out []carrier) {
	for _, bound := range closure.Bindings {
		if at, ok := f.at(bound); ok {
			out = append(out, carrier{object: at.memory})
		}
		out = append(out, f.a.carriersIn(bound.Type())...)
		out = append(out, f.a.carriersIn(ssaload.Deref(bound.Type()))...)
	}
	return out
}

// carriersOf returns what a value leads to.
func (f *function) carriersOf(v ssa.Value) []carrier {
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return f.carriersOf(v.X)
	case *ssa.MakeClosure:
		return f.bound(v)
	case *ssa.Function, *ssa.Const:
		return nil
	case *ssa.Slice:
		if array, ok := v.X.(*ssa.Alloc); ok && array.Comment == "varargs" {
			var out []carrier
			for _, ref := range *array.Referrers() {
				if at, ok := ref.(*ssa.IndexAddr); ok {
					for _, use := range *at.Referrers() {
						if store, ok := use.(*ssa.Store); ok {
							out = append(out, f.carriersOf(store.Val)...)
						}
					}
				}
			}
			return append(out, carrier{object: pooled(ssaload.Deref(array.Type()).Underlying().(*types.Array).Elem())})
		}
	}
	return f.a.carriersIn(v.Type())
}

// passed records what is passed to code that the analysis does not see, which may store it anywhere.
func (f *function) passed(call ssa.CallInstruction) {
	common := call.Common()
	if b, ok := common.Value.(*ssa.Builtin); ok {
		if slice, ok := elementType(common.Args); ok && (b.Name() == "append" || b.Name() == "copy") {
			f.storedIn(call, common.Args[0], f.a.carriersIn(slice))
		}
		return
	}
	callee := common.StaticCallee()
	if callee != nil && f.a.byID[f.a.id(callee)] != nil || static.Known(static.Func(callee)).Has(static.HandsOver) || f.followed(call) {
		return
	}
	if op, _ := lockOperation(common); op != static.NoLockOp {
		return
	}
	for _, arg := range common.Args {
		t := arg.Type()
		if callee == nil && f.onlyOurs(t) {
			continue // a type that only functions of the program have in their signatures
		}
		f.transferTo(call, f.carriersOf(arg), "it is passed to "+calleeName(common)+", whose code is not followed")
	}
}

// followed reports whether a call through an interface calls functions of the program only.
func (f *function) followed(ins ssa.CallInstruction) bool {
	call, ok := ins.(*ssa.Call)
	if !ok || !call.Call.IsInvoke() {
		return false
	}
	_, complete := f.a.boxes.called(f, call)
	return complete
}

func (f *function) transferTo(ins ssa.Instruction, carriers []carrier, text string) {
	if len(carriers) > 0 {
		f.a.transfers = append(f.a.transfers, transfer{carriers, memory{}, Reason{f.position(ins), text}, f, ins})
	}
}

// onlyOurs reports whether a type is named by the program, so that functions of other packages cannot take it.
func (f *function) onlyOurs(t types.Type) bool {
	for {
		switch u := types.Unalias(t).(type) {
		case *types.Pointer:
			t = u.Elem()
			continue
		case *types.Slice:
			t = u.Elem()
			continue
		case *types.Named:
			return u.Obj().Pkg() != nil && f.a.declares(u.Obj().Pkg())
		}
		return false
	}
}

func elementType(args []ssa.Value) (types.Type, bool) {
	if len(args) == 0 {
		return nil, false
	}
	slice, ok := args[0].Type().Underlying().(*types.Slice)
	if !ok {
		return nil, false
	}
	return slice.Elem(), true
}

func calleeName(call *ssa.CallCommon) string {
	if callee := call.StaticCallee(); callee != nil {
		if fn, ok := callee.Object().(*types.Func); ok {
			return fn.FullName()
		}
		return callee.Name()
	}
	if call.IsInvoke() {
		return "method " + call.Method.Name() + " of an interface"
	}
	return "a function value"
}

// foreignArguments reports whether an address is in the array of the last arguments of a call of a function of
// another package. It is made for this call.
func foreignArguments(address ssa.Value) bool {
	element, ok := address.(*ssa.IndexAddr)
	if !ok {
		return false
	}
	array, ok := element.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" {
		return false
	}
	for _, ref := range *array.Referrers() {
		slice, ok := ref.(*ssa.Slice)
		if !ok {
			continue
		}
		for _, use := range *slice.Referrers() {
			call, ok := use.(ssa.CallInstruction)
			if !ok || call.Common().StaticCallee() == nil || call.Common().StaticCallee().Blocks != nil {
				return false
			}
			callee := call.Common().StaticCallee()
			if callee.Object() == nil || callee.Object().Pkg() == nil || callee.Object().Pkg() == array.Parent().Pkg.Pkg {
				return false
			}
			if strings.Contains(callee.Object().Pkg().Path(), ".") && !static.Known(static.Func(callee)).Has(static.HandsOver) {
				return false
			}
		}
	}
	return true
}
