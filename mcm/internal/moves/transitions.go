package moves

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// assignClasses computes the classes of writes, initial values and reads, and clears Exact if the
// classes lose information.
func (x *Machine) assignClasses() {
	m := x.Model
	for n := range m.Goal {
		for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
			x.WriteClass[i] = int32(n) + 1
		}
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		x.ReadClass[i] = int32(r.Saw) + 1
		if len(r.Same) == 0 {
			continue
		}
		key := -int32(r.Same[0]) - 1
		x.ReadClass[i] = key
		if r.Initial {
			x.InitialClass[r.Cell] = key
		}
		if x.WriteClass[m.AccessOf(r.Same[len(r.Same)-1], r.Cell)] != key {
			for _, w := range r.Same {
				x.WriteClass[m.AccessOf(w, r.Cell)] = key
			}
		}
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		x.Exact = x.Exact && r.Initial == (x.InitialClass[r.Cell] == x.ReadClass[i]) &&
			(r.Saw == model.None || x.WriteClass[m.AccessOf(r.Saw, r.Cell)] == x.ReadClass[i])
	}
	x.numberClasses()
}

// findTransitions computes Transitions, apart from what concerns movers.
func (x *Machine) findTransitions() {
	m := x.Model
	x.Transitions = make([]Transition, m.Goal)
	for n := range m.Goal {
		a := &x.Transitions[n]
		*a = Transition{thread: m.Chain[n], Cell: NoCell, Required: NoCell, Written: NoCell, Message: m.Message[n] >= 0, ChecksOrder: true}
		list := m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]]
		for _, t := range list {
			a.Writes = a.Writes || t.Write
		}
		if len(list) > 1 {
			a.Cell, a.Required, a.Written = ManyCells, ManyCells, ManyCells
		} else if len(list) == 1 {
			t := &list[0]
			if a.Cell = t.Cell; t.Read >= 0 {
				a.Required = x.ReadClass[t.Read]
			}
			if t.Write {
				a.Written = x.WriteClass[m.AccessAt[n]]
			}
		}
		if id := m.Begins[n]; id >= 0 {
			a.acquires, a.shared = x.lockIndex(m.Sections[id].Lock), m.Sections[id].Shared
		}
		if id := m.Ends[n]; id >= 0 {
			a.releases = x.lockIndex(m.Sections[id].Lock)
			if m.Sections[id].Shared {
				a.releases++
			}
		}
	}
}

// findLockedRegions computes RegionStart and RegionEnd. It clears Exact if critical sections of a
// thread overlap on one lock, since states only count them.
func (x *Machine) findLockedRegions() {
	m := x.Model
	x.RegionStart, x.RegionEnd = make([]order.Node, m.Goal), make([]order.Node, m.Goal)
	for k := range x.Threads {
		open, first := 0, model.None
		for n := m.Base[k]; n < m.Base[k+1]; n++ {
			x.RegionStart[n] = first
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
			if n < last && x.RegionStart[n+1] != x.RegionStart[n] {
				last = n
			}
			x.RegionEnd[n] = last
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

// findMovers finds the nodes and critical sections that are movers.
func (x *Machine) findMovers() {
	m := x.Model
	for n := range m.Goal {
		a := &x.Transitions[n]
		a.Mover = !a.Writes && (!a.Message || m.Receives(n))
	}
	at := make([]int32, x.Cells)
	for n := range m.Goal {
		if m.Begins[n] < 0 {
			continue
		}
		a, from := &x.Transitions[n], len(x.requirements)
		if a.movableSection, a.ReadOnlySection = x.findRequirements(n, at); !a.movableSection {
			x.requirements = x.requirements[:from]
		}
		a.requirements = [2]int32{int32(from), int32(len(x.requirements))}
	}
}

// findRequirements reports whether the critical section that begins at first is movable, because
// it leaves each cell as it requires it, and whether it contains movers only. It appends the
// required values to x.requirements. The scratch slice at holds, by cell, an index of
// x.requirements.
func (x *Machine) findRequirements(first order.Node, at []int32) (can, always bool) {
	m, from := x.Model, len(x.requirements)
	hold := func(cell, class int32) bool {
		k := int(at[cell])
		if k < from || k >= len(x.requirements) || x.requirements[k].Cell != cell {
			at[cell] = int32(len(x.requirements))
			x.requirements = append(x.requirements, CellValue{cell, class})
			return true
		}
		return x.requirements[k].Class == class
	}
	always = true
	for n, open := first, 0; n < m.Base[m.Chain[first]+1]; n++ {
		for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
			t := &m.Accesses[i]
			if t.Read >= 0 && !hold(t.Cell, x.ReadClass[t.Read]) || t.Write && !hold(t.Cell, x.WriteClass[i]) {
				return false, false
			}
		}
		if m.Message[n] >= 0 && !m.Receives(n) {
			return false, false
		}
		always = always && x.Transitions[n].Mover
		if open += x.depthChange(n, first); open == 0 {
			return true, always
		}
	}
	return false, false
}

// findDependencies computes changes and dependsOn. If dependsOn of a thread's next node and
// changes of an executed node have no common bit, that execution does not enable movers of the
// thread.
func (x *Machine) findDependencies() {
	m := x.Model
	x.dependsOn, x.changes = make([]uint64, m.Goal), make([]uint64, m.Goal)
	touched := make([]uint64, m.Goal) // by node: what can enable it
	for n := range m.Goal {
		x.changes[n] = anyStep
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			touched[n] |= CellBit(t.Cell)
			if t.Write {
				x.changes[n] |= CellBit(t.Cell)
			}
		}
		if id := m.Begins[n]; id >= 0 {
			touched[n] |= lockBit(m.Sections[id].Lock)
		}
		if id := m.Ends[n]; id >= 0 {
			x.changes[n] |= lockBit(m.Sections[id].Lock)
		}
		if x.Transitions[n].ChecksOrder || x.Transitions[n].Message {
			touched[n] |= anyStep
		}
	}
	for n := range m.Goal {
		x.dependsOn[n] = touched[n]
		if m.Begins[n] < 0 {
			continue
		}
		for o, open := n, 0; o < m.Base[m.Chain[n]+1]; o++ {
			x.dependsOn[n] |= touched[o]
			if open += x.depthChange(o, n); open == 0 {
				break
			}
		}
	}
}

// numberClasses numbers the classes of each cell from 0. All classes that no read requires get the
// same number.
func (x *Machine) numberClasses() {
	m := x.Model
	type key struct{ cell, class int32 }
	known := map[key]int32{}
	used := make([]int32, len(m.Cells))
	wanted := map[key]bool{}
	for i := range m.Reads {
		wanted[key{m.Reads[i].Cell, x.ReadClass[i]}] = true
	}
	id := func(cell int32, class *int32) {
		k := key{cell, *class}
		if !wanted[k] {
			k.class = math.MaxInt32 // no read distinguishes these classes
		}
		n, ok := known[k]
		if !ok {
			n = used[cell]
			used[cell]++
			known[k] = n
		}
		*class = n
	}
	for c := range x.InitialClass {
		id(int32(c), &x.InitialClass[c])
	}
	for i := range m.Accesses {
		if m.Accesses[i].Write {
			id(m.Accesses[i].Cell, &x.WriteClass[i])
		}
	}
	for i := range m.Reads {
		id(m.Reads[i].Cell, &x.ReadClass[i])
	}
}

// CellBit returns the bit of a cell in a set of cells and locks. Different cells may share a bit.
func CellBit(cell int32) uint64 { return 1 << (cell % 63) }

// lockBit returns the bit of a lock in a set of cells and locks.
func lockBit(lock int32) uint64 { return 1 << (62 - lock%63) }

// anyStep is the bit that every executed node sets.
const anyStep = uint64(1) << 63

// UseStaticOrder makes the model's static order the only order that Enabled checks, and computes
// ChecksOrder for it. It gives the machine a Transitions slice of its own.
func (x *Machine) UseStaticOrder() {
	m := x.Model
	x.Rows, x.Transitions = m.Rows, slices.Clone(x.Transitions)
	for n := range m.Goal {
		p, checks := m.Prev(n), false
		for k, v := range m.Row(n)[:x.Threads] {
			checks = checks || k != int(m.Chain[n]) && v > 0 && (p == model.None || m.Row(p)[k] < v)
		}
		x.Transitions[n].ChecksOrder = checks
	}
	x.findDependencies()
}

// Limits returns the maximum of each component of a state.
func (x *Machine) Limits() []int32 {
	m := x.Model
	most := make([]int32, x.StateSize)
	for k := range x.Threads {
		most[k] = int32(m.Base[k+1] - m.Base[k])
	}
	copy(most[x.Threads:], x.InitialClass)
	for i, t := range m.Accesses {
		if t.Write {
			c := &most[x.Threads+int(t.Cell)]
			*c = max(*c, x.WriteClass[i])
		}
	}
	for i := range x.locks {
		at, n := x.Threads+x.Cells+2*i, int32(len(m.Locks[i].Sections))
		most[at], most[at+1] = n, n
	}
	for i := range m.Messages {
		most[x.StateSize-len(m.Messages)+i] = int32(len(m.Messages[i].Sends))
	}
	return most
}
