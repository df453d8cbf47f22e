package ownership

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// collectExposed finds accesses that the analysis does not see: through pointers to single variables, by reflection, by
// code of other packages, by unsafe and by the wrappers that the compiler makes.
func (f *function) collectExposed(ins ssa.Instruction) {
	f.addresses(ins)
	f.wrapperUsed(ins)
	switch ins := ins.(type) {
	case *ssa.UnOp:
		if ins.Op == token.MUL {
			f.loaded(ins)
		}
	case *ssa.Store:
		f.replaced(ins)
	case *ssa.MakeInterface:
		f.wrapped(ins)
		if i, ok := ins.Type().Underlying().(*types.Interface); ok && i.NumMethods() == 0 {
			f.reflected(ins, ins.X.Type(), ins.Referrers())
		}
	case *ssa.ChangeInterface:
		if i, ok := ins.Type().Underlying().(*types.Interface); ok && i.NumMethods() == 0 {
			f.reflected(ins, ins.X.Type(), ins.Referrers())
		}
	case *ssa.TypeAssert:
		if i, ok := ins.AssertedType.Underlying().(*types.Interface); ok && i.NumMethods() == 0 {
			f.reflected(ins, ins.X.Type(), ins.Referrers())
		}
	case *ssa.Convert:
		f.convertedUnsafely(ins)
	case *ssa.ChangeType:
		f.changed(ins)
	case *ssa.MultiConvert:
		f.exposeAll(ins, ins.X.Type(), "it is converted by generic code")
	case ssa.CallInstruction:
		f.foreign(ins)
	}
}

// addresses finds pointers to variables that are used for more than accesses which the analysis sees.
func (f *function) addresses(ins ssa.Instruction) {
	switch ins := ins.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.DebugRef, *ssa.ChangeType:
		return
	case *ssa.Phi:
		if isChoice(ins) {
			return
		}
	case *ssa.MakeClosure:
		if ins.Fn.(*ssa.Function).Syntax() != nil {
			return // literals capture local variables
		}
	case ssa.CallInstruction:
		if ssaload.IsAtomic(ins.Common().StaticCallee()) {
			return
		}
	}
	for _, operand := range ins.Operands(nil) {
		v := *operand
		if store, ok := ins.(*ssa.Store); ok && operand == &store.Addr {
			continue
		}
		switch v.(type) {
		case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Global, *ssa.Alloc, *ssa.FreeVar:
		default:
			continue
		}
		if _, isPointer := v.Type().Underlying().(*types.Pointer); !isPointer {
			continue
		}
		f.addressTaken(ins, v)
	}
}

func (f *function) addressTaken(ins ssa.Instruction, v ssa.Value) {
	t := ssaload.Deref(v.Type())
	if selfSynchronized(t) {
		return
	}
	array, isArray := t.Underlying().(*types.Array)
	if f.a.aggregate(t) {
		return // its fields are memory of their own
	}
	at, ok := f.at(v)
	if !ok {
		return
	}
	if isArray {
		pool := pooled(array.Elem())
		if at.memory == pool {
			return // a local array that is sliced
		}
		f.problem(pool, ins, "slices of arrays may lead to them")
	}
	f.leadsTo(at, t, ins, "its address is taken")
}

// wrapped exposes what the compiler's wrappers of promoted methods, and of methods with values as receivers, read.
func (f *function) wrapped(box *ssa.MakeInterface) {
	f.wrappers(box, box.X.Type())
}

func (f *function) wrappers(ins ssa.Instruction, t types.Type) {
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		sel := set.At(i)
		fn, ok := sel.Obj().(*types.Func)
		if !ok {
			continue
		}
		_, pointerReceiver := types.Unalias(fn.Signature().Recv().Type()).(*types.Pointer)
		at := t
		for _, i := range sel.Index()[:len(sel.Index())-1] {
			st, ok := ssaload.StructOf(ssaload.Deref(at))
			if !ok {
				break
			}
			field := st.Field(i)
			if in, ok := f.a.ours(ssaload.Deref(at)); ok {
				in.Name = field.Name()
				if !f.a.aggregate(field.Type()) {
					f.problem(memory{Variable: in}, ins, "a method is promoted through it and called through an interface")
				}
			}
			at = field.Type()
		}
		if isPointer(at) && !pointerReceiver && (len(sel.Index()) > 1 || !f.a.boxes.tracks(t)) {
			f.exposePointed(ins, ssaload.Deref(at), "a method whose receiver is a copy is called through an interface")
		}
		if isPointer(at) && !pointerReceiver || len(sel.Index()) > 1 && !pointerReceiver {
			f.exposeFields(ins, ssaload.Deref(at), "a method whose receiver is a copy is called through an interface")
		}
	}
}

// exposeFields says that all fields in a value of a type may be accessed.
func (f *function) exposeFields(ins ssa.Instruction, t types.Type, text string) {
	if selfSynchronized(t) {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		f.exposeFields(ins, u.Elem(), text)
	case *types.Struct:
		in, ok := f.a.ours(t)
		if !ok {
			return
		}
		f.exposeIn(ins, u, memory{Variable: in}, text)
	}
}

func (f *function) exposeIn(ins ssa.Instruction, st *types.Struct, in memory, text string) {
	for i := range st.NumFields() {
		field, m := st.Field(i), in
		if m.Name != "" {
			m.Name += "."
		}
		m.Name += field.Name()
		inner, anonymous := types.Unalias(field.Type()).(*types.Struct)
		switch {
		case anonymous:
			f.exposeIn(ins, inner, m, text)
		case f.a.aggregate(field.Type()):
			f.exposeFields(ins, field.Type(), text)
		case !selfSynchronized(field.Type()):
			f.problem(m, ins, text)
		}
	}
}

// exposeAll says that everything may be accessed to which a value of a type leads.
func (f *function) exposeAll(ins ssa.Instruction, t types.Type, text string) {
	seen := map[types.Type]bool{}
	var follow func(t types.Type)
	follow = func(t types.Type) {
		if seen[t] || selfSynchronized(t) {
			return
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			f.exposePointed(ins, u.Elem(), text)
			follow(u.Elem())
		case *types.Slice:
			f.problem(pooled(u.Elem()), ins, text)
			follow(u.Elem())
		case *types.Array:
			follow(u.Elem())
		case *types.Map:
			f.problem(pooledMap(u), ins, text)
			follow(u.Key())
			follow(u.Elem())
		case *types.Struct:
			if _, ok := f.a.ours(t); ok {
				f.exposeFields(ins, t, text)
			}
			for i := range u.NumFields() {
				if in, ok := f.a.ours(t); ok && hasElements(u.Field(i).Type()) {
					in.Name = u.Field(i).Name()
					f.alias(memory{Variable: in}, ins, text)
				}
				follow(u.Field(i).Type())
			}
		case *types.Interface:
			if _, isParam := types.Unalias(t).(*types.TypeParam); !isParam {
				f.a.widened = append(f.a.widened, widening{f, ins, methodNames(u), text})
			}
		}
	}
	follow(t)
}

// widening says that everything may be accessed that is in interfaces with some methods.
type widening struct {
	f       *function
	ins     ssa.Instruction
	methods string
	text    string
}

// exposeWidened exposes what is in interfaces of which everything may be accessed.
func (a *analysis) exposeWidened() {
	done := map[string]bool{}
	for len(a.widened) > 0 {
		w := a.widened[0]
		a.widened = a.widened[1:]
		if done[w.methods] {
			continue
		}
		done[w.methods] = true
		for _, b := range a.boxed {
			if b.has(w.methods) && !a.boxes.tracks(b.typ) {
				w.f.exposeAll(w.ins, b.typ, w.text)
			}
		}
	}
}

// reflected exposes what is converted to the empty interface, unless it is known what becomes of it.
func (f *function) reflected(ins ssa.Instruction, t types.Type, refs *[]ssa.Instruction) {
	if !inGeneric(f.fn) && f.a.boxes.complete(ins.(ssa.Value)) {
		return // values of tracked types
	}
	for _, ref := range *refs {
		if by := reflects(ref); by != "" {
			f.exposeAll(ins, t, "it is passed to "+by+", which may access it by reflection")
			return
		}
	}
}

// reflects returns by what an instruction may let a value in an interface be accessed by reflection, or "".
func reflects(ins ssa.Instruction) string {
	var callee *ssa.Function
	switch ins := ins.(type) {
	case *ssa.TypeAssert, *ssa.DebugRef, *ssa.BinOp, *ssa.If, *ssa.Panic:
		return ""
	case *ssa.Store: // as an argument of a variadic function, or in a variable
		callee = variadicCallee(ins)
	case ssa.CallInstruction:
		callee = ins.Common().StaticCallee()
	}
	if callee == nil {
		return "code that is not known"
	}
	name := calleeName(&ssa.CallCommon{Value: callee})
	for _, prefix := range []string{"sync.", "(*sync.", "(*sync/atomic.", "container/", "(*container/", "context.WithValue", "errors.", "runtime.SetFinalizer", "runtime.KeepAlive"} {
		if strings.HasPrefix(name, prefix) {
			return ""
		}
	}
	return name
}

// variadicCallee returns the function to which a value is passed that is stored in the slice for its last
// parameter, or nil.
func variadicCallee(store *ssa.Store) *ssa.Function {
	element, ok := store.Addr.(*ssa.IndexAddr)
	if !ok {
		return nil
	}
	array, ok := element.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" {
		return nil
	}
	for _, ref := range *array.Referrers() {
		if slice, ok := ref.(*ssa.Slice); ok {
			for _, use := range *slice.Referrers() {
				if call, ok := use.(ssa.CallInstruction); ok {
					return call.Common().StaticCallee()
				}
			}
		}
	}
	return nil
}

// foreign exposes the elements of what is passed to, or returned by, code that the analysis does not see.
func (f *function) foreign(call ssa.CallInstruction) {
	common := call.Common()
	if _, ok := common.Value.(*ssa.Builtin); ok {
		return
	}
	callee := common.StaticCallee()
	if callee != nil && f.a.byID[f.a.id(callee)] != nil || ssaload.IsAtomic(callee) || f.followed(call) {
		return
	}
	text := "it is shared with " + calleeName(common)
	var expose func(t types.Type)
	expose = func(t types.Type) {
		switch u := t.Underlying().(type) {
		case *types.Slice:
			f.problem(pooled(u.Elem()), call, text)
			expose(u.Elem())
		case *types.Map:
			f.problem(pooledMap(u), call, text)
			expose(u.Elem())
		case *types.Pointer:
			if array, ok := u.Elem().Underlying().(*types.Array); ok {
				f.problem(pooled(array.Elem()), call, text)
			}
		case *types.Tuple:
			for v := range u.Variables() {
				expose(v.Type())
			}
		}
	}
	for _, arg := range common.Args {
		if slice, ok := arg.(*ssa.Slice); ok {
			if array, ok := slice.X.(*ssa.Alloc); ok && array.Comment == "varargs" {
				continue
			}
		}
		if callee == nil && f.onlyOurs(arg.Type()) {
			continue
		}
		expose(arg.Type())
	}
	expose(common.Signature().Results())
}

// exposeInstances exposes what generic code accesses without naming its type: the fields of type arguments, and the
// elements of slices and maps.
func (a *analysis) exposeInstances(in *source) {
	for id, instance := range in.pkg.TypesInfo.Instances {
		at := a.position(id.Pos())
		const text = "generic code accesses it"
		for t := range instance.TypeArgs.Types() {
			for _, m := range a.structsIn(t) {
				if named := a.structs[m.Variable]; named != nil {
					a.exposeNamed(at, named, text)
				}
			}
		}
		a.exposePools(instance.Type, at, text, map[types.Type]bool{})
	}
}

func (a *analysis) exposePools(t types.Type, at Position, text string, seen map[types.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	each := func(t types.Type) { a.exposePools(t, at, text, seen) }
	exposed := func(m memory) {
		v := a.variable(m)
		v.problems = append(v.problems, Reason{at, text})
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		each(u.Elem())
	case *types.Slice:
		exposed(pooled(u.Elem()))
		each(u.Elem())
	case *types.Array:
		exposed(pooled(u.Elem()))
		each(u.Elem())
	case *types.Map:
		exposed(pooledMap(u))
		each(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			each(field.Type())
		}
	case *types.Signature:
		for v := range u.Params().Variables() {
			each(v.Type())
		}
		for v := range u.Results().Variables() {
			each(v.Type())
		}
	}
}

func (a *analysis) exposeNamed(at Position, n *types.Named, text string) {
	in, ok := a.ours(n)
	if !ok {
		return
	}
	var each func(st *types.Struct, name string)
	each = func(st *types.Struct, name string) {
		for i := range st.NumFields() {
			field := st.Field(i)
			if inner, ok := types.Unalias(field.Type()).(*types.Struct); ok {
				each(inner, name+field.Name()+".")
				continue
			}
			m := memory{Variable: in}
			m.Name = name + field.Name()
			v := a.variable(m)
			v.problems = append(v.problems, Reason{at, text})
			if hasElements(field.Type()) {
				m.elements = true
				if v := a.variable(m); v.aliased == nil {
					v.aliased = &Reason{at, text}
				}
			}
		}
	}
	each(n.Underlying().(*types.Struct), "")
}

// convertedUnsafely exposes what pointers point to that are converted to or from an unsafe.Pointer.
func (f *function) convertedUnsafely(c *ssa.Convert) {
	if isUnsafe(c.Type()) {
		f.exposeAll(c, c.X.Type(), "a pointer is converted to an unsafe.Pointer")
	}
	if isUnsafe(c.X.Type()) {
		f.exposeAll(c, c.Type(), "a pointer is converted from an unsafe.Pointer")
	}
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// changed exposes struct types between which a pointer is converted: a variable then has two names.
func (f *function) changed(c *ssa.ChangeType) {
	from, to := c.X.Type(), c.Type()
	if types.Identical(from, to) {
		return
	}
	fromName, fromNamed := types.Unalias(from).(*types.Named)
	toName, toNamed := types.Unalias(to).(*types.Named)
	_, fromStruct := from.Underlying().(*types.Struct)
	if fromStruct || fromNamed && !toNamed && fromName != nil || !fromNamed && toNamed && toName != nil {
		if !isPointer(from) && !isPointer(to) {
			return // a copy, or a slice, map or function under another name
		}
	}
	if isPointer(from) || isPointer(to) {
		f.exposeAll(c, from, "a pointer is converted to one to another type")
		f.exposeAll(c, to, "a pointer is converted to one to another type")
	}
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}
