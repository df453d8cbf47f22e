package grid

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// axis is the places of one thread: one before each macro step, and its end.
type axis struct {
	thread int
	steps  []macroStep
}

// macroStep is the nodes that a thread executes in one step: acquisitions, which can be postponed
// until the main node; the main node; and nodes such as releases and forks, which can follow at
// once.
type macroStep struct {
	first, node, end order.Node // the nodes first to end-1, with the main node
	readsUnwritten   uint64     // the unwritten cells that it reads, as bits
	unchanged        uint64     // the contents with which it is possible and that it does not change
	shift                       // what it makes of others
	more             []shift    // further changes
	invisible        bool       // other threads do not depend on when it is taken
}

// findPlaces computes the axes and their macro steps.
func (g *Grid) findPlaces() {
	m := g.m
	out, in := make([]bool, m.Goal), make([]bool, m.Goal)
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			out[e.From], in[e.To] = true, true
		}
	}
	noEffect := func(n order.Node) bool { return m.AccessAt[n] == m.AccessAt[n+1] && m.Message[n] < 0 }
	for k := range g.machine.Threads {
		from, to := m.Base[k], m.Base[k+1]
		matters := false
		for n := from; n < to; n++ {
			matters = matters || !noEffect(n) || m.Begins[n] >= 0 || m.Ends[n] >= 0
		}
		if !matters {
			continue
		}
		a := axis{thread: k}
		for n := from; n < to; {
			s := macroStep{first: n}
			for n+1 < to && m.Begins[n] >= 0 && m.Ends[n] < 0 && noEffect(n) && !out[n] {
				n++
			}
			s.node = n
			for n++; n < to && m.Begins[n] < 0 && noEffect(n) && !in[n]; n++ {
			}
			s.end = n
			s.invisible = !slices.ContainsFunc(m.Accesses[m.AccessAt[s.node]:m.AccessAt[s.node+1]], func(t model.CellAccess) bool { return t.Write })
			for n := s.first; n < s.end; n++ {
				s.invisible = s.invisible && m.Begins[n] < 0 && m.Ends[n] < 0 && !out[n] && (m.Message[n] < 0 || m.Receives(n))
			}
			a.steps = append(a.steps, s)
		}
		g.axes = append(g.axes, a)
	}
	slices.SortStableFunc(g.axes, func(a, b axis) int { return len(b.steps) - len(a.steps) })
	g.firstPlace = []int{0}
	for i := range g.axes {
		a := &g.axes[i]
		g.axis[a.thread] = int32(i)
		g.firstPlace = append(g.firstPlace, (g.firstPlace[i]+g.places(i)+63)&^63)
	}
	g.node = make([]order.Node, g.firstPlace[len(g.axes)])
	for i := range g.axes {
		for p, s := range g.axes[i].steps {
			g.place[s.node], g.node[g.firstPlace[i]+p] = int32(p), s.node
		}
	}
}

// findHeld computes heldAt and heldBefore.
func (g *Grid) findHeld() {
	m := g.m
	g.heldAt, g.heldBefore = make([]model.LockMask, g.firstPlace[len(g.axes)]), m.HeldLocks()
	var always model.LockMask // held throughout by threads without an axis, or by none
	now := make([]model.LockMask, g.machine.Threads)
	set := func(id int32, to bool) {
		s, h := &m.Sections[id], &always
		if s.Chain >= 0 && g.axis[s.Chain] >= 0 {
			h = &now[s.Chain]
		}
		bit := uint64(1) << s.Lock
		h.Any &^= bit
		h.Exclusive &^= bit
		if to {
			h.Any |= bit
			if !s.Shared {
				h.Exclusive |= bit
			}
		}
	}
	for i := range m.Sections {
		if m.Sections[i].Acquire == model.None {
			set(int32(i), true)
		}
	}
	for i := range g.axes {
		a := &g.axes[i]
		h := &now[a.thread]
		for p := range g.places(i) {
			at := &g.heldAt[g.firstPlace[i]+p]
			*at = model.LockMask{Any: h.Any | always.Any, Exclusive: h.Exclusive | always.Exclusive}
			if p == len(a.steps) {
				break
			}
			for n := a.steps[p].first; n < a.steps[p].end; n++ {
				if id := m.Begins[n]; id >= 0 {
					set(id, true)
				}
				if id := m.Ends[n]; id >= 0 {
					set(id, false)
				}
			}
		}
	}
}

// matrix is a square matrix of bits.
type matrix struct {
	width int
	bits  []uint64
}

// comparePlaces computes the matrices.
func (g *Grid) comparePlaces() {
	n := g.firstPlace[len(g.axes)]
	g.canStep, g.canStepT, g.canPend, g.canPendT, g.unmet = newMatrix(n), newMatrix(n), newMatrix(n), newMatrix(n), newMatrix(n)
	for i := range g.axes {
		for p := range g.axes[i].steps {
			for j := range g.axes {
				for q := 0; j != i && q < g.places(j); q++ {
					at, other := g.firstPlace[i]+p, g.firstPlace[j]+q
					may, near := g.compatible(&g.axes[i].steps[p], j, q)
					if may {
						g.canStep.set(at, other)
						g.canStepT.set(other, at)
					}
					if near {
						g.canPend.set(at, other)
						g.canPendT.set(other, at)
					}
					if a, b := g.node[at], g.node[other]; q < len(g.axes[j].steps) && g.machine.Conflict(a, b) && !g.heldBefore[a].Excludes(g.heldBefore[b]) {
						g.unmet.set(at, other)
					}
				}
			}
		}
	}
}

// compatible reports whether a step is permitted while another thread is at a place, and whether
// its main node can be pending.
func (g *Grid) compatible(s *macroStep, axis, place int) (all, near bool) {
	m := g.m
	a := &g.axes[axis]
	end := m.Base[a.thread+1]
	if place < len(a.steps) {
		end = a.steps[place].first
	}
	come := int32(end - m.Base[a.thread])
	held := g.heldAt[g.firstPlace[axis]+place]
	near = true
	for _, e := range m.Enablers(s.node) {
		near = near && m.Row(e)[a.thread] <= come
	}
	for n := s.first; n < s.end; n++ {
		can := m.Row(n)[a.thread] <= come
		if id := m.Begins[n]; id >= 0 {
			bit := uint64(1) << m.Sections[id].Lock
			can = can && held.Exclusive&bit == 0 && (held.Any&bit == 0 || m.Sections[id].Shared)
		}
		if q := m.Message[n]; q >= 0 && m.Receives(n) {
			for i, e := range m.Messages[q].Sends {
				if m.Chain[e] == int32(a.thread) {
					can = can && (e < end) == (i < int(m.Rank[n]))
				}
			}
		}
		if !can {
			return false, near && n >= s.node
		}
	}
	return true, near
}

func newMatrix(n int) matrix { return matrix{n / 64, make([]uint64, n*n/64)} }

func (a *matrix) row(i int) []uint64 { return a.bits[i*a.width : (i+1)*a.width] }

func (a *matrix) has(i, j int) bool { return a.bits[i*a.width+j/64]>>(j%64)&1 != 0 }

func (a *matrix) set(i, j int) { a.bits[i*a.width+j/64] |= 1 << (j % 64) }

func (a *matrix) unset(i, j int) { a.bits[i*a.width+j/64] &^= 1 << (j % 64) }
