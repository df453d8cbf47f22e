package solve

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Simulation executes orders of a model's nodes and finds the constraints that they violate.
type Simulation struct {
	m      *model.Model
	place  []int32        // by node: its place in the order, or notBefore if it does not come before the goal
	last   []order.Node   // by cell: its last write, plus one
	open   [][]int32      // by lock: sections that have not ended
	sent   [][]order.Node // by message: the sends so far
	prefix []int32        // by chain: how many nodes come before the goal

	// With ControlFlow:
	sees     []order.Node // by read: the write that it sees
	deviated []int32      // by chain: the first read that sees no accepted value, plus one; see model.Flow

	solver  *order.Solver            // for which clauses are made; nil if only their number counts
	choices map[*model.Read][]choice // the choices that the solver has booleans for
	prefer  []order.Lit              // the observed choices among new ones, of which the solver does not know yet
	sets    *model.ValueSets
	cover   []int32 // scratch, see Model.Cover
}

// NewSimulation returns a simulation without a solver.
func NewSimulation(m *model.Model, sets *model.ValueSets) *Simulation {
	s := &Simulation{
		m: m, sets: sets, cover: make([]int32, len(m.Base)-1), place: make([]int32, m.Goal+1), last: make([]order.Node, len(m.Cells)),
		open: make([][]int32, len(m.Locks)), sent: make([][]order.Node, len(m.Messages)),
		prefix: make([]int32, len(m.Base)-1),
	}
	if m.Flow != nil {
		s.sees, s.deviated = make([]order.Node, len(m.Reads)), make([]int32, len(m.Base)-1)
	}
	return s
}

// notBefore is the place of nodes that do not come before the goal.
const notBefore = 1 << 30

// Violated executes nodes in the given order, up to the goal if it is among them. It returns clauses
// that the order violates and all answers satisfy. If there are none, the order satisfies all
// constraints other than edges. Without a solver, clauses about choices are empty.
func (s *Simulation) Violated(nodes []order.Node) (clauses [][]order.Lit) {
	m := s.m
	for _, n := range s.start(nodes) {
		clauses = s.access(n, clauses)
		if m.Flow != nil && m.Flow.Bound[n] != model.None {
			if r := s.deviation(m.Flow.Bound[n]); r >= 0 {
				clauses = s.forbidDeviation(r, []order.Lit{{Before: m.Goal, After: n}}, clauses)
			}
		}
		clauses = s.lock(n, clauses)
		clauses = s.message(n, clauses)
	}
	return clauses
}

// start prepares for an order, and returns the nodes before the goal.
func (s *Simulation) start(nodes []order.Node) []order.Node {
	m := s.m
	for i := range s.place {
		s.place[i] = notBefore
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
	if m.Flow != nil {
		clear(s.deviated)
	}
	for i, n := range nodes {
		if n == m.Goal {
			return nodes[:i]
		}
		s.place[n] = int32(i)
		s.prefix[m.Chain[n]]++
	}
	return nodes
}

// access executes the accesses of a node.
func (s *Simulation) access(n order.Node, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 {
			r, w := &m.Reads[t.Read], s.last[t.Cell]-1
			switch {
			case m.Flow != nil && !r.Unowned:
				s.sees[t.Read] = w
				if r.Accepts(w) && (w == model.None || s.deviation(w) < 0) {
					break
				}
				if s.deviated[m.Chain[n]] == 0 {
					s.deviated[m.Chain[n]] = t.Read + 1
				}
				if r.Decides {
					clauses = s.forbidDeviation(t.Read, []order.Lit{{Before: m.Goal, After: n}}, clauses)
				}
			case !r.Accepts(w):
				clauses = s.forbidMisread(t.Read, w, []order.Lit{{Before: m.Goal, After: r.Node}}, clauses)
			}
		}
		if t.Write {
			s.last[t.Cell] = n + 1
		}
	}
	return clauses
}

// lock executes the lock operation of a node.
func (s *Simulation) lock(n order.Node, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
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
	return clauses
}

// message executes the send or receive of a node.
func (s *Simulation) message(n order.Node, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
	q := m.Message[n]
	if q < 0 {
		return clauses
	}
	if !m.Receives(n) {
		s.sent[q] = append(s.sent[q], n)
		return clauses
	}
	for _, e := range s.sent[q] {
		if m.Rank[e] >= m.Rank[n] {
			clauses = append(clauses, sendAfter(m, n, e))
		}
	}
	return clauses
}

// exclusion returns the clause that two sections do not overlap if both begin before the goal. By
// Algorithm 9 to the letter, they do not overlap even if they come after the goal.
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

// sendAfter returns the clause that a send comes after a receive if that comes before the goal.
func sendAfter(m *model.Model, receive, send order.Node) []order.Lit {
	return []order.Lit{{Before: receive, After: send}, {Before: m.Goal, After: receive}}
}

// deviation returns the read at or before n by which the thread of n has deviated, or -1.
func (s *Simulation) deviation(n order.Node) int32 {
	if k := s.deviated[s.m.Chain[n]]; k > 0 && s.m.Reads[k-1].Node <= n {
		return k - 1
	}
	return -1
}

// forbidDeviation adds clauses by which a read does not make its thread deviate, unless guard holds.
func (s *Simulation) forbidDeviation(at int32, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	for {
		r, w := &s.m.Reads[at], s.sees[at]
		if !r.Accepts(w) {
			return s.forbidMisread(at, w, guard, clauses)
		}
		// It sees an accepted write, but the thread of the write had deviated before it. So another
		// write must be chosen, or that thread must not deviate.
		if r.HasChoice() {
			if clauses = s.addChoices(at, w, guard, clauses); s.solver == nil {
				return clauses
			}
			for _, c := range s.choices[r] {
				if c.write == w {
					guard = []order.Lit{c.lit.Not()}
				}
			}
		}
		at = s.deviation(w)
	}
}

// forbidMisread adds clauses by which a read sees an accepted value instead of w, unless guard holds.
func (s *Simulation) forbidMisread(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	r := &s.m.Reads[at]
	if !r.HasChoice() {
		// One choice: the source comes before the read, and w does not come between them.
		if r.Saw != model.None && s.place[r.Saw] > s.place[r.Node] {
			return append(clauses, append(guard, order.Lit{Before: r.Saw, After: r.Node}))
		}
		if r.Saw != model.None {
			guard = append(guard, order.Lit{Before: w, After: r.Saw})
		}
		return append(clauses, append(guard, order.Lit{Before: r.Node, After: w}))
	}
	return s.addChoices(at, w, guard, clauses)
}

// choice is a boolean of the solver: a read sees a write, or the value before the window.
type choice struct {
	write order.Node
	lit   order.Lit
}

// addChoices adds clauses by which a read chooses a source, unless guard holds, and by which w does
// not come between the chosen source and the read. It makes the choices of the read if there are
// none yet.
func (s *Simulation) addChoices(at int32, w order.Node, guard []order.Lit, clauses [][]order.Lit) [][]order.Lit {
	m := s.m
	if s.solver == nil {
		return append(clauses, nil) // only the number of clauses counts
	}
	r := &m.Reads[at]
	list, known := s.choices[r]
	if !known {
		clause := guard
		covered := m.Cover(r, &s.sets.List[s.sets.Of[at]], m.Rows, s.cover)
		add := func(o order.Node) {
			switch {
			case o == model.None && covered, o != model.None && m.Pos(o) < s.cover[m.Chain[o]]:
				return // a rival always comes between
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
	chosen := false
	for _, c := range list {
		if known && !s.solver.Holds(c.lit) {
			continue
		}
		chosen = true
		if w == model.None || c.write == w || c.write != model.None && s.place[c.write] > s.place[w] {
			continue
		}
		clause := []order.Lit{c.lit.Not(), {Before: r.Node, After: w}}
		if c.write != model.None {
			clause = append(clause, order.Lit{Before: w, After: c.write})
		}
		clauses = append(clauses, clause)
	}
	if !chosen {
		// No choice holds, because the solver presumed that the read comes after the goal.
		clause := guard
		for _, c := range list {
			clause = append(clause, c.lit)
		}
		clauses = append(clauses, clause)
	}
	return clauses
}
