package infer

import (
	"cmp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// hold is a lock that a function has taken and not released.
type hold struct {
	lock   ssaload.Path
	by     ssa.Instruction
	shared bool // as a reader
}

// locking computes which locks a function certainly holds at an instruction. A lock is a value of a lock type, or one
// with methods Lock and Unlock, or RLock and RUnlock, without parameters. Locks that callers hold count if
// all callers are known and hold them. A lock that may or may not be held counts as not held. A call of a function of this
// package that unlocks a lock with the same name releases the lock, and so does waiting for a
// condition. Other calls release nothing.
type locking struct {
	p       *program
	entries map[*ssa.Function][][]hold // at the start of each block
	unlocks map[*ssa.Function]map[any]bool
	asked   map[*ssa.Function]bool // functions whose callers are being asked
}

func newLocking(p *program) *locking {
	l := &locking{p: p, entries: map[*ssa.Function][][]hold{}, unlocks: map[*ssa.Function]map[any]bool{}, asked: map[*ssa.Function]bool{}}
	for changed := true; changed; {
		changed = false
		for _, fn := range p.funcs {
			if l.collect(fn) {
				changed = true
			}
		}
	}
	return l
}

// collect adds the locks that fn unlocks, itself or by a call. It reports whether any were new.
func (l *locking) collect(fn *ssa.Function) bool {
	known := l.unlocks[fn]
	if known == nil {
		known = map[any]bool{}
		l.unlocks[fn] = known
	}
	before := len(known)
	for _, b := range fn.Blocks {
		for _, ins := range b.Instrs {
			call, ok := ins.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if _, started := ins.(*ssa.Go); started {
				continue
			}
			if lock, op := lockOp(call.Common()); op.Releases() {
				known[lock.Last()] = true
			}
			if callee := l.p.body(call.Common()); callee != nil {
				for lock := range l.unlocks[callee] {
					known[lock] = true
				}
			}
		}
	}
	return len(known) > before
}

// lockOp returns what a call does with a lock, and the lock. What may or may not acquire a lock does nothing.
func lockOp(call *ssa.CallCommon) (ssaload.Path, static.LockOp) {
	fn := static.CalleeSSA(call)
	op := cmp.Or(static.LockOpOf(fn), static.LooksLikeLockOp(fn))
	if op == static.NoLockOp || op.Tries() {
		return ssaload.Path{}, static.NoLockOp
	}
	return ssaload.Pointee(ssaload.Arguments(call)[0]), op
}

// step returns the locks that are held after an instruction. It does not change held.
func (l *locking) step(held []hold, ins ssa.Instruction) []hold {
	if v, ok := ins.(ssa.Value); ok {
		held = without(held, func(h hold) bool { return h.lock.DependsOn(v) })
	}
	call, ok := ins.(*ssa.Call)
	if !ok {
		return held
	}
	p, op := lockOp(&call.Call)
	switch {
	case op.Acquires():
		held = append(held[:len(held):len(held)], hold{p, ins, op.Shared()})
	case op.Releases():
		held = without(held, func(h hold) bool { return h.lock.Equal(p) && h.shared == op.Shared() })
	case static.ReleasesWhileWaiting(static.CalleeSSA(&call.Call)):
		held = nil
	}
	if callee := l.p.body(&call.Call); callee != nil && op == static.NoLockOp {
		held = without(held, func(h hold) bool { return l.unlocks[callee][h.lock.Last()] })
	}
	return held
}

func without(held []hold, gone func(hold) bool) []hold {
	if !slices.ContainsFunc(held, gone) {
		return held
	}
	return slices.DeleteFunc(slices.Clone(held), gone)
}

// at returns the locks that are held at an instruction.
func (l *locking) at(ins ssa.Instruction) []hold {
	fn := ins.Parent()
	entries, ok := l.entries[fn]
	if !ok {
		entries = l.solve(fn)
		l.entries[fn] = entries
	}
	held := entries[ins.Block().Index]
	for _, before := range ins.Block().Instrs {
		if before == ins {
			break
		}
		held = l.step(held, before)
	}
	return held
}

// solve computes the locks that are held at the start of each block on all paths.
func (l *locking) solve(fn *ssa.Function) [][]hold {
	entries := make([][]hold, len(fn.Blocks))
	reached := newSet(len(fn.Blocks))
	if len(fn.Blocks) == 0 {
		return entries
	}
	reached.add(0)
	entries[0] = l.inherited(fn)
	work := []*ssa.BasicBlock{fn.Blocks[0]}
	for len(work) > 0 {
		b := work[0]
		work = work[1:]
		held := entries[b.Index]
		for _, ins := range b.Instrs {
			held = l.step(held, ins)
		}
		for _, succ := range b.Succs {
			next := held
			if reached.has(succ.Index) {
				old := entries[succ.Index]
				next = without(old, func(h hold) bool { return !contains(held, h) })
				if len(next) == len(old) {
					continue
				}
			}
			reached.add(succ.Index)
			entries[succ.Index] = next
			work = append(work, succ)
		}
	}
	return entries
}

func contains(held []hold, h hold) bool {
	return slices.ContainsFunc(held, func(other hold) bool { return other.by == h.by && other.lock.Equal(h.lock) })
}

// inherited returns the locks that all callers of a function hold, as the function reaches them. It
// returns none if callers may be unknown, or if the function calls itself by way of others.
func (l *locking) inherited(fn *ssa.Function) (held []hold) {
	calls := l.p.calls[fn]
	if len(calls) == 0 || l.asked[fn] || l.p.started[fn] || !l.p.callersKnown(fn) {
		return nil
	}
	l.asked[fn] = true
	defer delete(l.asked, fn)
	for i, call := range calls {
		var there []hold
		for _, h := range l.at(call) {
			if lock, ok := h.lock.Translate(&call.Call, fn); ok {
				there = append(there, hold{lock, fn.Blocks[0].Instrs[0], h.shared})
			}
		}
		if i == 0 {
			held = there
		} else {
			held = without(held, func(h hold) bool {
				return !slices.ContainsFunc(there, func(o hold) bool { return o.lock.Equal(h.lock) && o.shared == h.shared })
			})
		}
		if len(held) == 0 {
			return nil
		}
	}
	return held
}

// protects reports whether a lock may be meant for a variable: it is a package-level lock, or both
// are reached from the same value. If each of two accounts has a lock, the lock of one does not
// protect the balance of the other.
func (h hold) protects(variable ssaload.Path) bool {
	if ssaload.IsGlobal(h.lock.Root) {
		return true
	}
	from := sources(variable.Root)
	for v := range sources(h.lock.Root) {
		if from[v] {
			return true
		}
	}
	return false
}

// sources returns the parameters, variables and results from which a value is reached: through
// pointers, elements and interfaces, and through methods that return it.
func sources(v ssa.Value) map[ssa.Value]bool {
	out := map[ssa.Value]bool{}
	seen := map[ssa.Value]bool{}
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.UnOp:
			follow(v.X)
		case *ssa.FieldAddr:
			follow(v.X)
		case *ssa.Field:
			follow(v.X)
		case *ssa.IndexAddr:
			follow(v.X)
		case *ssa.Index:
			follow(v.X)
		case *ssa.Lookup:
			follow(v.X)
		case *ssa.Extract:
			follow(v.Tuple)
		case *ssa.TypeAssert:
			follow(v.X)
		case *ssa.MakeInterface:
			follow(v.X)
		case *ssa.ChangeInterface:
			follow(v.X)
		case *ssa.ChangeType:
			follow(v.X)
		case *ssa.Convert:
			follow(v.X)
		case *ssa.Slice:
			follow(v.X)
		case *ssa.Next:
			follow(v.Iter)
		case *ssa.Range:
			follow(v.X)
		case *ssa.Phi:
			for _, edge := range v.Edges {
				follow(edge)
			}
		case *ssa.Call:
			switch {
			case v.Call.IsInvoke():
				follow(v.Call.Value)
			case v.Call.Signature().Recv() != nil && len(v.Call.Args) > 0:
				follow(v.Call.Args[0])
			default:
				out[v] = true
			}
		case *ssa.Const:
		default:
			out[v] = true
		}
	}
	follow(v)
	return out
}
