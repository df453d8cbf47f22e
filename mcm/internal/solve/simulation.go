package solve

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Simulation runs orders of a model and says which constraints they violate.
type Simulation struct {
	m      *model.Model
	place  []int32      // by node: its place in the order; beyond it, if it does not come before the goal
	last   []order.Node // by cell: its last write, plus one
	open   [][]int32    // by lock: sections that have not ended
	sent   [][]order.Node
	prefix []int32 // by chain

	// With ControlFlow:
	sees   []order.Node // by read: the write that it sees
	spoilt []int32      // by chain: the first read that does not see what it may, plus one

	solver  *order.Solver            // for booleans; nil where nobody looks at clauses
	choices map[*model.Read][]choice // of the solver
	prefer  []order.Lit              // choices as observed, which the solver has not been told of
	sets    *model.ValueSets
	cover   []int32 // scratch, see Model.cover
}

func NewSimulation(m *model.Model, sets *model.ValueSets) *Simulation {
	s := &Simulation{
		m: m, sets: sets, cover: make([]int32, len(m.Base)-1), place: make([]int32, m.Goal+1), last: make([]order.Node, len(m.Cells)),
		open: make([][]int32, len(m.Locks)), sent: make([][]order.Node, len(m.Messages)),
		prefix: make([]int32, len(m.Base)-1),
	}
	if m.Flow != nil {
		s.sees, s.spoilt = make([]order.Node, len(m.Reads)), make([]int32, len(m.Base)-1)
	}
	return s
}

const beyond = 1 << 30

// Violated returns a clause for each constraint found that the events up to the
// goal violate, in the order given. All other constraints but those of the edges
// hold.
func (s *Simulation) Violated(nodes []order.Node) (clauses [][]order.Lit) {
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
		for _, id := range m.Locks[i].Sections {
			if m.Sections[id].Acquire != model.None {
				break
			}
			s.open[i] = append(s.open[i], id)
		}
	}
	count := len(nodes)
	for i, n := range nodes {
		if n == m.Goal {
			count = i
			break
		}
		s.place[n] = int32(i)
		s.prefix[m.Chain[n]]++
	}
	if m.Flow != nil {
		clear(s.spoilt)
	}
	for _, n := range nodes[:count] {
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			if t.Read >= 0 {
				r, w := &m.Reads[t.Read], s.last[t.Cell]-1
				switch {
				case m.Flow != nil && !r.Unowned:
					s.sees[t.Read] = w
					if s.spoilt[m.Chain[n]] == 0 && (!r.Accepts(w) || w != model.None && s.spoils(w) >= 0) {
						s.spoilt[m.Chain[n]] = t.Read + 1
					}
				case !r.Accepts(w):
					clauses = s.misread(t.Read, w, []order.Lit{{Before: m.Goal, After: r.Node}}, clauses)
				}
			}
			if t.Write {
				s.last[t.Cell] = n + 1
			}
		}
		if m.Flow != nil && m.Flow.Decides[n] {
			if r := s.spoils(n); r >= 0 {
				clauses = s.respoil(r, []order.Lit{{Before: m.Goal, After: n}}, clauses)
			}
		}
		if id := m.Begins[n]; id >= 0 {
			x := &m.Sections[id]
			for _, o := range s.open[x.Lock] {
				if y := &m.Sections[o]; x.Conflicts(y) {
					clauses = append(clauses, exclusion(m, x, y))
				}
			}
			s.open[x.Lock] = append(s.open[x.Lock], id)
		}
		if id := m.Ends[n]; id >= 0 {
			list := &s.open[m.Sections[id].Lock]
			*list = slices.DeleteFunc(*list, func(o int32) bool { return o == id })
		}
		if q := m.Message[n]; q >= 0 {
			if m.Receives(n) {
				for _, e := range s.sent[q] {
					if m.Rank[e] >= m.Rank[n] {
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
func exclusion(m *model.Model, x, y *model.CriticalSection) (clause []order.Lit) {
	for _, p := range [2][2]*model.CriticalSection{{x, y}, {y, x}} {
		a, b := p[0], p[1]
		if a.Release != model.None && b.Acquire != model.None {
			clause = append(clause, order.Lit{Before: a.Release, After: b.Acquire})
		}
		if b.Acquire != model.None && !m.Literal {
			clause = append(clause, order.Lit{Before: m.Goal, After: b.Acquire})
		}
	}
	return clause
}

// overtaken says that a message which was sent later is sent after a receive.
func overtaken(m *model.Model, receive, send order.Node) []order.Lit {
	return []order.Lit{{Before: receive, After: send}, {Before: m.Goal, After: receive}}
}

// spoils returns the read that spoils what its thread does at n, -1 if none does.
func (s *Simulation) spoils(n order.Node) int32 {
	if k := s.spoilt[s.m.Chain[n]]; k > 0 && s.m.Reads[k-1].Node <= n {
		return k - 1
	}
	return -1
}

// respoil says that a read that spoils its thread sees what it may, or guard holds.
func (s *Simulation) respoil(at int32, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	for {
		r, w := &s.m.Reads[at], s.sees[at]
		if !r.Accepts(w) {
			return s.misread(at, w, guard, clauses)
		}
		// It sees the value, but from who has read something else.
		if r.HasChoice() {
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
func (s *Simulation) misread(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	r := &s.m.Reads[at]
	if !r.HasChoice() {
		// One choice: it comes before the read, and w not in between.
		if r.Saw != model.None && s.place[r.Saw] > s.place[r.Node] {
			return append(clauses, append(guard, order.Lit{Before: r.Saw, After: r.Node}))
		}
		if r.Saw != model.None {
			guard = append(guard, order.Lit{Before: w, After: r.Saw})
		}
		return append(clauses, append(guard, order.Lit{Before: r.Node, After: w}))
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
func (s *Simulation) choose(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
	if s.solver == nil {
		return append(clauses, nil) // nobody looks at what is violated
	}
	r := &m.Reads[at]
	list, known := s.choices[r]
	if !known {
		clause := guard
		covered := m.Cover(r, &s.sets.List[s.sets.Of[at]], m.Rows, s.cover)
		add := func(o order.Node) {
			switch {
			case o == model.None && covered, o != model.None && m.Pos(o) < s.cover[m.Chain[o]]:
				return // another value is always in between
			case o != model.None && (o == r.Node || m.Before(r.Node, o)):
				return
			}
			c := choice{o, s.solver.NewBool()}
			if o == r.Saw {
				s.prefer = append(s.prefer, c.lit)
			}
			list = append(list, c)
			clause = append(clause, c.lit)
			if o != model.None && !m.Before(o, r.Node) {
				clauses = append(clauses, []order.Lit{c.lit.Not(), {Before: o, After: r.Node}})
			}
		}
		add(r.Saw)
		if r.Initial && r.Saw != model.None {
			add(model.None)
		}
		for _, o := range r.Same {
			if o != r.Saw {
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
		if w == model.None || c.write == w || c.write != model.None && s.place[c.write] > s.place[w] {
			continue
		}
		clause := []order.Lit{c.lit.Not(), {Before: r.Node, After: w}}
		if c.write != model.None {
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
