package mcm

import "github.com/heisen-go/heisen/mcm/order"

// scheduler looks for schedules of which it takes no more than a look: one step after the
// other, and never back.
type scheduler struct {
	m       *causal
	closure *closure

	prefix     []int32 // scratch, and all that follows
	nodes      []order.Node
	next, wait []int32
	waitFor    []int32
	last       []order.Node
	pending    []int32
	initial    []int32
	open       [][]int32
}

func newScheduler(m *causal, c *closure) *scheduler {
	width := len(m.base) - 1
	return &scheduler{
		m: m, closure: c, prefix: make([]int32, width),
		next: make([]int32, width), wait: make([]int32, width), waitFor: make([]int32, width),
		last: make([]order.Node, len(m.cells)), pending: make([]int32, m.goal), initial: make([]int32, len(m.cells)),
		open: make([][]int32, len(m.locks)),
	}
}

// schedule looks for an answer with greedy schedules: after the closure; then, if
// reads have choices, boldly, and as if they had none.
func (s *scheduler) schedule(holds func([]order.Node) bool) []order.Node {
	try := func(bold bool) []order.Node {
		if nodes := s.greedy(bold); nodes != nil && holds(nodes) {
			return nodes
		}
		return nil
	}
	if nodes := try(false); nodes != nil || !s.m.soft {
		return nodes
	}
	if nodes := try(true); nodes != nil {
		return nodes
	}
	at := s.closure.mark()
	defer s.closure.undo(at)
	s.closure.observed = true
	follows := s.closure.saturate()
	s.closure.observed = false
	if !follows {
		return nil
	}
	return try(false)
}

// greedy looks for an answer with the events only that come before the goal in any
// case: of the events that are possible next the one is taken that was observed
// first. Bold, it takes reads first that can see their value now, and writes whatever
// else is still to be read; otherwise it keeps what was written until all have read
// it that saw it. It returns the nodes up to the goal, or nil.
func (s *scheduler) greedy(bold bool) []order.Node {
	m, c := s.m, s.closure
	goal := c.row(m.goal)
	width := len(m.base) - 1
	next, wait, waitFor := s.next, s.wait, s.waitFor
	for k := range width {
		next[k], wait[k] = 0, -1
	}
	clear(s.last)
	clear(s.pending)
	clear(s.initial)
	for i := range s.open {
		s.open[i] = s.open[i][:0]
		for _, id := range m.locks[i].sections {
			if m.sections[id].acquire != none {
				break
			}
			s.open[i] = append(s.open[i], id)
		}
	}
	for i := range m.reads {
		if r := &m.reads[i]; goal[m.chain[r.node]] > m.pos(r.node) {
			if r.saw == none {
				s.unwritten(r.cell, 1)
			} else {
				s.pending[r.saw]++
			}
		}
	}
	total := 0
	for k := range width - 1 {
		total += int(goal[k])
	}
	nodes := s.nodes[:0]
	for len(nodes) < total {
		best := none
		for k := range width - 1 {
			if next[k] >= goal[k] || wait[k] >= 0 && next[wait[k]] < waitFor[k] {
				continue
			}
			n := m.base[k] + order.Node(next[k])
			if best != none && s.writes(n, bold) == s.writes(best, bold) && m.event[n] > m.event[best] ||
				best != none && s.writes(n, bold) && !s.writes(best, bold) {
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
		if best == none {
			return nil
		}
		s.step(best)
		next[m.chain[best]]++
		nodes = append(nodes, best)
	}
	s.nodes = nodes
	return nodes
}

// writes reports whether a node is to wait for those that do not write.
func (s *scheduler) writes(n order.Node, bold bool) bool {
	m := s.m
	if bold {
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			if t.write {
				return true
			}
		}
	}
	return false
}

// unwritten counts the reads to come of what was in a cell before the window.
func (s *scheduler) unwritten(cell int32, by int32) { s.initial[cell] += by }

// possible reports whether n can come next without hindering a read.
func (s *scheduler) possible(n order.Node, bold bool) bool {
	m := s.m
	for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
		last := s.last[t.cell] - 1
		own := int32(0)
		if t.read >= 0 {
			r := &m.reads[t.read]
			if !r.accepts(last) {
				return false
			}
			if r.saw == last {
				own = 1
			}
		}
		if t.write && !bold {
			if last == none && s.initial[t.cell] > own || last != none && s.pending[last] > own {
				return false
			}
		}
	}
	if id := m.begins[n]; id >= 0 {
		x := &m.sections[id]
		for _, o := range s.open[x.lock] {
			if x.conflicts(&m.sections[o]) {
				return false
			}
		}
	}
	return true
}

func (s *scheduler) step(n order.Node) {
	m := s.m
	for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
		if t.read >= 0 {
			if r := &m.reads[t.read]; r.saw == none {
				s.unwritten(r.cell, -1)
			} else {
				s.pending[r.saw]--
			}
		}
		if t.write {
			s.last[t.cell] = n + 1
		}
	}
	if id := m.begins[n]; id >= 0 {
		x := &m.sections[id]
		s.open[x.lock] = append(s.open[x.lock], id)
	}
	if id := m.ends[n]; id >= 0 {
		x := &m.sections[id]
		list := s.open[x.lock]
		for i, o := range list {
			if o == id {
				s.open[x.lock] = append(list[:i], list[i+1:]...)
				break
			}
		}
	}
}
