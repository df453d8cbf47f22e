package quick

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Scheduler looks for schedules of which it takes no more than a look: one step after the
// other, and never back.
type Scheduler struct {
	m       *model.Model
	closure *Closure

	prefix     []int32 // scratch, and all that follows
	nodes      []order.Node
	next, wait []int32
	waitFor    []int32
	last       []order.Node
	pending    []int32
	initial    []int32
	open       [][]int32
}

func NewScheduler(m *model.Model, c *Closure) *Scheduler {
	width := len(m.Base) - 1
	return &Scheduler{
		m: m, closure: c, prefix: make([]int32, width),
		next: make([]int32, width), wait: make([]int32, width), waitFor: make([]int32, width),
		last: make([]order.Node, len(m.Cells)), pending: make([]int32, m.Goal), initial: make([]int32, len(m.Cells)),
		open: make([][]int32, len(m.Locks)),
	}
}

// Greedy looks for an answer with greedy schedules: after the closure; then, if
// reads have choices, boldly, and as if they had none.
func (s *Scheduler) Greedy(holds func([]order.Node) bool) []order.Node {
	try := func(bold bool) []order.Node {
		if nodes := s.follow(bold); nodes != nil && holds(nodes) {
			return nodes
		}
		return nil
	}
	if nodes := try(false); nodes != nil || !s.m.HasChoices {
		return nodes
	}
	if nodes := try(true); nodes != nil {
		return nodes
	}
	at := s.closure.Mark()
	defer s.closure.Undo(at)
	s.closure.observed = true
	follows := s.closure.Saturate()
	s.closure.observed = false
	if !follows {
		return nil
	}
	return try(false)
}

// follow looks for an answer with the events only that come before the goal in any
// case: of the events that are possible next the one is taken that was observed
// first. Bold, it takes reads first that can see their value now, and writes whatever
// else is still to be read; otherwise it keeps what was written until all have read
// it that saw it. It returns the nodes up to the goal, or nil.
func (s *Scheduler) follow(bold bool) []order.Node {
	m, c := s.m, s.closure
	goal := c.row(m.Goal)
	width := len(m.Base) - 1
	next, wait, waitFor := s.next, s.wait, s.waitFor
	for k := range width {
		next[k], wait[k] = 0, -1
	}
	clear(s.last)
	clear(s.pending)
	clear(s.initial)
	for i := range s.open {
		s.open[i] = s.open[i][:0]
		for _, id := range m.Locks[i].Sections {
			if m.Sections[id].Acquire != model.None {
				break
			}
			s.open[i] = append(s.open[i], id)
		}
	}
	for i := range m.Reads {
		if r := &m.Reads[i]; goal[m.Chain[r.Node]] > m.Pos(r.Node) {
			if r.Saw == model.None {
				s.unwritten(r.Cell, 1)
			} else {
				s.pending[r.Saw]++
			}
		}
	}
	total := 0
	for k := range width - 1 {
		total += int(goal[k])
	}
	nodes := s.nodes[:0]
	for len(nodes) < total {
		best := model.None
		for k := range width - 1 {
			if next[k] >= goal[k] || wait[k] >= 0 && next[wait[k]] < waitFor[k] {
				continue
			}
			n := m.Base[k] + order.Node(next[k])
			if best != model.None && s.writes(n, bold) == s.writes(best, bold) && m.Event[n] > m.Event[best] ||
				best != model.None && s.writes(n, bold) && !s.writes(best, bold) {
				continue
			}
			wait[k] = -1
			for j, v := range c.row(n)[:width-1] {
				if j != k && next[j] < v {
					wait[k], waitFor[k] = int32(j), v
					break
				}
			}
			if wait[k] < 0 && s.possible(n, bold) {
				best = n
			}
		}
		if best == model.None {
			return nil
		}
		s.step(best)
		next[m.Chain[best]]++
		nodes = append(nodes, best)
	}
	s.nodes = nodes
	return nodes
}

// writes reports whether a node is to wait for those that do not write.
func (s *Scheduler) writes(n order.Node, bold bool) bool {
	m := s.m
	if bold {
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			if t.Write {
				return true
			}
		}
	}
	return false
}

// unwritten counts the reads to come of what was in a cell before the window.
func (s *Scheduler) unwritten(cell int32, by int32) { s.initial[cell] += by }

// possible reports whether n can come next without hindering a read.
func (s *Scheduler) possible(n order.Node, bold bool) bool {
	m := s.m
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		last := s.last[t.Cell] - 1
		own := int32(0)
		if t.Read >= 0 {
			r := &m.Reads[t.Read]
			if !r.Accepts(last) {
				return false
			}
			if r.Saw == last {
				own = 1
			}
		}
		if t.Write && !bold {
			if last == model.None && s.initial[t.Cell] > own || last != model.None && s.pending[last] > own {
				return false
			}
		}
	}
	if id := m.Begins[n]; id >= 0 {
		x := &m.Sections[id]
		for _, o := range s.open[x.Lock] {
			if x.Conflicts(&m.Sections[o]) {
				return false
			}
		}
	}
	return true
}

func (s *Scheduler) step(n order.Node) {
	m := s.m
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 {
			if r := &m.Reads[t.Read]; r.Saw == model.None {
				s.unwritten(r.Cell, -1)
			} else {
				s.pending[r.Saw]--
			}
		}
		if t.Write {
			s.last[t.Cell] = n + 1
		}
	}
	if id := m.Begins[n]; id >= 0 {
		x := &m.Sections[id]
		s.open[x.Lock] = append(s.open[x.Lock], id)
	}
	if id := m.Ends[n]; id >= 0 {
		x := &m.Sections[id]
		list := s.open[x.Lock]
		for i, o := range list {
			if o == id {
				s.open[x.Lock] = append(list[:i], list[i+1:]...)
				break
			}
		}
	}
}
