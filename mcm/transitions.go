package mcm

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// classify finds which writes are the same to reads.
func (x *moves) classify() {
	m := x.m
	for n := range m.goal {
		for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
			x.class[i] = int32(n) + 1
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		x.want[i] = int32(r.saw) + 1
		if len(r.same) == 0 {
			continue
		}
		key := -int32(r.same[0]) - 1
		x.want[i] = key
		if r.init {
			x.start[r.cell] = key
		}
		if x.class[m.touchOf(r.same[len(r.same)-1], r.cell)] != key {
			for _, w := range r.same {
				x.class[m.touchOf(w, r.cell)] = key
			}
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		x.exact = x.exact && r.init == (x.start[r.cell] == x.want[i]) &&
			(r.saw == none || x.class[m.touchOf(r.saw, r.cell)] == x.want[i])
	}
	x.number()
}

// findActs finds what each node needs and does.
func (x *moves) findActs() {
	m := x.m
	x.acts = make([]act, m.goal)
	for n := range m.goal {
		a := &x.acts[n]
		*a = act{thread: m.chain[n], cell: noCell, wants: noCell, leaves: noCell, message: m.message[n] >= 0, asks: true}
		list := m.touches[m.touchAt[n]:m.touchAt[n+1]]
		for _, t := range list {
			a.writes = a.writes || t.write
		}
		if len(list) > 1 {
			a.cell, a.wants, a.leaves = manyCells, manyCells, manyCells
		} else if len(list) == 1 {
			t := &list[0]
			if a.cell = t.cell; t.read >= 0 {
				a.wants = x.want[t.read]
			}
			if t.write {
				a.leaves = x.class[m.touchAt[n]]
			}
		}
		if id := m.begins[n]; id >= 0 {
			a.takes, a.shared = x.held(m.sections[id].lock), m.sections[id].shared
		}
		if id := m.ends[n]; id >= 0 {
			a.returns = x.held(m.sections[id].lock)
			if m.sections[id].shared {
				a.returns++
			}
		}
	}
}

// findSections finds where threads hold locks.
func (x *moves) findSections() {
	m := x.m
	x.enters, x.leaves = make([]order.Node, m.goal), make([]order.Node, m.goal)
	for k := range x.threads {
		open, first := 0, none
		for n := m.base[k]; n < m.base[k+1]; n++ {
			x.enters[n] = first
			if m.begins[n] >= 0 {
				if open++; open == 1 {
					first = n
				}
			}
			if m.ends[n] >= 0 {
				if open--; open <= 0 {
					open, first = 0, none
				}
			}
		}
		last := m.base[k+1] - 1
		for n := last; n >= m.base[k]; n-- {
			if n < last && x.enters[n+1] != x.enters[n] {
				last = n
			}
			x.leaves[n] = last
		}
	}
	// Sections of one thread may overlap, but states only count them.
	for i := range m.locks {
		last := map[int32]*criticalSection{}
		for _, id := range m.locks[i].sections {
			b := &m.sections[id]
			if a := last[b.chain]; a != nil {
				x.exact = x.exact && a.release != none && b.acquire != none && m.before(a.release, b.acquire)
			}
			last[b.chain] = b
		}
	}
}

// findMovers finds the nodes that hinder nobody.
func (x *moves) findMovers() {
	m := x.m
	for n := range m.goal {
		a := &x.acts[n]
		a.mover = !a.writes && (!a.message || m.receives(n))
	}
	at := make([]int32, x.cells)
	for n := range m.goal {
		if m.begins[n] < 0 {
			continue
		}
		a, from := &x.acts[n], len(x.finds)
		if a.passes, a.reads = x.passable(n, at); !a.passes {
			x.finds = x.finds[:from]
		}
		a.finds = [2]int32{int32(from), int32(len(x.finds))}
	}
}

// passable reports whether a critical section that a node begins can hinder nobody, as it finds all
// cells that it touches as it leaves them, and whether it does so in any case. It adds to x.finds
// what it finds; at is scratch, where in there cells are.
func (x *moves) passable(first order.Node, at []int32) (can, always bool) {
	m, from := x.m, len(x.finds)
	hold := func(cell, class int32) bool {
		k := int(at[cell])
		if k < from || k >= len(x.finds) || x.finds[k].cell != cell {
			at[cell] = int32(len(x.finds))
			x.finds = append(x.finds, content{cell, class})
			return true
		}
		return x.finds[k].class == class
	}
	always = true
	for n, open := first, 0; n < m.base[m.chain[first]+1]; n++ {
		for i := m.touchAt[n]; i < m.touchAt[n+1]; i++ {
			t := &m.touches[i]
			if t.read >= 0 && !hold(t.cell, x.want[t.read]) || t.write && !hold(t.cell, x.class[i]) {
				return false, false
			}
		}
		if m.message[n] >= 0 && !m.receives(n) {
			return false, false
		}
		always = always && x.acts[n].mover
		if open += x.depth(n, first); open == 0 {
			return true, always
		}
	}
	return false, false
}

// findUses finds what steps are of use to: to a thread that is about to take steps that hinder
// nobody, if these need what is given.
func (x *moves) findUses() {
	m := x.m
	x.needs, x.gives = make([]uint64, m.goal), make([]uint64, m.goal)
	touched := make([]uint64, m.goal) // what a node needs by itself
	for n := range m.goal {
		x.gives[n] = stepped
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			touched[n] |= cellBit(t.cell)
			if t.write {
				x.gives[n] |= cellBit(t.cell)
			}
		}
		if id := m.begins[n]; id >= 0 {
			touched[n] |= lockBit(m.sections[id].lock)
		}
		if id := m.ends[n]; id >= 0 {
			x.gives[n] |= lockBit(m.sections[id].lock)
		}
		if x.acts[n].asks || x.acts[n].message {
			touched[n] |= stepped
		}
	}
	for n := range m.goal {
		x.needs[n] = touched[n]
		if m.begins[n] < 0 {
			continue
		}
		for o, open := n, 0; o < m.base[m.chain[n]+1]; o++ {
			x.needs[n] |= touched[o]
			if open += x.depth(o, n); open == 0 {
				break
			}
		}
	}
}

// number gives the classes of each cell numbers from 0, one to all that no read may see.
func (x *moves) number() {
	m := x.m
	type key struct{ cell, class int32 }
	known := map[key]int32{}
	used := make([]int32, len(m.cells))
	wanted := map[key]bool{}
	for i := range m.reads {
		wanted[key{m.reads[i].cell, x.want[i]}] = true
	}
	id := func(cell int32, class *int32) {
		k := key{cell, *class}
		if !wanted[k] {
			k.class = math.MaxInt32 // one is as good as another
		}
		n, ok := known[k]
		if !ok {
			n = used[cell]
			used[cell]++
			known[k] = n
		}
		*class = n
	}
	for c := range x.start {
		id(int32(c), &x.start[c])
	}
	for i := range m.touches {
		if m.touches[i].write {
			id(m.touches[i].cell, &x.class[i])
		}
	}
	for i := range m.reads {
		id(m.reads[i].cell, &x.want[i])
	}
}

func cellBit(cell int32) uint64 { return 1 << (cell % 63) }

func lockBit(lock int32) uint64 { return 1 << (62 - lock%63) }

// stepped stands for that somebody has taken a step.
const stepped = uint64(1) << 63

// askers finds the nodes before which more has to come than before the one before them, as
// long as that is what comes before what in any case.
func (x *moves) askers() {
	m := x.m
	x.rows, x.acts = m.rows, slices.Clone(x.acts)
	for n := range m.goal {
		p, asks := m.prev(n), false
		for k, v := range m.row(n)[:x.threads] {
			asks = asks || k != int(m.chain[n]) && v > 0 && (p == none || m.row(p)[k] < v)
		}
		x.acts[n].asks = asks
	}
	x.findUses()
}

// limits returns a bound for each part of a state.
func (x *moves) limits() []int32 {
	m := x.m
	most := make([]int32, x.size)
	for k := range x.threads {
		most[k] = int32(m.base[k+1] - m.base[k])
	}
	copy(most[x.threads:], x.start)
	for i, t := range m.touches {
		if t.write {
			c := &most[x.threads+int(t.cell)]
			*c = max(*c, x.class[i])
		}
	}
	for i := range x.locks {
		at, n := x.threads+x.cells+2*i, int32(len(m.locks[i].sections))
		most[at], most[at+1] = n, n
	}
	for i := range m.messages {
		most[x.size-len(m.messages)+i] = int32(len(m.messages[i].sends))
	}
	return most
}
