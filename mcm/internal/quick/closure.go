package quick

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Closure is the set of edges that all answers to a query have in common: those of the model, those
// of the query, and those that follow from these and the constraints of locks, reads and messages.
type Closure struct {
	m     *model.Model
	width int
	Rows  []int32 // as Model.Rows, for these edges
	first []int32 // by node: the first of its links, plus one
	links []link
	trail []change     // the changes of Rows, for Undo
	work  []order.Node // scratch: nodes whose row has changed
	done  []bool       // scratch: by chain

	sets    *model.ValueSets
	choices []choiceRange // of a read, see findChoices
	initial bool          // the value before the window is a further choice
	meet    []int32       // scratch: by chain, how many nodes come before all choices
	cover   []int32       // scratch, see Model.Cover

	observed bool // each read is to see the write that it saw, which is a guess
}

// link is an edge to a node of another chain.
type link struct {
	to   order.Node
	from order.Node
	next int32 // the next link from the same node, plus one
}

// change is a cell of Rows that was raised.
type change struct{ at, old int32 }

// choiceRange is the choices of a read that are left in one chain. The first and the last one stand
// for all: a node before the first comes before all, and a node after the last comes after all.
type choiceRange struct{ first, last order.Node }

// NewClosure returns the closure of a model without a query.
func NewClosure(m *model.Model, sets *model.ValueSets) *Closure {
	c := &Closure{m: m, sets: sets, width: len(m.Base) - 1, Rows: slices.Clone(m.Rows), first: make([]int32, m.Goal+1), done: make([]bool, len(m.Base)-1),
		meet: make([]int32, len(m.Base)-1), cover: make([]int32, len(m.Base)-1)}
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			c.link(e.From, e.To)
		}
	}
	return c
}

func (c *Closure) link(from, to order.Node) {
	c.links = append(c.links, link{to: to, from: from, next: c.first[from]})
	c.first[from] = int32(len(c.links))
}

func (c *Closure) row(n order.Node) []int32 {
	return c.Rows[int(n)*c.width : int(n)*c.width+c.width]
}

// before reports whether a comes before b or is b.
func (c *Closure) before(a, b order.Node) bool {
	return c.Rows[int(b)*c.width+int(c.m.Chain[a])] > c.m.Pos(a)
}

// mark is a state of a Closure that Undo restores.
type mark struct{ links, trail int }

// Mark returns the current state.
func (c *Closure) Mark() mark { return mark{len(c.links), len(c.trail)} }

// Undo restores an earlier state.
func (c *Closure) Undo(to mark) {
	for len(c.links) > to.links {
		l := c.links[len(c.links)-1]
		c.first[l.from] = l.next
		c.links = c.links[:len(c.links)-1]
	}
	for i := len(c.trail) - 1; i >= to.trail; i-- {
		c.Rows[c.trail[i].at] = c.trail[i].old
	}
	c.trail = c.trail[:to.trail]
}

// add adds the edge from from to to. It reports false if that closes a cycle.
func (c *Closure) add(from, to order.Node) bool {
	if from == to || c.before(to, from) {
		return false
	}
	if c.before(from, to) {
		return true
	}
	c.link(from, to)
	c.work = c.work[:0]
	if c.merge(to, from) {
		c.work = append(c.work, to)
	}
	for len(c.work) > 0 {
		n := c.work[len(c.work)-1]
		c.work = c.work[:len(c.work)-1]
		for i := c.first[n]; i != 0; i = c.links[i-1].next {
			if l := &c.links[i-1]; c.merge(l.to, n) {
				c.work = append(c.work, l.to)
			}
		}
		if next := n + 1; next <= c.m.Goal && c.m.Chain[next] == c.m.Chain[n] && c.merge(next, n) {
			c.work = append(c.work, next)
		}
	}
	return true
}

// merge raises the row of to by the row of from, and reports whether that changes it.
func (c *Closure) merge(to, from order.Node) (changed bool) {
	source := c.row(from)
	base := int(to) * c.width
	row := c.Rows[base : base+c.width]
	for i, v := range source {
		if v > row[i] {
			c.trail = append(c.trail, change{int32(base + i), row[i]})
			row[i] = v
			changed = true
		}
	}
	return changed
}

// AddQuery adds the edges of a query. It reports false if that closes a cycle.
func (c *Closure) AddQuery(q *model.Query) bool {
	for _, e := range q.Edges(c.m) {
		if !c.add(e.From, e.To) {
			return false
		}
	}
	return true
}

// Saturate adds the edges that follow from the constraints of locks, reads and messages. It reports
// false if the constraints contradict each other. Constraints apply only to nodes before the goal,
// so only nodes that must come before the goal have consequences.
func (c *Closure) Saturate() bool {
	for {
		size := len(c.trail)
		if !c.saturateLocks() || !c.saturateReads() || !c.saturateMessages() {
			return false
		}
		if len(c.trail) == size {
			return true
		}
	}
}

// beforeGoal reports whether a node must come before the goal.
func (c *Closure) beforeGoal(n order.Node) bool { return c.before(n, c.m.Goal) }

// saturateLocks orders conflicting critical sections: if one must start before another one ends, it
// must also end before the other one starts.
func (c *Closure) saturateLocks() bool {
	m := c.m
	for i := range m.Locks {
		list := m.Locks[i].Sections
		for _, y := range list {
			s := &m.Sections[y]
			if s.Acquire != model.None && !c.beforeGoal(s.Acquire) {
				continue
			}
			// In each chain, the latest section that starts before the end of s stands for all.
			for at := 0; at < len(list); {
				chain := m.Sections[list[at]].Chain
				to := at + 1
				for to < len(list) && m.Sections[list[to]].Chain == chain {
					to++
				}
				if chain != s.Chain && !c.exclude(list[at:to], s) {
					return false
				}
				at = to
			}
		}
	}
	return true
}

// exclude orders the sections of a chain that start before the end of s before the start of s. The
// latest of them suffices, because the others end before it.
func (c *Closure) exclude(list []int32, s *model.CriticalSection) bool {
	m := c.m
	for i := len(list) - 1; i >= 0; i-- {
		o := &m.Sections[list[i]]
		if !s.Conflicts(o) {
			continue
		}
		if o.Acquire != model.None {
			if !c.beforeGoal(o.Acquire) || s.Release != model.None && !c.before(o.Acquire, s.Release) {
				continue
			}
		} else if s.Acquire == model.None {
			return false
		}
		if s.Acquire == model.None {
			return false // s holds the lock from the start of the window, so nothing can end before it
		}
		return o.Release != model.None && c.add(o.Release, s.Acquire)
	}
	return true
}

// saturateReads adds the consequences of reads: no rival comes between a read and its source.
func (c *Closure) saturateReads() bool {
	m := c.m
	var needed []int32
	if m.Flow != nil {
		needed = m.Flow.Needed(c.row(m.Goal))
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		if !c.beforeGoal(r.Node) || needed != nil && !r.Unowned && !r.Decides && m.Pos(r.Node) >= needed[m.Chain[r.Node]] {
			continue
		}
		saw := r.Saw
		if !c.observed && c.sets.Of[i] >= 0 {
			var only bool
			set := &c.sets.List[c.sets.Of[i]]
			if saw, only = c.findChoices(r, set); !only {
				if !c.addCommon(r, set) {
					return false
				}
				continue
			}
			if saw == noSource {
				return false
			}
		}
		if !c.addSource(r, saw) {
			return false
		}
	}
	return true
}

// noSource means that a read has no choice left.
const noSource order.Node = -2

// findChoices finds the choices of a read that are left, and returns the source if there is only one.
// Otherwise it leaves them in choices and initial.
//
// A write is a choice unless it comes after the read or the goal, or a rival covers it. A rival covers
// the first writes of a chain and the read excludes the last ones, so the choices of a chain are an
// interval of its writes.
func (c *Closure) findChoices(r *model.Read, v *model.ValueSet) (saw order.Node, only bool) {
	m := c.m
	own, place := m.Chain[r.Node], m.Pos(r.Node)
	covered := m.Cover(r, v, c.Rows, c.cover)
	c.choices = c.choices[:0]
	c.initial = r.Initial && !covered
	found := 0
	saw = model.None
	for k, from := range c.cover {
		list := v.Same[v.SameAt[k]:v.SameAt[k+1]]
		list = list[model.FirstFrom(list, m.Base[k]+order.Node(from)):]
		if int32(k) == own {
			list = list[:model.FirstFrom(list, r.Node)]
		}
		lo, hi := 0, len(list)
		for lo < hi {
			h := int(uint(lo+hi) >> 1)
			if o := c.row(list[h]); o[own] > place || o[c.width-1] > 0 {
				hi = h
			} else {
				lo = h + 1
			}
		}
		if lo > 0 {
			found += lo
			saw = list[0]
			c.choices = append(c.choices, choiceRange{list[0], list[lo-1]})
		}
	}
	if c.initial {
		found++
	}
	switch found {
	case 0:
		return noSource, true
	case 1:
		return saw, true
	}
	return model.None, false
}

// addCommon adds what follows from each of the choices of a read: the read comes after the nodes that
// all choices come after, and before the rivals that come after all choices.
func (c *Closure) addCommon(r *model.Read, v *model.ValueSet) bool {
	m := c.m
	if !c.initial {
		copy(c.meet, c.row(c.choices[0].first))
		for _, w := range c.choices[1:] {
			for k, p := range c.row(w.first) {
				c.meet[k] = min(c.meet[k], p)
			}
		}
		for k, p := range c.meet {
			if p > 0 && p > c.row(r.Node)[k] && !c.add(m.Base[k]+order.Node(p-1), r.Node) {
				return false
			}
		}
	}
	for k := range c.width {
		list := v.Rivals[v.RivalsAt[k]:v.RivalsAt[k+1]]
		lo, hi := 0, len(list)
		for lo < hi {
			if h := int(uint(lo+hi) >> 1); c.afterAll(list[h]) {
				hi = h
			} else {
				lo = h + 1
			}
		}
		if lo < len(list) && list[lo] == r.Node {
			lo++
		}
		if lo < len(list) && !c.add(r.Node, list[lo]) {
			return false
		}
	}
	return true
}

// afterAll reports whether all choices come before a node.
func (c *Closure) afterAll(n order.Node) bool {
	for _, w := range c.choices {
		if !c.before(w.last, n) {
			return false
		}
	}
	return true
}

// addSource adds what follows if a read sees saw, which may be None.
func (c *Closure) addSource(r *model.Read, saw order.Node) bool {
	m := c.m
	if saw != model.None && !c.add(saw, r.Node) {
		return false
	}
	list := m.Cells[r.Cell].Writes
	for at := 0; at < len(list); {
		chain := m.Chain[list[at]]
		to := at + 1
		limit := m.Base[chain+1]
		for to < len(list) && list[to] < limit {
			to++
		}
		if !c.addRivals(r, saw, list[at:to], chain) {
			return false
		}
		at = to
	}
	return true
}

// addRivals keeps the rivals in one chain from coming between saw and the read.
func (c *Closure) addRivals(r *model.Read, saw order.Node, writes []order.Node, chain int32) bool {
	m := c.m
	// The last rival before the read comes before the source.
	known := c.row(r.Node)[chain]
	i, _ := slices.BinarySearch(writes, m.Base[chain]+order.Node(known))
	for i--; i >= 0; i-- {
		w := writes[i]
		if w == r.Node || w != saw && r.Accepts(w) {
			continue
		}
		if w == saw {
			break
		}
		if saw == model.None || !c.add(w, saw) {
			return false
		}
		break
	}
	// The first rival after the source comes after the read.
	j := 0
	if saw != model.None {
		own, at := m.Chain[saw], m.Pos(saw)
		j, _ = slices.BinarySearchFunc(writes, at, func(w order.Node, at int32) int {
			if c.Rows[int(w)*c.width+int(own)] > at {
				return 1
			}
			return -1
		})
	}
	for ; j < len(writes); j++ {
		w := writes[j]
		if w == saw || w == r.Node || r.Accepts(w) {
			continue
		}
		return c.add(r.Node, w)
	}
	return true
}

// saturateMessages puts sends after the receives that they were observed to come after, since a
// receive sees the same messages as observed.
func (c *Closure) saturateMessages() bool {
	m := c.m
	for i := range m.Messages {
		q := &m.Messages[i]
		for _, n := range q.Receives {
			if !c.beforeGoal(n) {
				continue
			}
			clear(c.done)
			for _, s := range q.Sends[m.Rank[n]:] {
				if k := m.Chain[s]; !c.done[k] { // the first send of a chain suffices
					if c.done[k] = true; !c.add(n, s) {
						return false
					}
				}
			}
		}
	}
	return true
}
