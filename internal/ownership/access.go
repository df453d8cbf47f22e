package ownership

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Position is a place in the source.
type Position struct {
	File string // absolute
	Line int
}

// access is an instruction that reads or writes a variable.
type access struct {
	f      *function
	ins    ssa.Instruction
	of     memory
	write  bool
	atomic bool
	at     Position

	object ssa.Value // the pointer to the struct value that has the variable, or nil if it is not known
	place  place     // of this struct value
	locks  locksAt

	unpublished bool // the function has made the object, and nobody else knows it yet
}

// variable is what the analysis knows about a variable, or about the elements that it has.
type variable struct {
	of       memory
	typ      types.Type
	accesses []*access
	problems []Reason // why accesses by paths that are not known are possible
}

// Reason says why something could not be proved.
type Reason struct {
	Position
	Text string
}

func (a *analysis) variable(m memory) *variable {
	v := a.variables[m]
	if v == nil {
		v = &variable{of: m}
		a.variables[m] = v
	}
	return v
}

// memoryAt returns the variable that a pointer points to.
func (f *function) memoryAt(pointer ssa.Value) (memory, bool) {
	m, _, ok := variableAt(ssaload.Pointee(pointer))
	return m, ok
}

// collect finds the accesses, calls and other uses of variables in a function.
func (f *function) collect() {
	f.walk(func(ins ssa.Instruction, s locksAt) {
		switch ins := ins.(type) {
		case *ssa.UnOp:
			if ins.Op == token.MUL {
				f.accessAt(ins, ins.X, false, s)
				f.loaded(ins)
			}
		case *ssa.Store:
			f.accessAt(ins, ins.Addr, true, s)
			f.stored(ins)
			f.replaced(ins)
		case *ssa.Lookup:
			f.elements(ins, ins.X, false, s)
		case *ssa.MapUpdate:
			f.elements(ins, ins.Map, true, s)
			f.storedIn(ins, ins.Map, ins.Value.Type())
			f.storedIn(ins, ins.Map, ins.Key.Type())
		case *ssa.Range:
			f.elements(ins, ins.X, false, s)
		case *ssa.Next:
			if over, ok := ins.Iter.(*ssa.Range); ok {
				f.elements(ins, over.X, false, s)
			}
		case *ssa.Call:
			f.builtin(ins, s)
			f.called(ins, s)
		case *ssa.Go, *ssa.Defer:
			f.called(ins.(ssa.CallInstruction), s)
		case *ssa.MakeInterface:
			f.converted(ins)
		case *ssa.MakeClosure:
			f.captures(ins)
		case *ssa.Convert:
			f.convertedUnsafely(ins)
		case *ssa.ChangeType:
			f.changed(ins)
		}
		f.addresses(ins)
	})
}

// accessAt adds the access to what is at an address: all fields, if that is a struct.
func (f *function) accessAt(ins ssa.Instruction, address ssa.Value, write bool, s locksAt) {
	t := ssaload.Deref(address.Type())
	if aggregate(t) {
		f.eachField(t, address, func(m memory, object ssa.Value) { f.add(ins, m, object, write, false, s) })
		return
	}
	if m, ok := f.memoryAt(address); ok {
		f.add(ins, m, structOf(address), write, false, s)
		f.a.variable(m).typ = t
	}
}

// aggregate reports whether a type has fields.
func aggregate(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Struct:
		return true
	case *types.Array:
		return aggregate(t.Elem())
	}
	return false
}

// eachField calls visit for the fields of the struct, or array of structs, at an address. The address is nil if
// it is not known.
func (f *function) eachField(t types.Type, address ssa.Value, visit func(m memory, object ssa.Value)) {
	if array, ok := t.Underlying().(*types.Array); ok {
		f.eachField(array.Elem(), nil, visit)
		return
	}
	n := ssaload.Named(t)
	var in memory
	object := address
	if n != nil {
		if selfSynchronized(t) {
			return
		}
		name, ok := typeName(n)
		if !ok {
			return
		}
		in.Variable = name
	} else if address != nil {
		if m, ok := f.memoryAt(address); ok && !m.elements {
			in, object = m, structOf(address)
			if in.Type == "" {
				in.Type, in.Name = in.Name, ""
			}
		}
	}
	if in.Package != "" {
		f.fieldsOf(t, in, object, visit)
	}
}

func (f *function) fieldsOf(t types.Type, in memory, object ssa.Value, visit func(m memory, object ssa.Value)) {
	st, ok := ssaload.StructOf(t)
	if !ok {
		return
	}
	for i := range st.NumFields() {
		field, m := st.Field(i), in
		if m.Name != "" {
			m.Name += "."
		}
		m.Name += field.Name()
		switch {
		case field.Name() == "_" || selfSynchronized(field.Type()):
		case !aggregate(field.Type()):
			f.a.variable(m).typ = field.Type()
			visit(m, object)
		case ssaload.Named(field.Type()) == nil && !isArray(field.Type()):
			f.fieldsOf(field.Type(), m, object, visit)
		default:
			f.eachField(field.Type(), nil, visit)
		}
	}
}

func isArray(t types.Type) bool {
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// selfSynchronized reports whether a type is one of sync or sync/atomic.
func selfSynchronized(t types.Type) bool {
	n := ssaload.Named(t)
	return n != nil && n.Obj().Pkg() != nil && (n.Obj().Pkg().Path() == "sync" || n.Obj().Pkg().Path() == "sync/atomic")
}

// elements adds an access to the elements of a map or slice.
func (f *function) elements(ins ssa.Instruction, of ssa.Value, write bool, s locksAt) {
	switch t := of.Type().Underlying().(type) {
	case *types.Map:
		if aggregate(t.Elem()) {
			f.eachField(t.Elem(), nil, func(m memory, object ssa.Value) { f.add(ins, m, object, write, false, s) })
		}
	case *types.Slice:
		if aggregate(t.Elem()) {
			f.eachField(t.Elem(), nil, func(m memory, object ssa.Value) { f.add(ins, m, object, write, false, s) })
		}
	default:
		return // a string
	}
	if load, ok := of.(*ssa.UnOp); ok && load.Op == token.MUL {
		if m, ok := f.memoryAt(load.X); ok {
			m.elements = true
			f.add(ins, m, structOf(load.X), write, false, s)
		}
	}
}

// builtin adds the accesses of builtin functions and atomic operations.
func (f *function) builtin(call *ssa.Call, s locksAt) {
	args := call.Call.Args
	if callee := call.Call.StaticCallee(); ssaload.IsAtomic(callee) && len(args) > 0 {
		if m, ok := f.memoryAt(args[0]); ok {
			write := len(callee.Name()) < 4 || callee.Name()[:4] != "Load"
			f.add(call, m, structOf(args[0]), write, true, s)
			f.a.variable(m).typ = ssaload.Deref(args[0].Type())
		}
		return
	}
	b, ok := call.Call.Value.(*ssa.Builtin)
	if !ok {
		return
	}
	switch b.Name() {
	case "append", "copy":
		f.elements(call, args[0], true, s)
		if len(args) > 1 {
			f.elements(call, args[1], false, s)
		}
		if slice, ok := args[0].Type().Underlying().(*types.Slice); ok {
			f.storedIn(call, args[0], slice.Elem())
		}
	case "delete", "clear":
		f.elements(call, args[0], true, s)
	case "len":
		if _, ok := args[0].Type().Underlying().(*types.Map); ok {
			f.elements(call, args[0], false, s)
		}
	}
}

// add adds an access.
func (f *function) add(ins ssa.Instruction, m memory, object ssa.Value, write, atomic bool, s locksAt) {
	a := &access{f: f, ins: ins, of: m, write: write, atomic: atomic, at: f.at(ins, write), object: object, locks: s}
	if object != nil {
		a.place = f.places.of(object)
		a.unpublished = f.in.publish.unpublished(object, ins)
	}
	f.accesses = append(f.accesses, a)
	v := f.a.variable(m)
	v.accesses = append(v.accesses, a)
}

// at returns the line of an instruction, as the compiler tells it.
func (f *function) at(ins ssa.Instruction, write bool) Position {
	pos := ins.Pos()
	if spot := f.in.spots.Of(ins); spot != nil {
		if write && spot.Write.IsValid() {
			pos = spot.Write
		} else if !write && spot.Read.IsValid() {
			pos = spot.Read
		}
	}
	if !pos.IsValid() {
		pos = near(ins)
	}
	return f.a.position(pos)
}

// near returns the position of an instruction close to one that has none.
func near(ins ssa.Instruction) token.Pos {
	found := token.NoPos
	for _, other := range ins.Block().Instrs {
		if other.Pos().IsValid() {
			found = other.Pos()
		}
		if other == ins && found.IsValid() {
			return found
		}
	}
	if found.IsValid() {
		return found
	}
	return ins.Parent().Pos()
}

// addresses finds pointers to variables that are used for more than accesses which the analysis sees.
func (f *function) addresses(ins ssa.Instruction) {
	switch ins := ins.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.DebugRef, *ssa.ChangeType:
		return
	case *ssa.Call:
		if ssaload.IsAtomic(ins.Call.StaticCallee()) {
			return
		}
	}
	for _, operand := range ins.Operands(nil) {
		v := *operand
		if store, ok := ins.(*ssa.Store); ok && operand == &store.Addr {
			continue
		}
		switch v.(type) {
		case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Global:
		default:
			continue
		}
		t := ssaload.Deref(v.Type())
		if _, isSlice := ins.(*ssa.Slice); !isSlice && aggregate(t) && (isNamedStruct(t) || isArray(t)) || selfSynchronized(t) {
			continue // its fields are variables of their own
		}
		if m, ok := f.memoryAt(v); ok {
			f.a.problem(m, f.at(ins, false), "its address is taken")
		}
	}
}

func isNamedStruct(t types.Type) bool {
	_, isStruct := ssaload.StructOf(t)
	return isStruct && ssaload.Named(t) != nil
}

// problem says that a variable may be accessed where the analysis does not see it.
func (a *analysis) problem(m memory, at Position, text string) {
	v := a.variable(m)
	v.problems = append(v.problems, Reason{at, text})
}

// loaded finds slices and maps that are used for more than accesses to their elements.
func (f *function) loaded(load *ssa.UnOp) {
	m, ok := f.memoryAt(load.X)
	if !ok || !hasElements(load.Type()) {
		return
	}
	for _, ref := range *load.Referrers() {
		switch ref := ref.(type) {
		case *ssa.IndexAddr, *ssa.Lookup, *ssa.Range, *ssa.BinOp, *ssa.DebugRef, *ssa.UnOp, *ssa.FieldAddr:
			continue
		case *ssa.MapUpdate:
			if ref.Map == load && ref.Value != load {
				continue
			}
		case *ssa.Store:
			if ref.Addr == load && ref.Val != load {
				continue
			}
		case *ssa.Call:
			if f.keepsElements(ref, load, m) {
				continue
			}
		}
		m.elements = true
		f.a.problem(m, f.at(load, false), "they are used elsewhere too")
		return
	}
}

// keepsElements reports whether a builtin function leaves the elements of a slice or map where they are, or puts
// them back to the same variable.
func (f *function) keepsElements(call *ssa.Call, of ssa.Value, m memory) bool {
	b, ok := call.Call.Value.(*ssa.Builtin)
	if !ok {
		return false
	}
	if b.Name() != "append" || call.Call.Args[0] != of {
		return true
	}
	for _, ref := range *call.Referrers() {
		store, ok := ref.(*ssa.Store)
		if !ok {
			return false
		}
		if to, ok := f.memoryAt(store.Addr); !ok || to != m {
			return false
		}
	}
	return true
}

// hasElements reports whether values of a type lead to other variables without names.
func hasElements(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Slice, *types.Map:
		return true
	case *types.Pointer:
		return !aggregate(t.Elem())
	}
	return false
}

// replaced finds slices and maps that are stored in a variable while they can be reached in another way.
func (f *function) replaced(store *ssa.Store) {
	m, ok := f.memoryAt(store.Addr)
	if !ok || !hasElements(store.Val.Type()) {
		return
	}
	if _, isConst := store.Val.(*ssa.Const); isConst || f.fromSame(store.Val, m) {
		return
	}
	makers, ok := f.in.publish.makers(store.Val)
	m.elements = true
	if !ok {
		f.a.problem(m, f.at(store, true), "they come from elsewhere")
		return
	}
	for _, maker := range makers {
		for _, ref := range *maker.Referrers() {
			if ref != store && ssaload.LeadsTo(store, ref, maker.(ssa.Instruction).Block()) {
				f.a.problem(m, f.at(store, true), "they are used elsewhere too")
				return
			}
		}
	}
}

// fromSame reports whether a value is what append returns for the variable's own value.
func (f *function) fromSame(v ssa.Value, m memory) bool {
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	b, ok := call.Call.Value.(*ssa.Builtin)
	if !ok || b.Name() != "append" {
		return false
	}
	load, ok := call.Call.Args[0].(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return false
	}
	from, ok := f.memoryAt(load.X)
	return ok && from == m
}
