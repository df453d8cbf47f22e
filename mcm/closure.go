package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// closure is an order that all answers to a question have in common: what comes
// before what in any case, what the question says, and what follows from these by
// the constraints of locks, reads and messages.
type closure struct {
	m     *causal
	width int
	rows  []int32 // as Model.rows
	first []int32 // by node: its first link, plus one
	links []link
	trail []change
	work  []order.Node
	met   []bool // by chain; scratch

	sets    *valueSets
	choices []chosen // of a read, see choice
	initial bool     // what was there before the window is another
	meet    []int32  // scratch: what comes before all of them
	cover   []int32  // scratch, see Model.cover

	observed bool // each read sees the very write that it saw: what follows then is no more than a guess
}

// link is an edge to a node of another chain.
type link struct {
	to   order.Node
	from order.Node
	next int32
}

type change struct{ at, old int32 }

// chosen are the choices of a read that are left in a chain: the first and the last
// one stand for all of them, for whatever comes before the first comes before all.
type chosen struct{ first, last order.Node }

func newClosure(m *causal, sets *valueSets) *closure {
	c := &closure{m: m, sets: sets, width: len(m.base) - 1, rows: slices.Clone(m.rows), first: make([]int32, m.goal+1), met: make([]bool, len(m.base)-1),
		meet: make([]int32, len(m.base)-1), cover: make([]int32, len(m.base)-1)}
	for _, list := range [][]edge{m.edges, m.seen} {
		for _, e := range list {
			c.link(e.from, e.to)
		}
	}
	return c
}

func (c *closure) link(from, to order.Node) {
	c.links = append(c.links, link{to: to, from: from, next: c.first[from]})
	c.first[from] = int32(len(c.links))
}

func (c *closure) row(n order.Node) []int32 {
	return c.rows[int(n)*c.width : int(n)*c.width+c.width]
}

// before reports whether a comes before b, or is b.
func (c *closure) before(a, b order.Node) bool {
	return c.rows[int(b)*c.width+int(c.m.chain[a])] > c.m.pos(a)
}

// mark is a state to go back to.
type mark struct{ links, trail int }

func (c *closure) mark() mark { return mark{len(c.links), len(c.trail)} }

func (c *closure) undo(to mark) {
	for len(c.links) > to.links {
		l := c.links[len(c.links)-1]
		c.first[l.from] = l.next
		c.links = c.links[:len(c.links)-1]
	}
	for i := len(c.trail) - 1; i >= to.trail; i-- {
		c.rows[c.trail[i].at] = c.trail[i].old
	}
	c.trail = c.trail[:to.trail]
}

// add puts from before to and reports whether there is an order left.
func (c *closure) add(from, to order.Node) bool {
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
		if next := n + 1; next <= c.m.goal && c.m.chain[next] == c.m.chain[n] && c.merge(next, n) {
			c.work = append(c.work, next)
		}
	}
	return true
}

// merge puts what comes before from before to, and reports whether that is new.
func (c *closure) merge(to, from order.Node) (changed bool) {
	source := c.row(from)
	base := int(to) * c.width
	row := c.rows[base : base+c.width]
	for i, v := range source {
		if v > row[i] {
			c.trail = append(c.trail, change{int32(base + i), row[i]})
			row[i] = v
			changed = true
		}
	}
	return changed
}

// ask adds what a question says and reports whether that is possible.
func (c *closure) ask(q *query) bool {
	for _, e := range q.edges(c.m) {
		if !c.add(e.from, e.to) {
			return false
		}
	}
	return true
}

// saturate adds what follows, and reports whether there can be an order left. What
// follows is only of events that come before the goal in any case.
func (c *closure) saturate() bool {
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

// within reports whether a node comes before the goal in any case.
func (c *closure) within(n order.Node) bool { return c.before(n, c.m.goal) }

// saturateLocks puts critical sections one after the other of which one has to
// start before the other's end.
func (c *closure) saturateLocks() bool {
	m := c.m
	for i := range m.locks {
		list := m.locks[i].sections
		for _, y := range list {
			s := &m.sections[y]
			if s.acquire != none && !c.within(s.acquire) {
				continue
			}
			// Of each chain the latest section that starts before the end of this one.
			for at := 0; at < len(list); {
				chain := m.sections[list[at]].chain
				to := at + 1
				for to < len(list) && m.sections[list[to]].chain == chain {
					to++
				}
				if chain != s.chain && !c.exclude(list[at:to], s) {
					return false
				}
				at = to
			}
		}
	}
	return true
}

// exclude ends those of a chain's sections before s that start before its end.
func (c *closure) exclude(list []int32, s *criticalSection) bool {
	m := c.m
	for i := len(list) - 1; i >= 0; i-- {
		o := &m.sections[list[i]]
		if !s.conflicts(o) {
			continue
		}
		if o.acquire != none {
			if !c.within(o.acquire) || s.release != none && !c.before(o.acquire, s.release) {
				continue
			}
		} else if s.acquire == none {
			return false
		}
		if s.acquire == none {
			return false // it starts before s, which has no start
		}
		return o.release != none && c.add(o.release, s.acquire)
	}
	return true
}

// saturateReads keeps other writes away from between a read and what it sees.
func (c *closure) saturateReads() bool {
	m := c.m
	var needed []int32
	if m.flow != nil {
		needed = m.flow.needed(c.row(m.goal))
	}
	for i := range m.reads {
		r := &m.reads[i]
		if !c.within(r.node) || needed != nil && !r.lock && m.pos(r.node) >= needed[m.chain[r.node]] {
			continue
		}
		saw := r.saw
		if !c.observed && c.sets.of[i] >= 0 {
			var only bool
			set := &c.sets.list[c.sets.of[i]]
			if saw, only = c.choice(r, set); !only {
				if !c.common(r, set) {
					return false
				}
				continue
			}
			if saw == unseen {
				return false
			}
		}
		if !c.keep(r, saw) {
			return false
		}
	}
	return true
}

// unseen says that there is no write left that a read may see.
const unseen order.Node = -2

// choice returns what a read sees, if there is only one choice left. Else it leaves
// in choices what there is to see, without what was there before the window.
//
// Of each chain those are left that are not after the read or the goal and that no
// other value covers: in order, one piece of the chain's list.
func (c *closure) choice(r *read, v *valueSet) (saw order.Node, only bool) {
	m := c.m
	own, place := m.chain[r.node], m.pos(r.node)
	covered := m.cover(r, v, c.rows, c.cover)
	c.choices = c.choices[:0]
	c.initial = r.init && !covered
	found := 0
	saw = none
	for k, from := range c.cover {
		list := v.same[v.sameAt[k]:v.sameAt[k+1]]
		list = list[firstFrom(list, m.base[k]+order.Node(from)):]
		if int32(k) == own {
			list = list[:firstFrom(list, r.node)]
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
			c.choices = append(c.choices, chosen{list[0], list[lo-1]})
		}
	}
	if c.initial {
		found++
	}
	switch found {
	case 0:
		return unseen, true
	case 1:
		return saw, true
	}
	return none, false
}

// common adds what follows from all choices of a read: it comes after what all of
// them come after, and before what writes another value after all of them.
func (c *closure) common(r *read, v *valueSet) bool {
	m := c.m
	if !c.initial {
		copy(c.meet, c.row(c.choices[0].first))
		for _, w := range c.choices[1:] {
			for k, p := range c.row(w.first) {
				c.meet[k] = min(c.meet[k], p)
			}
		}
		for k, p := range c.meet {
			if p > 0 && p > c.row(r.node)[k] && !c.add(m.base[k]+order.Node(p-1), r.node) {
				return false
			}
		}
	}
	for k := range c.width {
		list := v.rivals[v.rivalsAt[k]:v.rivalsAt[k+1]]
		lo, hi := 0, len(list)
		for lo < hi {
			if h := int(uint(lo+hi) >> 1); c.afterAll(list[h]) {
				hi = h
			} else {
				lo = h + 1
			}
		}
		if lo < len(list) && list[lo] == r.node {
			lo++
		}
		if lo < len(list) && !c.add(r.node, list[lo]) {
			return false
		}
	}
	return true
}

// afterAll reports whether all choices come before a node.
func (c *closure) afterAll(n order.Node) bool {
	for _, w := range c.choices {
		if !c.before(w.last, n) {
			return false
		}
	}
	return true
}

// keep adds what follows from r seeing saw.
func (c *closure) keep(r *read, saw order.Node) bool {
	m := c.m
	if saw != none && !c.add(saw, r.node) {
		return false
	}
	list := m.cells[r.cell].writes
	for at := 0; at < len(list); {
		chain := m.chain[list[at]]
		to := at + 1
		limit := m.base[chain+1]
		for to < len(list) && list[to] < limit {
			to++
		}
		if !c.keepFrom(r, saw, list[at:to], chain) {
			return false
		}
		at = to
	}
	return true
}

// keepFrom does so for the writes of one chain.
func (c *closure) keepFrom(r *read, saw order.Node, writes []order.Node, chain int32) bool {
	m := c.m
	// The latest write before the read comes before what it saw.
	known := c.row(r.node)[chain]
	i, _ := slices.BinarySearch(writes, m.base[chain]+order.Node(known))
	for i--; i >= 0; i-- {
		w := writes[i]
		if w == r.node || w != saw && r.accepts(w) {
			continue
		}
		if w == saw {
			break
		}
		if saw == none || !c.add(w, saw) {
			return false
		}
		break
	}
	// The first write after what it saw comes after the read.
	j := 0
	if saw != none {
		own, at := m.chain[saw], m.pos(saw)
		j, _ = slices.BinarySearchFunc(writes, at, func(w order.Node, at int32) int {
			if c.rows[int(w)*c.width+int(own)] > at {
				return 1
			}
			return -1
		})
	}
	for ; j < len(writes); j++ {
		w := writes[j]
		if w == saw || w == r.node || r.accepts(w) {
			continue
		}
		return c.add(r.node, w)
	}
	return true
}

// saturateMessages puts what was sent after it was received after that.
func (c *closure) saturateMessages() bool {
	m := c.m
	for i := range m.messages {
		q := &m.messages[i]
		for _, n := range q.receives {
			if !c.within(n) {
				continue
			}
			clear(c.met)
			for _, s := range q.sends[m.rank[n]:] {
				if k := m.chain[s]; !c.met[k] { // later ones come after this one
					if c.met[k] = true; !c.add(n, s) {
						return false
					}
				}
			}
		}
	}
	return true
}
