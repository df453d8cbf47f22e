package ownership

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/static"
)

// lockOperation returns what a call does with a lock, and the pointer to the lock. An Unlock of a sync.Locker has no
// pointer, and a Lock of one does nothing.
func lockOperation(call *ssa.CallCommon) (static.LockOp, ssa.Value) {
	op := static.LockOpOf(static.CalleeSSA(call))
	switch {
	case op == static.NoLockOp || call.IsInvoke() && !op.Releases():
		return static.NoLockOp, nil
	case call.IsInvoke():
		return op, nil
	}
	return op, call.Args[0]
}

// held is a lock that a function has acquired and certainly not released.
type held struct {
	place  place
	class  memory // the variable that the lock is; zero for one without a name
	number int    // of the class
	shared bool
}

func (h held) equal(other held) bool {
	if h.shared != other.shared || h.number != other.number {
		return false
	}
	_, same := h.place.same(other.place)
	return same && h.place.key() == other.place.key()
}

// locksAt is what is known about locks at a point of a function.
type locksAt struct {
	held []held
	// gone has the classes of locks that may have been released since the function began, so that those which
	// callers hold do not count any more. anyClass stands for all.
	gone classSet
}

func (s locksAt) release(class int) locksAt {
	s.gone = s.gone.with(class)
	return s
}

// lost reports whether a lock of the class that a caller holds may have been released.
func (s locksAt) lost(class int) bool { return s.gone.has(class) || s.gone.has(anyClass) }

func (s locksAt) without(gone func(held) bool) locksAt {
	if slices.ContainsFunc(s.held, gone) {
		s.held = slices.DeleteFunc(slices.Clone(s.held), gone)
	}
	return s
}

// join returns what is known if either s or other is the case, and whether that is less than s.
func (s locksAt) join(other locksAt) (locksAt, bool) {
	out := s.without(func(h held) bool { return !slices.ContainsFunc(other.held, h.equal) })
	out.gone = s.gone.union(other.gone)
	return out, len(out.held) < len(s.held) || !out.gone.equal(s.gone)
}

// step returns what is known after an instruction.
func (f *function) step(s locksAt, ins ssa.Instruction) locksAt {
	if v, ok := ins.(ssa.Value); ok && len(s.held) > 0 {
		s = s.without(func(h held) bool { return slices.Contains(h.place.values, v) })
	}
	switch ins := ins.(type) {
	case *ssa.RunDefers:
		// Deferred calls release locks here. What they access counts as accessed without a lock.
		for _, h := range s.held {
			s = s.release(h.number)
		}
		s.held = nil
		s.gone = s.gone.union(f.a.releases[f.id])
	case *ssa.Call:
		return f.stepCall(s, ins)
	}
	return s
}

func (f *function) stepCall(s locksAt, call *ssa.Call) locksAt {
	op, pointer := lockOperation(&call.Call)
	switch {
	case op.Tries(): // whether it succeeds is not followed
		return s
	case op.Acquires():
		h := f.lockAt(pointer)
		h.shared = op.Shared()
		s.held = append(s.held[:len(s.held):len(s.held)], h)
		return s
	case op.Releases():
		return f.unlocked(s, pointer, op.Shared())
	}
	if released := f.a.releasedBy(&call.Call); len(released) > 0 {
		any := released.has(anyClass)
		s = s.without(func(h held) bool { return any || released.has(h.number) })
		s.gone = s.gone.union(released)
	}
	for _, h := range f.acquiredBy(call) {
		s.held = append(s.held[:len(s.held):len(s.held)], h)
	}
	return s
}

// unlocked returns what is known after a lock was released. If it is not one that is known to be held, it may be
// any of its class.
func (f *function) unlocked(s locksAt, pointer ssa.Value, shared bool) locksAt {
	if pointer == nil { // a sync.Locker
		s = s.without(func(h held) bool { return f.a.lockers.has(h.number) })
		s.gone = s.gone.union(f.a.lockers)
		return s
	}
	h := f.lockAt(pointer)
	h.shared = shared
	if i := slices.IndexFunc(s.held, h.equal); i >= 0 {
		if len(h.place.through) > 0 { // a pointer on the way may have changed
			s = s.release(h.number)
		}
		s.held = slices.Delete(slices.Clone(s.held), i, i+1)
		return s
	}
	return s.without(func(other held) bool { return other.number == h.number }).release(h.number)
}

// lockAt returns the lock that a pointer points to.
func (f *function) lockAt(pointer ssa.Value) held {
	h, ok := f.locks[pointer]
	if !ok {
		at, _ := f.at(pointer)
		h = held{place: f.places.of(pointer), class: at.memory, number: f.a.classes.number(at.memory)}
		f.locks[pointer] = h
	}
	return h
}

// solve computes what is known about locks at the start of each block.
func (f *function) solve() {
	f.entries = make([]*locksAt, len(f.fn.Blocks))
	if len(f.fn.Blocks) == 0 {
		return
	}
	f.entries[0] = &locksAt{}
	work := []*ssa.BasicBlock{f.fn.Blocks[0]}
	for len(work) > 0 {
		b := work[0]
		work = work[1:]
		s := *f.entries[b.Index]
		for _, ins := range b.Instrs {
			s = f.step(s, ins)
		}
		for _, succ := range b.Succs {
			if old := f.entries[succ.Index]; old == nil {
				f.entries[succ.Index] = &s
			} else if joined, less := old.join(s); less {
				f.entries[succ.Index] = &joined
			} else {
				continue
			}
			work = append(work, succ)
		}
	}
}

// walk calls visit for each instruction of the function that can be reached, with what is known about locks
// before it.
func (f *function) walk(visit func(ins ssa.Instruction, before locksAt)) {
	for _, b := range f.fn.Blocks {
		s := locksAt{}.release(anyClass) // where a panic leads to
		if b != f.fn.Recover {
			if f.entries[b.Index] == nil {
				continue
			}
			s = *f.entries[b.Index]
		}
		for _, ins := range b.Instrs {
			visit(ins, s)
			s = f.step(s, ins)
		}
	}
}

// collectReleases adds the classes of locks that the function may release without having acquired them. It
// reports whether any were new.
func (f *function) collectReleases() bool {
	known := f.a.releases[f.id]
	found := known
	f.walk(func(ins ssa.Instruction, s locksAt) {
		call, ok := ins.(ssa.CallInstruction)
		if !ok {
			return
		}
		if _, started := ins.(*ssa.Go); started {
			return
		}
		op, pointer := lockOperation(call.Common())
		switch {
		case op.Releases():
			if pointer == nil {
				found = found.union(f.a.lockers)
				return
			}
			h := f.lockAt(pointer)
			h.shared = op.Shared()
			if !slices.ContainsFunc(s.held, h.equal) {
				found = found.with(h.number)
			}
		case op == static.NoLockOp:
			released := f.a.releasedBy(call.Common())
			for _, h := range s.held {
				released = released.without(h.number)
			}
			found = found.union(released)
		}
	})
	if found.equal(known) {
		return false
	}
	f.a.releases[f.id] = found
	return true
}

// acquired is a lock that a function holds whenever it returns, in terms of its parameters.
type acquired struct {
	root   string
	steps  string
	class  memory
	shared bool
}

// collectAcquires finds the locks that the function holds whenever it returns. It reports whether there is
// a change.
func (f *function) collectAcquires() bool {
	var all []held
	returns := 0
	f.walk(func(ins ssa.Instruction, s locksAt) {
		if _, ok := ins.(*ssa.Return); !ok || ins.Block() == f.fn.Recover {
			return
		}
		if returns++; returns == 1 {
			all = s.held
		} else {
			all = slices.DeleteFunc(slices.Clone(all), func(h held) bool { return !slices.ContainsFunc(s.held, h.equal) })
		}
	})
	var out []acquired
	for _, h := range all {
		if h.place.movable() && len(h.place.through) == 0 && h.class != (memory{}) && (h.place.root[0] == 'p' || h.place.root[0] == 'g') {
			out = append(out, acquired{h.place.root, h.place.steps, h.class, h.shared})
		}
	}
	if slices.Equal(out, f.a.acquires[f.id]) {
		return false
	}
	f.a.acquires[f.id] = out
	return true
}

// acquiredBy returns the locks that a call acquires for its caller.
func (f *function) acquiredBy(call *ssa.Call) (locks []held) {
	callee := call.Call.StaticCallee()
	if callee == nil {
		return nil
	}
	for _, lock := range f.a.acquires[f.a.id(callee)] {
		at, ok := f.instantiate(&call.Call, place{root: lock.root, steps: lock.steps})
		if !ok {
			continue
		}
		locks = append(locks, held{at, lock.class, f.a.classes.number(lock.class), lock.shared})
	}
	return locks
}
