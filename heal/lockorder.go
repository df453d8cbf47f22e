package heal

import (
	"cmp"
	"maps"
	"slices"
)

// heldLock is a lock in a mode.
type heldLock struct {
	lockName
	mode Mode
}

func inserted(variable string, mode Mode) heldLock { return heldLock{lockName{variable, true}, mode} }

func ofProgram(lock string, mode Mode) heldLock { return heldLock{lockName{lock, false}, mode} }

// dependency says that a thread may wait for a lock while it holds another one.
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

// summary is what the calls of a function do with locks.
type summary struct {
	acquires map[heldLock]bool
	leaves   map[heldLock]bool // locks of the program that may be held at its end and not at its begin
}

// lockOrder is the lock-order graph.
type lockOrder struct {
	dependencies []dependency
	written      map[string]bool // locks of the program that are acquired exclusively somewhere
}

// order finds the dependencies of all functions.
func (r *resolver) order() *lockOrder {
	o := &lockOrder{written: map[string]bool{}}
	for _, f := range r.functions {
		for _, op := range f.Locks {
			if op.Mode == Exclusive && !op.Release {
				o.written[op.Lock] = true
			}
		}
	}
	r.summarize()
	for i := range r.functions {
		held := r.held(i)
		for node := range held {
			o.node(r, i, node, held[node])
		}
	}
	return o
}

// summarize computes the summaries of all functions.
func (r *resolver) summarize() {
	r.summaries = make([]summary, len(r.functions))
	for i := range r.summaries {
		r.summaries[i] = summary{map[heldLock]bool{}, map[heldLock]bool{}}
	}
	for changed := true; changed; {
		changed = false
		for i, f := range r.functions {
			s := r.summaries[i]
			before := len(s.acquires) + len(s.leaves)
			for name, p := range r.placements[i] {
				for _, a := range p.Acquisitions {
					s.acquires[inserted(name, a.Mode)] = true
				}
			}
			for _, op := range f.Locks {
				if !op.Release && !op.Try {
					s.acquires[ofProgram(op.Lock, op.Mode)] = true
				}
			}
			for _, c := range f.Calls {
				for _, callee := range c.Callees {
					maps.Copy(s.acquires, r.summaries[callee].acquires)
				}
			}
			held := r.held(i)
			for node := range held {
				if len(f.Graph.succs[node]) == 0 {
					for h := range r.through(i, node, held[node]) {
						s.leaves[h.heldLock] = true
					}
				}
			}
			changed = changed || len(s.acquires)+len(s.leaves) > before
		}
	}
}

// held returns, for each node of a function, the locks of the program that a thread may hold when it comes
// there, and that it has acquired in the function.
func (r *resolver) held(function int) []map[hold]bool {
	g := r.functions[function].Graph
	held := make([]map[hold]bool, g.Nodes())
	for node := range held {
		held[node] = map[hold]bool{}
	}
	for changed := true; changed; {
		changed = false
		for node := range held {
			after := r.through(function, node, held[node])
			for _, next := range g.succs[node] {
				before := len(held[next])
				maps.Copy(held[next], after)
				changed = changed || len(held[next]) > before
			}
		}
	}
	return held
}

// through returns the locks of the program that a thread may hold after a node.
func (r *resolver) through(function, node int, before map[hold]bool) map[hold]bool {
	after := maps.Clone(before)
	f := r.functions[function]
	for _, op := range f.Locks {
		switch {
		case op.Node != node:
		case op.Release:
			maps.DeleteFunc(after, func(h hold, _ bool) bool { return h.name == op.Lock && h.mode == op.Mode })
		default:
			after[hold{ofProgram(op.Lock, op.Mode), node, 0}] = true
		}
	}
	for _, c := range f.Calls {
		if c.Node == node {
			for _, callee := range c.Callees {
				for l := range r.summaries[callee].leaves {
					after[hold{l, node, 0}] = true
				}
			}
		}
	}
	return after
}

// node adds the dependencies of a node. held are the locks of the program that may be held there.
func (o *lockOrder) node(r *resolver, function, node int, held map[hold]bool) {
	f := r.functions[function]
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
			wait(ofProgram(op.Lock, op.Mode))
		}
	}
	for _, c := range f.Calls {
		if c.Node != node {
			continue
		}
		for _, callee := range c.Callees {
			for l := range r.summaries[callee].acquires {
				if !l.inserted || surely[l.name] < l.mode {
					wait(l)
				}
			}
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
	holding := map[lockName][]int{} // dependencies by the held lock
	for i, d := range o.dependencies {
		holding[d.held.lockName] = append(holding[d.held.lockName], i)
	}
	next := func(i int) (out []int) {
		d := o.dependencies[i]
		for _, j := range holding[d.wanted.lockName] {
			if held := o.dependencies[j].held; o.conflicts(d.wanted, held) && !o.excluded(d.held, held) {
				out = append(out, j)
			}
		}
		return out
	}
	for _, component := range components(len(o.dependencies), next) {
		var cycle []dependency
		ours := false
		for _, i := range component {
			d := o.dependencies[i]
			cycle = append(cycle, d)
			ours = ours || d.wanted.inserted || d.held.inserted
		}
		if ours && (len(component) > 1 || slices.Contains(next(component[0]), component[0])) {
			return cycle
		}
	}
	return nil
}

// components returns the strongly connected components of a graph of n nodes (Tarjan, 1972).
func components(n int, next func(int) []int) (all [][]int) {
	index, low := make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	var stack []int
	count := 0
	var visit func(int)
	visit = func(v int) {
		count++
		index[v], low[v] = count, count
		stack = append(stack, v)
		onStack[v] = true
		for _, w := range next(v) {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		var component []int
		for {
			w := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			onStack[w] = false
			component = append(component, w)
			if w == v {
				break
			}
		}
		slices.Sort(component)
		all = append(all, component)
	}
	for v := range n {
		if index[v] == 0 {
			visit(v)
		}
	}
	return all
}
