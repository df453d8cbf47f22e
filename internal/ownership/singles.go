package ownership

import (
	"cmp"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// A type is single if there is at most one object of it, ever: one instruction makes it, which is executed once at most, or it is a
// package-level variable. A lock in such an object is known by its type, however a function reaches it.

// singleRoot is the root of the place of a lock that is known by its class.
const singleRoot = "single"

// singles finds the types that are single.
type singles struct {
	a      *analysis
	made   map[focus.Variable][]*ssa.Alloc // by what instructions
	global map[focus.Variable]int
	many   map[focus.Variable]bool
	in     map[types.Type][]memory // see containedIn
	once   map[*function]bool
}

// findSingles finds the locks that are in single objects.
func (a *analysis) findSingles() {
	s := &singles{a: a, made: map[focus.Variable][]*ssa.Alloc{}, global: map[focus.Variable]int{}, many: map[focus.Variable]bool{}, in: map[types.Type][]memory{}, once: map[*function]bool{}}
	for _, in := range a.packages {
		scope := in.pkg.Types.Scope()
		for _, name := range scope.Names() {
			if v, ok := scope.Lookup(name).(*types.Var); ok {
				for _, m := range s.containedIn(v.Type()) {
					s.global[m.Variable]++
				}
			}
		}
	}
	for _, f := range a.functions {
		for _, param := range f.fn.Params {
			s.value(param.Type())
		}
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				s.instruction(ins)
			}
		}
	}
	for class := range a.classes {
		of := focus.Variable{Package: class.Package, Type: class.Type}
		if class.other == "" && !class.elements && s.single(of) {
			a.singles = append(a.singles, class)
		}
	}
	slices.SortFunc(a.singles, func(x, y memory) int { return cmp.Compare(x.String(), y.String()) })
}

// containedIn returns the struct types of which there are values within a value of a type.
func (s *singles) containedIn(t types.Type) []memory {
	found, ok := s.in[t]
	if !ok {
		found = s.a.structsIn(t)
		s.in[t] = found
		s.arrays(t)
	}
	return found
}

// arrays finds arrays in a type: they have several values of their elements.
func (s *singles) arrays(t types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Array:
		s.several(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			s.arrays(field.Type())
		}
	}
}

// several says that there may be several values of a type.
func (s *singles) several(t types.Type) {
	for _, m := range s.containedIn(t) {
		s.many[m.Variable] = true
	}
}

// value says that there are values of a type outside of variables.
func (s *singles) value(t types.Type) {
	switch u := t.(type) {
	case *types.Tuple:
		for v := range u.Variables() {
			s.value(v.Type())
		}
		return
	case nil:
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		s.several(u.Elem())
	case *types.Map:
		s.several(u.Key())
		s.several(u.Elem())
	case *types.Chan:
		s.several(u.Elem())
	case *types.Struct, *types.Array:
		s.several(t)
	}
}

func (s *singles) instruction(ins ssa.Instruction) {
	v, ok := ins.(ssa.Value)
	if !ok {
		return
	}
	switch ins := ins.(type) {
	case *ssa.Alloc:
		for _, m := range s.containedIn(ssaload.Deref(ins.Type())) {
			s.made[m.Variable] = append(s.made[m.Variable], ins)
		}
		return
	case *ssa.Range, *ssa.Next:
		return
	case *ssa.Convert, *ssa.ChangeType, *ssa.MultiConvert, *ssa.SliceToArrayPointer:
		s.several(ssaload.Deref(v.Type()))
	}
	s.value(v.Type())
}

func (s *singles) single(of focus.Variable) bool {
	n := s.a.structs[of]
	if n == nil || n.TypeParams().Len() > 0 || s.many[of] || s.a.reflected[typeKey(n)] || s.global[of]+len(s.made[of]) != 1 {
		return false
	}
	if s.global[of] == 1 {
		return true
	}
	made := s.made[of][0]
	f := s.a.functionOf(made.Parent())
	return f != nil && f.fn == made.Parent() && !ssaload.Repeats(made.Block()) && s.runsOnce(f)
}

// runsOnce reports whether a function is called once at most.
func (s *singles) runsOnce(f *function) bool {
	if once, ok := s.once[f]; ok {
		return once
	}
	s.once[f] = false
	once := f.initializes || f.isMain() && len(f.callers) == 0 && !s.a.isTaken(f.id)
	if !once && !f.unknownCallers && !f.isMain() && len(f.callers) == 1 {
		c := f.callers[0]
		once = !ssaload.Repeats(c.ins.Block()) && s.runsOnce(c.caller)
	}
	s.once[f] = once
	return once
}

// singleLocks returns the locks in single objects that are held at an access.
func (p *proofs) singleLocks(x *access) (out []candidate) {
	for _, class := range p.a.singles {
		c := candidate{guard: focus.Guard{Variable: class.Variable}, class: class, root: singleRoot}
		if p.holds(x, c, x.write, false) {
			out = append(out, c)
		}
	}
	return out
}
