package ownership

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Position is a place in the source.
type Position struct {
	File string // absolute
	Line int
}

// Reason says why something could not be proved.
type Reason struct {
	Position
	Text string
}

func (r Reason) String() string { return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text) }

// access is an instruction that reads or writes memory.
type access struct {
	target
	f      *function
	ins    ssa.Instruction
	write  bool
	atomic bool
	locks  locksAt

	via carrying // of a copy that a call through an interface makes: which calls of the function are meant

	rests []memory // what must be safe for fresh to be right

	fresh bool // nobody else knows the object yet, or no other goroutine runs
	alone bool // no other goroutine runs, see alone.go
	local bool // nobody else ever knows the object, see local.go
}

// harmless reports whether no access of another goroutine can race with this one, whatever the memory is.
func (a *access) harmless() bool { return a.alone || a.local }

// variable is what the analysis knows about memory.
type variable struct {
	memory
	typ      types.Type
	accesses []*access
	problems []Reason // why accesses that are not seen are possible
	aliased  *Reason  // of elements: why another variable may have them too
}

func (a *analysis) variable(m memory) *variable {
	v := a.variables[m]
	if v == nil {
		v = &variable{memory: m}
		a.variables[m] = v
	}
	return v
}

// orphan is an access that is not attributed to memory, or a line of which more is accessed than is known.
type orphan struct {
	f           *function
	ins         ssa.Instruction
	read, write bool
}

// collect finds the accesses, calls and other uses of memory in a function.
func (f *function) collect() {
	f.walk(func(ins ssa.Instruction, s locksAt) {
		f.collectAccess(ins, s)
		f.collectTransfers(ins)
		f.collectExposed(ins)
		if c, ok := ins.(ssa.CallInstruction); ok {
			if callee := c.Common().StaticCallee(); callee != nil {
				if to := f.a.byID[f.a.id(callee)]; to != nil {
					to.callers = append(to.callers, &call{caller: f, ins: c, locks: s})
				}
			} else if c.Common().IsInvoke() {
				f.collectInvoke(c, s)
			}
		}
	})
}

// collectInvoke adds a call through an interface to the calls of the methods that it may call. If one has a copy of what
// the interface points to, it is read here.
func (f *function) collectInvoke(ins ssa.CallInstruction, s locksAt) {
	value, ok := ins.(*ssa.Call)
	if !ok {
		return
	}
	methods, _ := f.a.boxes.called(f, value)
	for t, to := range methods {
		if to == nil {
			continue
		}
		c := &call{caller: f, ins: ins, locks: s, boxed: t}
		to.callers = append(to.callers, c)
		if m, ok := f.a.copied(t.methods[value.Call.Method.Name()]); ok {
			f.add(ins, target{memory: m, typ: ssaload.Deref(t.typ)}, false, false, s)
			f.accesses[len(f.accesses)-1].via = c.by(carrying{})
		}
	}
}

func (f *function) collectAccess(ins ssa.Instruction, s locksAt) {
	switch ins := ins.(type) {
	case *ssa.UnOp:
		switch ins.Op {
		case token.MUL:
			f.accessAt(ins, ins.X, false, s)
		case token.ARROW:
			f.orphan(ins, true, true)
		}
	case *ssa.Store:
		f.accessAt(ins, ins.Addr, true, s)
	case *ssa.Lookup:
		f.elements(ins, ins.X, false, s)
	case *ssa.MapUpdate:
		f.elements(ins, ins.Map, true, s)
	case *ssa.Range:
		f.elements(ins, ins.X, false, s)
	case *ssa.Next:
		if over, ok := ins.Iter.(*ssa.Range); ok {
			f.elements(ins, over.X, false, s)
		}
	case *ssa.Convert:
		f.converted(ins, s)
	case *ssa.SliceToArrayPointer, *ssa.Send, *ssa.Select:
		f.orphan(ins, true, true)
	case *ssa.Call:
		f.builtin(ins, &ins.Call, s)
	case *ssa.Defer:
		f.builtin(ins, &ins.Call, locksAt{}.release(anyClass))
	case *ssa.Go:
		f.builtin(ins, &ins.Call, locksAt{}.release(anyClass))
	}
}

// converted adds the accesses of conversions between slices and strings.
func (f *function) converted(c *ssa.Convert, s locksAt) {
	if _, fromSlice := c.X.Type().Underlying().(*types.Slice); fromSlice {
		f.elements(c, c.X, false, s)
	}
}

// full reports whether a slice is one to which nothing can be appended in place, as in x[:n:n]: append then writes to new
// memory only. That rests on the variables from which the two bounds are read, since both must have the same value.
func (f *function) full(v ssa.Value) (rests []memory, ok bool) {
	s, isSlice := v.(*ssa.Slice)
	if !isSlice || s.High == nil || s.Max == nil {
		return nil, false
	}
	if s.High == s.Max {
		return nil, true
	}
	if !sameLength(s.High, s.Max) {
		return nil, false
	}
	first, ok := s.High.(*ssa.Call).Call.Args[0].(ssa.Instruction)
	if !ok || first.Block() != s.Block() {
		return nil, false
	}
	began := false
	for _, ins := range s.Block().Instrs {
		began = began || ins == first || ins == s.Max.(*ssa.Call).Call.Args[0].(ssa.Instruction)
		if ins == ssa.Instruction(s) {
			break
		}
		if !began {
			continue
		}
		switch ins := ins.(type) {
		case *ssa.FieldAddr, *ssa.DebugRef:
		case *ssa.Call:
			if b, isBuiltin := ins.Call.Value.(*ssa.Builtin); !isBuiltin || b.Name() != "len" {
				return nil, false
			}
		case *ssa.UnOp:
			if ins.Op != token.MUL {
				return nil, false
			}
			at, known := f.at(ins.X)
			if !known {
				return nil, false
			}
			rests = append(rests, at.memory)
		default:
			return nil, false
		}
	}
	return rests, began
}

// sameLength reports whether both values are lengths of slices that are loaded from the same variable.
func sameLength(x, y ssa.Value) bool {
	load := func(v ssa.Value) *ssa.UnOp {
		call, ok := v.(*ssa.Call)
		if !ok {
			return nil
		}
		if b, ok := call.Call.Value.(*ssa.Builtin); !ok || b.Name() != "len" {
			return nil
		}
		load, _ := call.Call.Args[0].(*ssa.UnOp)
		return load
	}
	p, q := load(x), load(y)
	return p != nil && q != nil && p.Block() == q.Block() && ssaload.SameValue(p, q)
}

func (f *function) orphan(ins ssa.Instruction, read, write bool) {
	f.a.orphans = append(f.a.orphans, orphan{f, ins, read, write})
}

// accessAt adds the access to what is at an address: all fields, if that is a struct.
func (f *function) accessAt(ins ssa.Instruction, address ssa.Value, write bool, s locksAt) {
	if onStack(address) {
		// The fields are memory that other objects have too, but this object is no problem.
		return
	}
	list, complete := f.chosen(ssaload.Deref(address.Type()), address)
	for _, t := range list {
		f.add(ins, t, write, false, s)
	}
	if !complete && !f.in.publish.private(address) {
		f.orphan(ins, !write, write)
	}
}

// onStack reports whether an address is in a local variable of which no pointer is taken.
func onStack(address ssa.Value) bool {
	for {
		switch at := address.(type) {
		case *ssa.FieldAddr:
			address = at.X
		case *ssa.IndexAddr:
			if _, isSlice := at.X.Type().Underlying().(*types.Slice); isSlice {
				return false
			}
			address = at.X
		case *ssa.Alloc:
			return !at.Heap
		default:
			return false
		}
	}
}

// elements adds an access to the elements of a map or slice.
func (f *function) elements(ins ssa.Instruction, of ssa.Value, write bool, s locksAt) {
	slice, isSlice := of.Type().Underlying().(*types.Slice)
	if isSlice && f.a.aggregate(slice.Elem()) {
		list, complete := []target{}, true
		f.fields(slice.Elem(), of, place{}, &list, &complete)
		for _, t := range list {
			f.add(ins, t, write, false, s)
		}
		if !complete {
			f.orphan(ins, !write, write)
		}
		return
	}
	if t, ok := f.elementsOf(of); ok {
		f.add(ins, t, write, false, s)
	} else if _, isString := of.Type().Underlying().(*types.Basic); !isString {
		f.orphan(ins, true, true)
	}
}

// builtin adds the accesses of builtin functions and atomic operations.
func (f *function) builtin(ins ssa.Instruction, call *ssa.CallCommon, s locksAt) {
	args := call.Args
	if callee := call.StaticCallee(); ssaload.IsAtomic(callee) {
		f.orphan(ins, true, true)
		if len(args) > 0 && callee.Signature.Recv() == nil {
			if t, ok := f.at(args[0]); ok {
				t.typ = ssaload.Deref(args[0].Type())
				f.add(ins, t, !strings.HasPrefix(callee.Name(), "Load"), true, s)
			}
		}
		return
	}
	b, ok := call.Value.(*ssa.Builtin)
	if !ok {
		return
	}
	switch b.Name() {
	case "append", "copy":
		before := len(f.accesses)
		f.elements(ins, args[0], true, s)
		if rests, full := f.full(args[0]); full && b.Name() == "append" {
			for _, x := range f.accesses[before:] {
				x.fresh, x.rests = true, rests
			}
		}
		f.elements(ins, args[0], false, s)
		if len(args) > 1 {
			f.elements(ins, args[1], false, s)
		}
	case "delete", "clear":
		f.elements(ins, args[0], true, s)
		f.elements(ins, args[0], false, s)
	case "len":
		if _, ok := args[0].Type().Underlying().(*types.Map); ok {
			f.elements(ins, args[0], false, s)
		}
	case "close", "print", "println", "ssa:wrapnilchk", "cap", "real", "imag", "complex", "min", "max", "panic":
		if b.Name() == "close" {
			f.orphan(ins, true, true)
		}
	default:
		f.orphan(ins, true, true)
	}
}

// add adds an access.
func (f *function) add(ins ssa.Instruction, t target, write, atomic bool, s locksAt) {
	a := &access{target: t, f: f, ins: ins, write: write, atomic: atomic, locks: s}
	a.fresh = f.initializes || t.base != nil && f.in.publish.unpublished(t.base, ins)
	f.accesses = append(f.accesses, a)
	v := f.a.variable(t.memory)
	v.accesses = append(v.accesses, a)
	if v.typ == nil {
		v.typ = t.typ
	}
}

// at returns the position of an instruction, or of one close to it.
func (f *function) position(ins ssa.Instruction) Position {
	pos := ins.Pos()
	if spot := f.in.spots.Of(ins); spot != nil {
		if _, write := ins.(*ssa.Store); write && spot.Write.IsValid() {
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

// problem says that memory may be accessed where the analysis does not see it.
func (f *function) problem(m memory, at ssa.Instruction, text string) {
	v := f.a.variable(m)
	if len(v.problems) < 8 {
		v.problems = append(v.problems, Reason{f.position(at), text})
	}
}
