package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// simulation runs orders of a model and says which constraints they violate.
type simulation struct {
	m      *Model
	place  []int32      // by node: its place in the order; beyond it, if it does not come before the goal
	last   []order.Node // by cell: its last write, plus one
	open   [][]int32    // by lock: sections that have not ended
	sent   [][]order.Node
	prefix []int32 // by chain

	solver  *order.Solver      // for booleans; nil where nobody looks at clauses
	choices map[*read][]choice // of the solver
	prefer  []order.Lit        // choices as observed, which the solver has not been told of
	sets    *valueSets
	cover   []int32 // scratch, see Model.cover
}

func newSimulation(m *Model, sets *valueSets) *simulation {
	return &simulation{
		m: m, sets: sets, cover: make([]int32, len(m.base)-1), place: make([]int32, m.goal+1), last: make([]order.Node, len(m.cells)),
		open: make([][]int32, len(m.locks)), sent: make([][]order.Node, len(m.messages)),
		prefix: make([]int32, len(m.base)-1),
	}
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
	var needed []int32
	if m.flow != nil {
		needed = m.flow.needed(s.prefix)
	}
	for _, n := range nodes[:count] {
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			if t.read >= 0 && (needed == nil || m.pos(n) < needed[m.chain[n]]) {
				if r := &m.reads[t.read]; !r.accepts(s.last[t.cell] - 1) {
					clauses = s.misread(t.read, s.last[t.cell]-1, clauses)
				}
			}
			if t.write {
				s.last[t.cell] = n + 1
			}
		}
		if id := m.begins[n]; id >= 0 {
			x := &m.sections[id]
			for _, o := range s.open[x.lock] {
				if y := &m.sections[o]; x.conflicts(y) {
					clauses = append(clauses, m.exclusion(x, y))
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
						clauses = append(clauses, m.overtaken(n, e))
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
func (m *Model) exclusion(x, y *section) (clause []order.Lit) {
	for _, p := range [2][2]*section{{x, y}, {y, x}} {
		a, b := p[0], p[1]
		if a.release != none && b.acquire != none {
			clause = append(clause, order.Lit{Before: a.release, After: b.acquire})
		}
		if b.acquire != none && !m.literal {
			clause = append(clause, order.Lit{Before: m.goal, After: b.acquire})
		}
	}
	return clause
}

// overtaken says that a message which was sent later is sent after a receive.
func (m *Model) overtaken(receive, send order.Node) []order.Lit {
	return []order.Lit{{Before: receive, After: send}, {Before: m.goal, After: receive}}
}

// misread says that a read sees what it may. w is what it sees instead.
func (s *simulation) misread(at int32, w order.Node, clauses [][]order.Lit) [][]order.Lit {
	r := &s.m.reads[at]
	guard := s.unless(r)
	if len(r.same) == 0 && !(r.init && r.saw != none) {
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
	before := len(clauses)
	for _, c := range list {
		if w == none || c.write != none && s.place[c.write] > s.place[w] || known && !s.solver.Holds(c.lit) {
			continue
		}
		clause := []order.Lit{c.lit.Not(), {Before: r.node, After: w}}
		if c.write != none {
			clause = append(clause, order.Lit{Before: w, After: c.write})
		}
		clauses = append(clauses, clause)
	}
	if known && len(clauses) == before {
		// It has made no choice, for the solver took it that it comes after the goal.
		clause := guard
		for _, c := range list {
			clause = append(clause, c.lit)
		}
		clauses = append(clauses, clause)
	}
	return clauses
}

// unless says what makes a read not matter.
func (s *simulation) unless(r *read) (clause []order.Lit) {
	m := s.m
	if m.flow == nil {
		return []order.Lit{{Before: m.goal, After: r.node}}
	}
	chain, pos := m.chain[r.node], m.pos(r.node)
	for _, g := range m.flow.guards(r.node) {
		if s.place[g] < beyond && m.flow.row(g)[chain] > pos {
			return []order.Lit{{Before: m.goal, After: g}}
		}
	}
	return nil
}

// receives reports whether a node of a message receives it.
func (m *Model) receives(n order.Node) bool {
	q := &m.messages[m.message[n]]
	return int(m.rank[n]) >= len(q.sends) || q.sends[m.rank[n]] != n
}
