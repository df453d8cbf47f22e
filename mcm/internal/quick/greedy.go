package quick

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Scheduler builds schedules that may answer a query, node by node and without backtracking.
type Scheduler struct {
	m       *model.Model
	closure *Closure

	prefix []int32      // scratch of SyncPreserving: by chain, how many nodes come before the goal
	nodes  []order.Node // scratch: the schedule

	// The state of schedule:
	next          []int32      // by chain: how many nodes have been executed
	blocker       []int32      // by chain: a chain that it waits for, or -1
	blockedUntil  []int32      // by chain: how many nodes of its blocker it waits for
	last          []order.Node // by cell: its last write, plus one
	unread        []int32      // by write: how many reads that saw it are still to come
	unreadInitial []int32      // by cell: likewise for the value before the window
	open          [][]int32    // by lock: sections that have not ended
}

// NewScheduler returns a scheduler for queries whose edges are in c.
func NewScheduler(m *model.Model, c *Closure) *Scheduler {
	width := len(m.Base) - 1
	return &Scheduler{
		m: m, closure: c, prefix: make([]int32, width),
		next: make([]int32, width), blocker: make([]int32, width), blockedUntil: make([]int32, width),
		last: make([]order.Node, len(m.Cells)), unread: make([]int32, m.Goal), unreadInitial: make([]int32, len(m.Cells)),
		open: make([][]int32, len(m.Locks)),
	}
}

// Greedy returns a greedy schedule that answers the query in the saturated closure and that valid
// accepts, or nil. It tries a schedule that keeps written values until they have been read; then, if
// reads have choices, one that overwrites them, and one in whose closure each read sees the write
// that it saw.
func (s *Scheduler) Greedy(valid func([]order.Node) bool) []order.Node {
	try := func(overwrite bool) []order.Node {
		if nodes := s.schedule(overwrite); nodes != nil && valid(nodes) {
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
	consistent := s.closure.Saturate()
	s.closure.observed = false
	if !consistent {
		return nil
	}
	return try(false)
}

// schedule returns an order of the nodes that must come before the goal, or nil if it gets stuck. It
// executes, of the enabled nodes, the one that was observed first.
//
// With overwrite, it executes nodes that write nothing first, and lets writes overwrite values that
// are still to be read. Otherwise, a write waits until the current value has been read by all reads
// that saw it.
func (s *Scheduler) schedule(overwrite bool) []order.Node {
	m, c := s.m, s.closure
	goal := c.row(m.Goal)
	width := len(m.Base) - 1
	s.reset(goal)
	next, blocker, blockedUntil := s.next, s.blocker, s.blockedUntil
	total := 0
	for k := range width - 1 {
		total += int(goal[k])
	}
	nodes := s.nodes[:0]
	for len(nodes) < total {
		best := model.None
		for k := range width - 1 {
			if next[k] >= goal[k] || blocker[k] >= 0 && next[blocker[k]] < blockedUntil[k] {
				continue
			}
			n := m.Base[k] + order.Node(next[k])
			if best != model.None && !s.preferred(n, best, overwrite) {
				continue
			}
			blocker[k] = -1
			for j, v := range c.row(n)[:width-1] {
				if j != k && next[j] < v {
					blocker[k], blockedUntil[k] = int32(j), v
					break
				}
			}
			if blocker[k] < 0 && s.enabled(n, overwrite) {
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

// reset makes the start of the window the current state, for a schedule of the given prefix.
func (s *Scheduler) reset(prefix []int32) {
	m := s.m
	for k := range s.next {
		s.next[k], s.blocker[k] = 0, -1
	}
	clear(s.last)
	clear(s.unread)
	clear(s.unreadInitial)
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
		if r := &m.Reads[i]; prefix[m.Chain[r.Node]] > m.Pos(r.Node) {
			s.countRead(r, 1)
		}
	}
}

// countRead adds by to the number of reads of the value that r saw.
func (s *Scheduler) countRead(r *model.Read, by int32) {
	if r.Saw == model.None {
		s.unreadInitial[r.Cell] += by
	} else {
		s.unread[r.Saw] += by
	}
}

// preferred reports whether n is to be executed rather than best, if both are enabled.
func (s *Scheduler) preferred(n, best order.Node, overwrite bool) bool {
	if overwrite {
		if w := s.writes(n); w != s.writes(best) {
			return !w
		}
	}
	return s.m.Event[n] <= s.m.Event[best]
}

// writes reports whether a node writes a cell.
func (s *Scheduler) writes(n order.Node) bool {
	m := s.m
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Write {
			return true
		}
	}
	return false
}

// enabled reports whether n can be executed now: its reads see accepted values, no section excludes
// its section, and, without overwrite, it overwrites no value that another node is still to read.
// It does not check the order.
func (s *Scheduler) enabled(n order.Node, overwrite bool) bool {
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
		if t.Write && !overwrite {
			if last == model.None && s.unreadInitial[t.Cell] > own || last != model.None && s.unread[last] > own {
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

// step executes n.
func (s *Scheduler) step(n order.Node) {
	m := s.m
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 {
			s.countRead(&m.Reads[t.Read], -1)
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
