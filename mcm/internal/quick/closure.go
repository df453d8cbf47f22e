package quick

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Closure is an order that all answers to a question have in common: what comes
// before what in any case, what the question says, and what follows from these by
// the constraints of locks, reads and messages.
type Closure struct {
	m     *model.Model
	width int
	Rows  []int32 // as Model.rows
	first []int32 // by node: its first link, plus one
	links []link
	trail []change
	work  []order.Node
	met   []bool // by chain; scratch

	sets    *model.ValueSets
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

func NewClosure(m *model.Model, sets *model.ValueSets) *Closure {
	c := &Closure{m: m, sets: sets, width: len(m.Base) - 1, Rows: slices.Clone(m.Rows), first: make([]int32, m.Goal+1), met: make([]bool, len(m.Base)-1),
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

// before reports whether a comes before b, or is b.
func (c *Closure) before(a, b order.Node) bool {
	return c.Rows[int(b)*c.width+int(c.m.Chain[a])] > c.m.Pos(a)
}

// mark is a state to go back to.
type mark struct{ links, trail int }

func (c *Closure) Mark() mark { return mark{len(c.links), len(c.trail)} }

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

// add puts from before to and reports whether there is an order left.
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

// merge puts what comes before from before to, and reports whether that is new.
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

// AddQuery adds what a question says and reports whether that is possible.
func (c *Closure) AddQuery(q *model.Query) bool {
	for _, e := range q.Edges(c.m) {
		if !c.add(e.From, e.To) {
			return false
		}
	}
	return true
}

// Saturate adds what follows, and reports whether there can be an order left. What
// follows is only of events that come before the goal in any case.
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

// within reports whether a node comes before the goal in any case.
func (c *Closure) within(n order.Node) bool { return c.before(n, c.m.Goal) }

// saturateLocks puts critical sections one after the other of which one has to
// start before the other's end.
func (c *Closure) saturateLocks() bool {
	m := c.m
	for i := range m.Locks {
		list := m.Locks[i].Sections
		for _, y := range list {
			s := &m.Sections[y]
			if s.Acquire != model.None && !c.within(s.Acquire) {
				continue
			}
			// Of each chain the latest section that starts before the end of this one.
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

// exclude ends those of a chain's sections before s that start before its end.
func (c *Closure) exclude(list []int32, s *model.CriticalSection) bool {
	m := c.m
	for i := len(list) - 1; i >= 0; i-- {
		o := &m.Sections[list[i]]
		if !s.Conflicts(o) {
			continue
		}
		if o.Acquire != model.None {
			if !c.within(o.Acquire) || s.Release != model.None && !c.before(o.Acquire, s.Release) {
				continue
			}
		} else if s.Acquire == model.None {
			return false
		}
		if s.Acquire == model.None {
			return false // it starts before s, which has no start
		}
		return o.Release != model.None && c.add(o.Release, s.Acquire)
	}
	return true
}

// saturateReads keeps other writes away from between a read and what it sees.
func (c *Closure) saturateReads() bool {
	m := c.m
	var needed []int32
	if m.Flow != nil {
		needed = m.Flow.Needed(c.row(m.Goal))
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		if !c.within(r.Node) || needed != nil && !r.Unowned && m.Pos(r.Node) >= needed[m.Chain[r.Node]] {
			continue
		}
		saw := r.Saw
		if !c.observed && c.sets.Of[i] >= 0 {
			var only bool
			set := &c.sets.List[c.sets.Of[i]]
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
func (c *Closure) choice(r *model.Read, v *model.ValueSet) (saw order.Node, only bool) {
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
	return model.None, false
}

// common adds what follows from all choices of a read: it comes after what all of
// them come after, and before what writes another value after all of them.
func (c *Closure) common(r *model.Read, v *model.ValueSet) bool {
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

// keep adds what follows from r seeing saw.
func (c *Closure) keep(r *model.Read, saw order.Node) bool {
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
		if !c.keepFrom(r, saw, list[at:to], chain) {
			return false
		}
		at = to
	}
	return true
}

// keepFrom does so for the writes of one chain.
func (c *Closure) keepFrom(r *model.Read, saw order.Node, writes []order.Node, chain int32) bool {
	m := c.m
	// The latest write before the read comes before what it saw.
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
	// The first write after what it saw comes after the read.
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

// saturateMessages puts what was sent after it was received after that.
func (c *Closure) saturateMessages() bool {
	m := c.m
	for i := range m.Messages {
		q := &m.Messages[i]
		for _, n := range q.Receives {
			if !c.within(n) {
				continue
			}
			clear(c.met)
			for _, s := range q.Sends[m.Rank[n]:] {
				if k := m.Chain[s]; !c.met[k] { // later ones come after this one
					if c.met[k] = true; !c.add(n, s) {
						return false
					}
				}
			}
		}
	}
	return true
}
