package ownership

import (
	"go/constant"
	"go/types"
	"maps"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// An access is alone if it is made while no other goroutine can run code of the program: by the initialization of packages
// or by function main, before goroutines are started and after all of them have ended, or in functions that are called
// there. It happens before what goroutines do that are started later, and after what the ended ones did.
//
// Goroutines have ended after the Wait of a local WaitGroup if it is used for nothing but to start and to await them.

// goroutines says which goroutines may run at a point of a function that it, or what it has called, has started.
type goroutines struct {
	unknown bool // some that nobody awaits
	groups  map[*ssa.Alloc]bool
}

func (g goroutines) none() bool { return !g.unknown && len(g.groups) == 0 }

// join returns what may run if either is the case, and whether that is more than g.
func (g goroutines) join(other goroutines) (goroutines, bool) {
	out := goroutines{unknown: g.unknown || other.unknown, groups: maps.Clone(g.groups)}
	for group := range other.groups {
		if !g.groups[group] {
			out = out.with(group)
		}
	}
	return out, out.unknown != g.unknown || len(out.groups) > len(g.groups)
}

func (g goroutines) with(group *ssa.Alloc) goroutines {
	groups := map[*ssa.Alloc]bool{group: true}
	maps.Copy(groups, g.groups)
	g.groups = groups
	return g
}

func (g goroutines) without(group *ssa.Alloc) goroutines {
	if g.groups[group] {
		g.groups = maps.Clone(g.groups)
		delete(g.groups, group)
	}
	return g
}

// spawning finds out which goroutines functions leave behind.
type spawning struct {
	a       *analysis
	starts  map[*function]bool // may start goroutines
	leaves  map[*function]bool // may return while these run
	unknown bool               // so may functions of which not all calls are known
	groups  map[*ssa.Alloc]bool
	alone   map[*function]bool                     // runs only while no goroutine does that others have started
	none    map[*function]map[ssa.Instruction]bool // see quietIn; when leaves is complete
}

// findAlone finds the functions and accesses that are alone.
func (a *analysis) findAlone() {
	s := &spawning{a: a, starts: map[*function]bool{}, leaves: map[*function]bool{}, groups: map[*ssa.Alloc]bool{}, alone: map[*function]bool{}, none: map[*function]map[ssa.Instruction]bool{}}
	for id, fn := range a.taken {
		// A function of another package that is called through a variable.
		if a.byID[id] == nil && !static.Known(fn).Has(static.StartsNothing) {
			s.unknown = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range a.functions {
			starts, leaves := s.effect(f)
			if starts && !s.starts[f] || leaves && !s.leaves[f] {
				changed = true
			}
			s.starts[f], s.leaves[f] = s.starts[f] || starts, s.leaves[f] || leaves
			if s.leaves[f] && f.indirect() && !s.unknown && !f.isMain() && !f.initializes {
				s.unknown, changed = true, true
			}
		}
	}
	a.leaving, a.leavingUnknown = s.leaves, s.unknown
	if a.startsEarly() {
		for _, f := range a.functions {
			if f.initializes {
				f.initializes = false
				for _, x := range f.accesses {
					x.fresh = x.base != nil && f.in.publish.unpublished(x.base, x.ins)
				}
			}
		}
		return
	}
	for _, f := range a.functions {
		s.alone[f] = f.initializes || f.isMain() && len(f.callers) == 0 && !a.isTaken(f.id) || !f.unknownCallers && len(f.callers) > 0
	}
	for changed := true; changed; {
		changed = false
		for _, f := range a.functions {
			if !s.alone[f] {
				continue
			}
			for _, c := range f.callers {
				if !c.plain() || !s.alone[c.caller] || !s.quietIn(c.caller)[c.ins] {
					s.alone[f], changed = false, true
					break
				}
			}
		}
	}
	for _, f := range a.functions {
		if !s.alone[f] {
			continue
		}
		f.alone = s.quietIn(f)
		for _, x := range f.accesses {
			_, call := x.ins.(*ssa.Call)
			_, later := x.ins.(ssa.CallInstruction) // deferred, or in another goroutine
			x.alone = f.alone[x.ins] && (call || !later)
		}
	}
}

// startsEarly reports whether the initialization of a package starts goroutines.
func (a *analysis) startsEarly() bool {
	seen := map[*function]bool{}
	var work []*function
	for _, f := range a.functions {
		if f.initializes {
			work = append(work, f)
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[f] {
			continue
		}
		seen[f] = true
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, ok := ins.(ssa.CallInstruction)
				if !ok {
					continue
				}
				if _, started := ins.(*ssa.Go); started {
					return true
				}
				switch callee := call.Common().StaticCallee(); fullName(callee) {
				case "(*sync.WaitGroup).Go", "time.AfterFunc":
					return true
				default:
					if to := a.functionOf(callee); to != nil {
						work = append(work, to)
					}
				}
			}
		}
	}
	return false
}

// isMain reports whether a function is where a program begins.
func (f *function) isMain() bool {
	return f.fn.Name() == "main" && f.fn.Signature.Recv() == nil && f.fn.Parent() == nil && f.in.pkg.Types.Name() == "main" && !f.in.linked
}

// effect returns whether a function may start goroutines, and return while they run.
func (s *spawning) effect(f *function) (starts, leaves bool) {
	s.walk(f, func(ins ssa.Instruction, before goroutines) {
		if after := s.step(f, before, ins); !after.none() {
			starts = true
		}
		switch ins := ins.(type) {
		case *ssa.Return:
			leaves = leaves || ins.Block() != f.fn.Recover && !before.none()
		case *ssa.Call:
			starts = starts || s.starts[s.a.functionOf(ins.Call.StaticCallee())]
		}
	})
	return starts, leaves || starts && s.recovers(f)
}

// recovers reports whether a function may go on after a panic.
func (s *spawning) recovers(f *function) bool {
	for _, b := range f.fn.Blocks {
		for _, ins := range b.Instrs {
			d, ok := ins.(*ssa.Defer)
			if !ok || synchronizes(d.Call.StaticCallee()) {
				continue
			}
			callee := s.a.functionOf(d.Call.StaticCallee())
			if callee == nil {
				if _, builtin := d.Call.Value.(*ssa.Builtin); builtin && d.Call.Value.Name() != "recover" {
					continue
				}
				return true
			}
			for _, b := range callee.fn.Blocks {
				for _, ins := range b.Instrs {
					if call, ok := ins.(ssa.CallInstruction); ok {
						if builtin, ok := call.Common().Value.(*ssa.Builtin); ok && builtin.Name() == "recover" {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

func (a *analysis) functionOf(fn *ssa.Function) *function {
	if fn == nil {
		return nil
	}
	return a.byID[a.id(fn)]
}

// walk calls visit for each instruction, with what may run before it.
func (s *spawning) walk(f *function, visit func(ssa.Instruction, goroutines)) {
	if len(f.fn.Blocks) == 0 {
		return
	}
	entries := make([]*goroutines, len(f.fn.Blocks))
	entries[0] = &goroutines{}
	if f.fn.Recover != nil {
		entries[f.fn.Recover.Index] = &goroutines{unknown: true}
	}
	work := []*ssa.BasicBlock{f.fn.Blocks[0]}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		state := *entries[b.Index]
		for _, ins := range b.Instrs {
			state = s.step(f, state, ins)
		}
		for _, succ := range b.Succs {
			if old := entries[succ.Index]; old == nil {
				entries[succ.Index] = &state
			} else if joined, more := old.join(state); more {
				entries[succ.Index] = &joined
			} else {
				continue
			}
			work = append(work, succ)
		}
	}
	for _, b := range f.fn.Blocks {
		if entries[b.Index] == nil {
			continue
		}
		state := *entries[b.Index]
		for _, ins := range b.Instrs {
			visit(ins, state)
			state = s.step(f, state, ins)
		}
	}
}

// quietIn returns the instructions of a function in front of which no goroutine runs that it, or what it has called, has
// started.
func (s *spawning) quietIn(f *function) map[ssa.Instruction]bool {
	found, ok := s.none[f]
	if !ok {
		found = map[ssa.Instruction]bool{}
		s.walk(f, func(ins ssa.Instruction, before goroutines) {
			if before.none() {
				found[ins] = true
			}
		})
		s.none[f] = found
	}
	return found
}

// step returns what may run after an instruction.
func (s *spawning) step(f *function, state goroutines, ins ssa.Instruction) goroutines {
	lost := goroutines{unknown: true, groups: state.groups}
	switch ins := ins.(type) {
	case *ssa.Alloc:
		if state.groups[ins] { // a group of a further turn of a loop
			return lost
		}
	case *ssa.Go:
		if group := s.groupOf(ins); group != nil && !s.leavesAny(s.entryOf(&ins.Call)) {
			return state.with(group)
		}
		return lost
	case *ssa.Defer:
		if s.called(f, ins) {
			return lost
		}
	case *ssa.Call:
		switch fullName(ins.Call.StaticCallee()) {
		case "(*sync.WaitGroup).Wait":
			if group, ok := ins.Call.Args[0].(*ssa.Alloc); ok {
				return state.without(group)
			}
			return state
		case "(*sync.WaitGroup).Go":
			if group, ok := ins.Call.Args[0].(*ssa.Alloc); ok && s.isGroup(group) && !s.leavesAny(s.a.funcValue(ins.Call.Args[1])) {
				return state.with(group)
			}
			return lost
		}
		if s.called(f, ins) {
			return lost
		}
	}
	return state
}

func fullName(fn *ssa.Function) string {
	if fn == nil {
		return ""
	}
	if obj, ok := fn.Object().(*types.Func); ok {
		return obj.FullName()
	}
	return ""
}

// leavesAny reports whether a goroutine that begins in a function may start others and not await them.
func (s *spawning) leavesAny(entry *function) bool { return entry == nil || s.leaves[entry] }

// entryOf returns the function that a go statement calls, or nil.
func (s *spawning) entryOf(call *ssa.CallCommon) *function {
	return s.a.functionOf(call.StaticCallee())
}

// funcValue returns the function that a value is, or nil.
func (a *analysis) funcValue(v ssa.Value) *function {
	switch v := v.(type) {
	case *ssa.MakeClosure:
		return a.funcValue(v.Fn)
	case *ssa.Function:
		if f := a.functionOf(v); f != nil {
			return f
		}
		if obj, ok := v.Object().(*types.Func); ok { // the wrapper of a method
			return a.byID[obj.Origin().FullName()]
		}
	}
	return nil
}

// called reports whether a call may leave goroutines behind.
func (s *spawning) called(f *function, ins ssa.CallInstruction) bool {
	call := ins.Common()
	if _, ok := call.Value.(*ssa.Builtin); ok {
		return false
	}
	callee := call.StaticCallee()
	if callee == nil {
		if value, ok := ins.(*ssa.Call); ok && call.IsInvoke() {
			if methods, complete := s.a.boxes.called(f, value); complete {
				for _, to := range methods {
					if to == nil || s.leaves[to] {
						return true
					}
				}
				return false
			}
		}
		return s.unknown || takesCallbacks(call.Args) || call.IsInvoke() && s.foreign(call.Method.Name())
	}
	if f := s.a.functionOf(callee); f != nil {
		return s.leaves[f]
	}
	if callee.Object() == nil && callee.Name() == "init" && callee.Parent() == nil {
		return false // the initialization of another package, see startsEarly
	}
	if synchronizes(callee) && !strings.HasPrefix(fullName(callee), "(*sync.WaitGroup).Go") {
		switch callee.Name() {
		case "Do", "Get", "Range":
			return s.unknown
		}
		return false
	}
	return !static.Known(static.Func(callee)).Has(static.StartsNothing) || s.unknown && takesFunctions(callee.Signature)
}

// foreign reports whether a method of that name may be one of another package's type that starts goroutines.
func (s *spawning) foreign(method string) bool {
	for _, b := range s.a.boxed {
		n := ssaload.Named(ssaload.Deref(b.typ))
		if n == nil || n.Obj().Pkg() == nil || s.a.declares(n.Obj().Pkg()) || static.FactsOf(n.Obj().Pkg().Path()).Has(static.StartsNothing) {
			continue
		}
		if b.has(method) {
			return true
		}
	}
	return false
}

// takesCallbacks reports whether there are functions, or objects in interfaces, among the arguments.
func takesCallbacks(args []ssa.Value) bool {
	for _, arg := range args {
		switch arg.Type().Underlying().(type) {
		case *types.Signature, *types.Interface:
			return true
		}
	}
	return false
}

// takesFunctions reports whether a function may call what is passed to it.
func takesFunctions(s *types.Signature) bool {
	if s.Recv() != nil {
		return true
	}
	for v := range s.Params().Variables() {
		if _, basic := v.Type().Underlying().(*types.Basic); !basic {
			return true
		}
	}
	return false
}

// isGroup reports whether a local WaitGroup is used for nothing but to start goroutines and to await them.
func (s *spawning) isGroup(group *ssa.Alloc) bool {
	if known, ok := s.groups[group]; ok {
		return known
	}
	ok := qualifiedName(ssaload.Deref(group.Type())) == "sync.WaitGroup"
	for _, ref := range *group.Referrers() {
		ok = ok && awaits(group, ref)
	}
	s.groups[group] = ok
	return ok
}

func qualifiedName(t types.Type) string {
	n := ssaload.Named(t)
	if n == nil || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// awaits reports whether a use of a WaitGroup is one that isGroup allows.
func awaits(group *ssa.Alloc, ref ssa.Instruction) bool {
	switch ref := ref.(type) {
	case *ssa.DebugRef:
		return true
	case *ssa.Call:
		switch fullName(ref.Call.StaticCallee()) {
		case "(*sync.WaitGroup).Wait":
			return true
		case "(*sync.WaitGroup).Go":
			return ref.Call.Args[0] == group && ref.Call.Args[1] != ssa.Value(group)
		case "(*sync.WaitGroup).Add":
			n, ok := ref.Call.Args[1].(*ssa.Const)
			return ok && constant.Sign(n.Value) > 0
		}
	case *ssa.Go:
		callee := ref.Call.StaticCallee()
		if callee == nil || len(callee.Blocks) == 0 {
			return false
		}
		for i, arg := range ref.Call.Args {
			if arg == group && (i >= len(callee.Params) || !doneAtEnd(callee.Params[i])) {
				return false
			}
		}
		return true
	case *ssa.MakeClosure: // by a go statement
		for _, use := range *ref.Referrers() {
			if start, ok := use.(*ssa.Go); !ok || start.Call.Value != ref {
				return false
			}
		}
		for i, bound := range ref.Bindings {
			if bound == group && !doneAtEnd(ref.Fn.(*ssa.Function).FreeVars[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// doneAtEnd reports whether a pointer to a WaitGroup is used by a function for nothing but a Done when all else is done.
func doneAtEnd(v ssa.Value) bool {
	fn := v.Parent()
	uses := 0
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.DebugRef:
		case *ssa.Defer:
			if uses++; fullName(ref.Call.StaticCallee()) != "(*sync.WaitGroup).Done" || ref.Block() != fn.Blocks[0] || !firstDefer(ref) {
				return false
			}
		default:
			return false
		}
	}
	return uses == 1
}

// firstDefer reports whether a deferred call of the first block is the first one: then it runs last.
func firstDefer(d *ssa.Defer) bool {
	for _, ins := range d.Block().Instrs {
		if other, ok := ins.(*ssa.Defer); ok {
			return other == d
		}
	}
	return false
}

// groupOf returns the WaitGroup that awaits the goroutine of a go statement, or nil. Add must have been called for it in the
// same block.
func (s *spawning) groupOf(start *ssa.Go) *ssa.Alloc {
	var group *ssa.Alloc
	add := func(v ssa.Value) {
		if alloc, ok := v.(*ssa.Alloc); ok && s.isGroup(alloc) {
			group = alloc
		}
	}
	for _, arg := range start.Call.Args {
		add(arg)
	}
	if closure, ok := start.Call.Value.(*ssa.MakeClosure); ok {
		for _, bound := range closure.Bindings {
			add(bound)
		}
	}
	if group == nil {
		return nil
	}
	added := int64(0)
	for _, ins := range start.Block().Instrs {
		switch ins := ins.(type) {
		case *ssa.Call:
			if fullName(ins.Call.StaticCallee()) == "(*sync.WaitGroup).Add" && ins.Call.Args[0] == group {
				n, _ := constant.Int64Val(ins.Call.Args[1].(*ssa.Const).Value)
				added += n
			}
		case *ssa.Go:
			if s.uses(ins, group) {
				added--
			}
			if ins == start {
				if added < 0 {
					return nil
				}
				return group
			}
		}
	}
	return nil
}

func (s *spawning) uses(start *ssa.Go, group *ssa.Alloc) bool {
	for _, operand := range start.Operands(nil) {
		if *operand == ssa.Value(group) {
			return true
		}
		if closure, ok := (*operand).(*ssa.MakeClosure); ok {
			for _, bound := range closure.Bindings {
				if bound == group {
					return true
				}
			}
		}
	}
	return false
}
