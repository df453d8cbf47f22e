package heal

import (
	"cmp"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/scc"
)

// heldLock is a lock in a mode.
type heldLock struct {
	lockName
	mode Mode
}

func inserted(variable string, mode Mode) heldLock { return heldLock{lockName{variable, true}, mode} }

func ofProgram(lock string, mode Mode) heldLock { return heldLock{lockName{lock, false}, mode} }

// dependency says that a thread may wait for a lock while it holds another one. If the wanted lock is one of the program,
// there is one dependency for all places.
type dependency struct {
	held, wanted heldLock
	function     int
	since, node  int // where the held lock was acquired, and where the other one is wanted
	rank         int // of the acquisition of the held lock
}

// hold is a lock that a thread may hold, and where in the function it was acquired.
type hold struct {
	heldLock
	since, rank int
}

// lockOrder is the lock-order graph.
type lockOrder struct {
	dependencies []dependency
	written      map[string]bool   // locks of the program that are acquired exclusively somewhere
	wants        map[heldLock]bits // locks of the program that are wanted while a lock is held
}

// order finds the dependencies of all functions.
func (r *resolver) order() *lockOrder {
	o := &lockOrder{written: map[string]bool{}, wants: map[heldLock]bits{}}
	for _, f := range r.functions {
		for _, op := range f.Locks {
			if op.Mode == Exclusive && !op.Release {
				o.written[op.Lock] = true
			}
		}
	}
	r.program.place(r.placements)
	for i := range r.functions {
		for node, held := range r.program.held[i] {
			o.node(r, i, node, held)
		}
	}
	for held, wanted := range o.wants {
		for n := range wanted.all() {
			if l := r.program.locks[n]; l.lockName != held.lockName {
				o.dependencies = append(o.dependencies, dependency{held: held, wanted: l, function: none, since: none, node: none})
			}
		}
	}
	return o
}

// want notes that the locks of the program in a set may be wanted while a lock is held. Where that is does not matter,
// because they are never hoisted.
func (o *lockOrder) want(p *programLocks, held heldLock, wanted bits) {
	all := o.wants[held]
	if all == nil {
		all = p.none()
		o.wants[held] = all
	}
	for i, word := range wanted {
		all[i] |= word &^ p.inserted[i]
	}
}

// node adds the dependencies of a node. held are the locks of the program that may be held there.
func (o *lockOrder) node(r *resolver, function, node int, held map[hold]bool) {
	f := r.functions[function]
	if len(held) == 0 && len(r.placers[function]) == 0 {
		return // nothing is held
	}
	all := slices.Collect(maps.Keys(held))
	type acquisition struct {
		name string
		Acquisition
	}
	var acquisitions []acquisition
	for name, p := range r.placers[function] {
		all = append(all, p.holdsAt(name, node)...)
		for _, a := range r.placements[function][name].Acquisitions {
			if a.Node == node {
				acquisitions = append(acquisitions, acquisition{name, a})
			}
		}
	}
	slices.SortFunc(acquisitions, func(a, b acquisition) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.name, b.name), cmp.Compare(b.Hold, a.Hold))
	})
	wait := func(wanted heldLock) {
		for _, h := range all {
			other := h.lockName != wanted.lockName || h.inserted && h.mode < wanted.mode
			if other && !r.hoisted(function, node, h, wanted) {
				o.dependencies = append(o.dependencies, dependency{h.heldLock, wanted, function, h.since, node, h.rank})
			}
		}
	}
	surely := map[string]Mode{} // the mode in which a lock is held in any case
	for name, p := range r.placers[function] {
		surely[name] = p.arrivesWith(node)
	}
	for _, a := range acquisitions {
		wanted := inserted(a.name, a.Mode)
		if surely[a.name] < a.Mode {
			wait(wanted)
			surely[a.name] = a.Mode
		}
		all = append(all, hold{wanted, node, a.Rank})
	}
	for _, op := range f.Locks {
		if op.Node == node && !op.Release && !op.Try {
			for _, h := range all {
				o.want(r.program, h.heldLock, r.program.only(ofProgram(op.Lock, op.Mode)))
			}
		}
	}
	if len(all) == 0 {
		return
	}
	called := r.program.none()
	for _, c := range f.Calls {
		if c.Node == node {
			for _, callee := range c.Callees {
				called.merge(r.program.acquires[callee])
			}
		}
	}
	for _, h := range all {
		o.want(r.program, h.heldLock, called)
	}
	for n := range called.common(r.program.inserted) {
		if l := r.program.locks[n]; surely[l.name] < l.mode {
			wait(l)
		}
	}
}

// hoisted reports whether a thread that has held a lock since some node surely holds the wanted one, because it
// was acquired before. It may not surely be held on paths on which the first lock is not held.
func (r *resolver) hoisted(function, node int, h hold, wanted heldLock) bool {
	p := r.placers[function][wanted.name]
	if !wanted.inserted || p == nil {
		return false
	}
	return slices.ContainsFunc(p.holds, func(w liveHold) bool {
		return w.First == h.since && w.Rank > h.rank && w.live[node] && w.Mode >= wanted.mode && r.endsWith(function, w.Ends, h)
	})
}

// endsWith reports whether a lock of the program is released at all the given nodes.
func (r *resolver) endsWith(function int, nodes []int, h hold) bool {
	for _, node := range nodes {
		if h.inserted || !slices.ContainsFunc(r.functions[function].Locks, func(op LockOp) bool {
			return op.Node == node && op.Release && op.Lock == h.name && op.Mode == h.mode
		}) {
			return false
		}
	}
	return true
}

// holdsAt returns the reasons for which the lock may be held when control comes to a node.
func (p *placer) holdsAt(name string, node int) (holds []hold) {
	for origin := range p.origins[node] {
		if mode := p.mode(origin, node); mode > Free {
			holds = append(holds, hold{inserted(name, mode), origin, 0})
		}
	}
	for i, h := range p.holds {
		if p.held[node][i].on {
			holds = append(holds, hold{inserted(name, h.Mode), h.First, h.Rank})
		}
	}
	return holds
}

// conflicts reports whether a thread that wants a lock may have to wait for one that holds it.
func (o *lockOrder) conflicts(wanted, held heldLock) bool {
	if wanted.lockName != held.lockName {
		return false
	}
	if !wanted.inserted && wanted.mode == Shared && held.mode == Shared {
		return o.written[wanted.name] // a waiting writer holds up readers
	}
	return wanted.mode.Excludes(held.mode)
}

// excluded reports whether two threads cannot hold these locks at the same time.
func (o *lockOrder) excluded(a, b heldLock) bool {
	return a.lockName == b.lockName && a.mode.Excludes(b.mode)
}

// cycle returns the dependencies of a strongly connected component of the graph that contains an inserted lock;
// nil if there is none.
func (o *lockOrder) cycle() []dependency {
	type locks struct{ held, wanted heldLock }
	number := map[locks]int{}
	var kinds []locks
	var of [][]dependency // by kind
	for _, d := range o.dependencies {
		k := locks{d.held, d.wanted}
		n, ok := number[k]
		if !ok {
			n = len(kinds)
			number[k], kinds, of = n, append(kinds, k), append(of, nil)
		}
		of[n] = append(of[n], d)
	}
	holding := map[lockName][]int{} // kinds by the held lock
	for i, k := range kinds {
		holding[k.held.lockName] = append(holding[k.held.lockName], i)
	}
	next := func(i int) (out []int) {
		k := kinds[i]
		for _, j := range holding[k.wanted.lockName] {
			if held := kinds[j].held; o.conflicts(k.wanted, held) && !o.excluded(k.held, held) {
				out = append(out, j)
			}
		}
		return out
	}
	for _, component := range scc.Components(len(kinds), next) {
		var cycle []dependency
		ours := false
		for _, i := range component {
			cycle = append(cycle, of[i]...)
			ours = ours || kinds[i].wanted.inserted || kinds[i].held.inserted
		}
		if ours && (len(component) > 1 || slices.Contains(next(component[0]), component[0])) {
			return cycle
		}
	}
	return nil
}
