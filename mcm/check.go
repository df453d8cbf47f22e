package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// simulation runs orders of a model and says which constraints they violate.
type simulation struct {
	m      *causal
	place  []int32      // by node: its place in the order; beyond it, if it does not come before the goal
	last   []order.Node // by cell: its last write, plus one
	open   [][]int32    // by lock: sections that have not ended
	sent   [][]order.Node
	prefix []int32 // by chain

	// With ControlFlow:
	sees   []order.Node // by read: the write that it sees
	spoilt []int32      // by chain: the first read that does not see what it may, plus one

	solver  *order.Solver      // for booleans; nil where nobody looks at clauses
	choices map[*read][]choice // of the solver
	prefer  []order.Lit        // choices as observed, which the solver has not been told of
	sets    *valueSets
	cover   []int32 // scratch, see Model.cover
}

func newSimulation(m *causal, sets *valueSets) *simulation {
	s := &simulation{
		m: m, sets: sets, cover: make([]int32, len(m.base)-1), place: make([]int32, m.goal+1), last: make([]order.Node, len(m.cells)),
		open: make([][]int32, len(m.locks)), sent: make([][]order.Node, len(m.messages)),
		prefix: make([]int32, len(m.base)-1),
	}
	if m.flow != nil {
		s.sees, s.spoilt = make([]order.Node, len(m.reads)), make([]int32, len(m.base)-1)
	}
	return s
}

const beyond = 1 << 30

// violated returns a clause for each constraint found that the events up to the
// goal violate, in the order given. All other constraints but those of the edges
// hold.
func (s *simulation) violated(nodes []order.Node) (clauses [][]order.Lit) {
	m := s.m
	for i := range s.place {
		s.place[i] = beyond
	}
	clear(s.last)
	clear(s.prefix)
	for i := range s.sent {
		s.sent[i] = s.sent[i][:0]
	}
	for i := range s.open {
		s.open[i] = s.open[i][:0]
		for _, id := range m.locks[i].sections {
			if m.sections[id].acquire != none {
				break
			}
			s.open[i] = append(s.open[i], id)
		}
	}
	count := len(nodes)
	for i, n := range nodes {
		if n == m.goal {
			count = i
			break
		}
		s.place[n] = int32(i)
		s.prefix[m.chain[n]]++
	}
	if m.flow != nil {
		clear(s.spoilt)
	}
	for _, n := range nodes[:count] {
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			if t.read >= 0 {
				r, w := &m.reads[t.read], s.last[t.cell]-1
				switch {
				case m.flow != nil && !r.lock:
					s.sees[t.read] = w
					if s.spoilt[m.chain[n]] == 0 && (!r.accepts(w) || w != none && s.spoils(w) >= 0) {
						s.spoilt[m.chain[n]] = t.read + 1
					}
				case !r.accepts(w):
					clauses = s.misread(t.read, w, []order.Lit{{Before: m.goal, After: r.node}}, clauses)
				}
			}
			if t.write {
				s.last[t.cell] = n + 1
			}
		}
		if m.flow != nil && m.flow.decides[n] {
			if r := s.spoils(n); r >= 0 {
				clauses = s.respoil(r, []order.Lit{{Before: m.goal, After: n}}, clauses)
			}
		}
		if id := m.begins[n]; id >= 0 {
			x := &m.sections[id]
			for _, o := range s.open[x.lock] {
				if y := &m.sections[o]; x.conflicts(y) {
					clauses = append(clauses, exclusion(m, x, y))
				}
			}
			s.open[x.lock] = append(s.open[x.lock], id)
		}
		if id := m.ends[n]; id >= 0 {
			list := &s.open[m.sections[id].lock]
			*list = slices.DeleteFunc(*list, func(o int32) bool { return o == id })
		}
		if q := m.message[n]; q >= 0 {
			if m.receives(n) {
				for _, e := range s.sent[q] {
					if m.rank[e] >= m.rank[n] {
						clauses = append(clauses, overtaken(m, n, e))
					}
				}
			} else {
				s.sent[q] = append(s.sent[q], n)
			}
		}
	}
	return clauses
}

// exclusion says that two sections do not overlap, as far as both start.
func exclusion(m *causal, x, y *criticalSection) (clause []order.Lit) {
	for _, p := range [2][2]*criticalSection{{x, y}, {y, x}} {
		a, b := p[0], p[1]
		if a.release != none && b.acquire != none {
			clause = append(clause, order.Lit{Before: a.release, After: b.acquire})
		}
		if b.acquire != none && !m.Literal {
			clause = append(clause, order.Lit{Before: m.goal, After: b.acquire})
		}
	}
	return clause
}

// overtaken says that a message which was sent later is sent after a receive.
func overtaken(m *causal, receive, send order.Node) []order.Lit {
	return []order.Lit{{Before: receive, After: send}, {Before: m.goal, After: receive}}
}

// spoils returns the read that spoils what its thread does at n, -1 if none does.
func (s *simulation) spoils(n order.Node) int32 {
	if k := s.spoilt[s.m.chain[n]]; k > 0 && s.m.reads[k-1].node <= n {
		return k - 1
	}
	return -1
}

// respoil says that a read that spoils its thread sees what it may, or guard holds.
func (s *simulation) respoil(at int32, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	for {
		r, w := &s.m.reads[at], s.sees[at]
		if !r.accepts(w) {
			return s.misread(at, w, guard, clauses)
		}
		// It sees the value, but from who has read something else.
		if r.choice() {
			if clauses = s.choose(at, w, guard, clauses); s.solver == nil {
				return clauses
			}
			for _, c := range s.choices[r] {
				if c.write == w {
					guard = []order.Lit{c.lit.Not()}
				}
			}
		}
		at = s.spoils(w)
	}
}

// misread says that a read sees what it may, or guard holds. w is what it sees instead.
func (s *simulation) misread(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	r := &s.m.reads[at]
	if !r.choice() {
		// One choice: it comes before the read, and w not in between.
		if r.saw != none && s.place[r.saw] > s.place[r.node] {
			return append(clauses, append(guard, order.Lit{Before: r.saw, After: r.node}))
		}
		if r.saw != none {
			guard = append(guard, order.Lit{Before: w, After: r.saw})
		}
		return append(clauses, append(guard, order.Lit{Before: r.node, After: w}))
	}
	return s.choose(at, w, guard, clauses)
}

// choice is that a read sees a write: a boolean of the solver.
type choice struct {
	write order.Node
	lit   order.Lit
}

// choose says that a read makes a choice, when that is new, and keeps w away from
// what it has chosen.
func (s *simulation) choose(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
	if s.solver == nil {
		return append(clauses, nil) // nobody looks at what is violated
	}
	r := &m.reads[at]
	list, known := s.choices[r]
	if !known {
		clause := guard
		covered := m.cover(r, &s.sets.list[s.sets.of[at]], m.rows, s.cover)
		add := func(o order.Node) {
			switch {
			case o == none && covered, o != none && m.pos(o) < s.cover[m.chain[o]]:
				return // another value is always in between
			case o != none && (o == r.node || m.before(r.node, o)):
				return
			}
			c := choice{o, s.solver.NewBool()}
			if o == r.saw {
				s.prefer = append(s.prefer, c.lit)
			}
			list = append(list, c)
			clause = append(clause, c.lit)
			if o != none && !m.before(o, r.node) {
				clauses = append(clauses, []order.Lit{c.lit.Not(), {Before: o, After: r.node}})
			}
		}
		add(r.saw)
		if r.init && r.saw != none {
			add(none)
		}
		for _, o := range r.same {
			if o != r.saw {
				add(o)
			}
		}
		s.choices[r] = list
		clauses = append(clauses, clause)
	}
	made := false
	for _, c := range list {
		if known && !s.solver.Holds(c.lit) {
			continue
		}
		made = true
		if w == none || c.write == w || c.write != none && s.place[c.write] > s.place[w] {
			continue
		}
		clause := []order.Lit{c.lit.Not(), {Before: r.node, After: w}}
		if c.write != none {
			clause = append(clause, order.Lit{Before: w, After: c.write})
		}
		clauses = append(clauses, clause)
	}
	if !made {
		// It has made no choice, for the solver took it that it comes after the goal.
		clause := guard
		for _, c := range list {
			clause = append(clause, c.lit)
		}
		clauses = append(clauses, clause)
	}
	return clauses
}
