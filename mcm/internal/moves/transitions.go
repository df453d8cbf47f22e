package moves

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// classify finds which writes are the same to reads.
func (x *Machine) classify() {
	m := x.M
	for n := range m.Goal {
		for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
			x.Class[i] = int32(n) + 1
		}
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		x.Want[i] = int32(r.Saw) + 1
		if len(r.Same) == 0 {
			continue
		}
		key := -int32(r.Same[0]) - 1
		x.Want[i] = key
		if r.Initial {
			x.Initial[r.Cell] = key
		}
		if x.Class[m.AccessOf(r.Same[len(r.Same)-1], r.Cell)] != key {
			for _, w := range r.Same {
				x.Class[m.AccessOf(w, r.Cell)] = key
			}
		}
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		x.Exact = x.Exact && r.Initial == (x.Initial[r.Cell] == x.Want[i]) &&
			(r.Saw == model.None || x.Class[m.AccessOf(r.Saw, r.Cell)] == x.Want[i])
	}
	x.number()
}

// findTransitions finds what each node needs and does.
func (x *Machine) findTransitions() {
	m := x.M
	x.Transitions = make([]Transition, m.Goal)
	for n := range m.Goal {
		a := &x.Transitions[n]
		*a = Transition{thread: m.Chain[n], Cell: NoCell, Wants: NoCell, Leaves: NoCell, Message: m.Message[n] >= 0, Waits: true}
		list := m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]]
		for _, t := range list {
			a.Writes = a.Writes || t.Write
		}
		if len(list) > 1 {
			a.Cell, a.Wants, a.Leaves = ManyCells, ManyCells, ManyCells
		} else if len(list) == 1 {
			t := &list[0]
			if a.Cell = t.Cell; t.Read >= 0 {
				a.Wants = x.Want[t.Read]
			}
			if t.Write {
				a.Leaves = x.Class[m.AccessAt[n]]
			}
		}
		if id := m.Begins[n]; id >= 0 {
			a.takes, a.shared = x.held(m.Sections[id].Lock), m.Sections[id].Shared
		}
		if id := m.Ends[n]; id >= 0 {
			a.returns = x.held(m.Sections[id].Lock)
			if m.Sections[id].Shared {
				a.returns++
			}
		}
	}
}

// findSections finds where threads hold locks.
func (x *Machine) findSections() {
	m := x.M
	x.Enters, x.Leaves = make([]order.Node, m.Goal), make([]order.Node, m.Goal)
	for k := range x.Threads {
		open, first := 0, model.None
		for n := m.Base[k]; n < m.Base[k+1]; n++ {
			x.Enters[n] = first
			if m.Begins[n] >= 0 {
				if open++; open == 1 {
					first = n
				}
			}
			if m.Ends[n] >= 0 {
				if open--; open <= 0 {
					open, first = 0, model.None
				}
			}
		}
		last := m.Base[k+1] - 1
		for n := last; n >= m.Base[k]; n-- {
			if n < last && x.Enters[n+1] != x.Enters[n] {
				last = n
			}
			x.Leaves[n] = last
		}
	}
	// Sections of one thread may overlap, but states only count them.
	for i := range m.Locks {
		last := map[int32]*model.CriticalSection{}
		for _, id := range m.Locks[i].Sections {
			b := &m.Sections[id]
			if a := last[b.Chain]; a != nil {
				x.Exact = x.Exact && a.Release != model.None && b.Acquire != model.None && m.Before(a.Release, b.Acquire)
			}
			last[b.Chain] = b
		}
	}
}

// findMovers finds the nodes that hinder nobody.
func (x *Machine) findMovers() {
	m := x.M
	for n := range m.Goal {
		a := &x.Transitions[n]
		a.Mover = !a.Writes && (!a.Message || m.Receives(n))
	}
	at := make([]int32, x.Cells)
	for n := range m.Goal {
		if m.Begins[n] < 0 {
			continue
		}
		a, from := &x.Transitions[n], len(x.finds)
		if a.passes, a.Reads = x.passable(n, at); !a.passes {
			x.finds = x.finds[:from]
		}
		a.finds = [2]int32{int32(from), int32(len(x.finds))}
	}
}

// passable reports whether a critical section that a node begins can hinder nobody, as it finds all
// cells that it touches as it leaves them, and whether it does so in any case. It adds to x.finds
// what it finds; at is scratch, where in there cells are.
func (x *Machine) passable(first order.Node, at []int32) (can, always bool) {
	m, from := x.M, len(x.finds)
	hold := func(cell, class int32) bool {
		k := int(at[cell])
		if k < from || k >= len(x.finds) || x.finds[k].Cell != cell {
			at[cell] = int32(len(x.finds))
			x.finds = append(x.finds, Content{cell, class})
			return true
		}
		return x.finds[k].Class == class
	}
	always = true
	for n, open := first, 0; n < m.Base[m.Chain[first]+1]; n++ {
		for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
			t := &m.Accesses[i]
			if t.Read >= 0 && !hold(t.Cell, x.Want[t.Read]) || t.Write && !hold(t.Cell, x.Class[i]) {
				return false, false
			}
		}
		if m.Message[n] >= 0 && !m.Receives(n) {
			return false, false
		}
		always = always && x.Transitions[n].Mover
		if open += x.depth(n, first); open == 0 {
			return true, always
		}
	}
	return false, false
}

// findUses finds what steps are of use to: to a thread that is about to take steps that hinder
// nobody, if these need what is given.
func (x *Machine) findUses() {
	m := x.M
	x.needs, x.gives = make([]uint64, m.Goal), make([]uint64, m.Goal)
	touched := make([]uint64, m.Goal) // what a node needs by itself
	for n := range m.Goal {
		x.gives[n] = stepped
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			touched[n] |= CellBit(t.Cell)
			if t.Write {
				x.gives[n] |= CellBit(t.Cell)
			}
		}
		if id := m.Begins[n]; id >= 0 {
			touched[n] |= lockBit(m.Sections[id].Lock)
		}
		if id := m.Ends[n]; id >= 0 {
			x.gives[n] |= lockBit(m.Sections[id].Lock)
		}
		if x.Transitions[n].Waits || x.Transitions[n].Message {
			touched[n] |= stepped
		}
	}
	for n := range m.Goal {
		x.needs[n] = touched[n]
		if m.Begins[n] < 0 {
			continue
		}
		for o, open := n, 0; o < m.Base[m.Chain[n]+1]; o++ {
			x.needs[n] |= touched[o]
			if open += x.depth(o, n); open == 0 {
				break
			}
		}
	}
}

// number gives the classes of each cell numbers from 0, one to all that no read may see.
func (x *Machine) number() {
	m := x.M
	type key struct{ cell, class int32 }
	known := map[key]int32{}
	used := make([]int32, len(m.Cells))
	wanted := map[key]bool{}
	for i := range m.Reads {
		wanted[key{m.Reads[i].Cell, x.Want[i]}] = true
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
	for c := range x.Initial {
		id(int32(c), &x.Initial[c])
	}
	for i := range m.Accesses {
		if m.Accesses[i].Write {
			id(m.Accesses[i].Cell, &x.Class[i])
		}
	}
	for i := range m.Reads {
		id(m.Reads[i].Cell, &x.Want[i])
	}
}

func CellBit(cell int32) uint64 { return 1 << (cell % 63) }

func lockBit(lock int32) uint64 { return 1 << (62 - lock%63) }

// stepped stands for that somebody has taken a step.
const stepped = uint64(1) << 63

// UseStaticOrder finds the nodes before which more has to come than before the one before them, as
// long as that is what comes before what in any case.
func (x *Machine) UseStaticOrder() {
	m := x.M
	x.Rows, x.Transitions = m.Rows, slices.Clone(x.Transitions)
	for n := range m.Goal {
		p, asks := m.Prev(n), false
		for k, v := range m.Row(n)[:x.Threads] {
			asks = asks || k != int(m.Chain[n]) && v > 0 && (p == model.None || m.Row(p)[k] < v)
		}
		x.Transitions[n].Waits = asks
	}
	x.findUses()
}

// Limits returns a bound for each part of a state.
func (x *Machine) Limits() []int32 {
	m := x.M
	most := make([]int32, x.Size)
	for k := range x.Threads {
		most[k] = int32(m.Base[k+1] - m.Base[k])
	}
	copy(most[x.Threads:], x.Initial)
	for i, t := range m.Accesses {
		if t.Write {
			c := &most[x.Threads+int(t.Cell)]
			*c = max(*c, x.Class[i])
		}
	}
	for i := range x.locks {
		at, n := x.Threads+x.Cells+2*i, int32(len(m.Locks[i].Sections))
		most[at], most[at+1] = n, n
	}
	for i := range m.Messages {
		most[x.Size-len(m.Messages)+i] = int32(len(m.Messages[i].Sends))
	}
	return most
}
