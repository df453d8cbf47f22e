package beam

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Delays finds delayed schedules of one model, and keeps them for further queries.
type Delays struct {
	beam
	schedules  map[order.Node]*schedule // by delay point
	totalSteps int                      // of all schedules
}

// schedule is a delayed schedule.
type schedule struct {
	steps    []order.Node
	failedAt int // the budget with which the last attempt to extend it failed, or 0
}

const (
	// delayPointEvery is the number of nodes between two preferred delay points of a thread.
	delayPointEvery = 64
	// meetingPart divides the budget for the second beam search, which moves two threads to where
	// they meet.
	meetingPart = 16
	// nearbyStates is the budget of Delays.Nearby. It grows by statesPerEvent for each event
	// between the two accesses.
	nearbyStates, statesPerEvent = 1000, 8
	// defaultWidth is the width of beams, and nearbyWidth that of Delays.Nearby.
	defaultWidth, nearbyWidth = 16, 8
	// maxScheduleSteps bounds the memory of schedules, at 4 bytes a step.
	maxScheduleSteps = 1 << 24
)

// New returns a search for delayed schedules that has none yet.
func New(x *moves.Machine) *Delays {
	return &Delays{beam: newBeam(x), schedules: map[order.Node]*schedule{}}
}

// delayPoints returns the delay points to try for a node, in order: one that serves many nodes,
// the node itself, and two earlier ones.
func (s *Delays) delayPoints(a order.Node) (list []order.Node) {
	m := s.Model
	a = s.beforeRegion(a)
	first := m.Base[m.Chain[a]]
	at := (a - first) / delayPointEvery * delayPointEvery
	for _, n := range [...]order.Node{at, a - first, at - delayPointEvery, at - 2*delayPointEvery} {
		if n = s.beforeRegion(first + max(0, n)); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// beforeRegion returns the node that begins the locked region of n, or n outside of locked
// regions.
func (s *Delays) beforeRegion(n order.Node) order.Node {
	if s.RegionStart[n] != model.None {
		return s.RegionStart[n]
	}
	return n
}

// scheduleOf returns the schedule of a delay point. A new one ends there.
func (s *Delays) scheduleOf(point order.Node) *schedule {
	c := s.schedules[point]
	if c == nil {
		if s.totalSteps > maxScheduleSteps {
			s.schedules, s.totalSteps = map[order.Node]*schedule{}, 0
		}
		m := s.Model
		n := slices.Index(m.Observed, point)
		c = &schedule{steps: slices.Clone(m.Observed[1:n])}
		s.schedules[point] = c
		s.totalSteps += len(c.steps)
	}
	return c
}

// Witness searches for a path after which a and b are pending. Node a was observed first; its
// thread is delayed. Each beam search that extends a schedule expands at most the given number of
// states. Witness returns nil if it finds no path.
func (s *Delays) Witness(a, b order.Node, states int) []order.Node {
	return s.tryDelayPoints(s.delayPoints(a), a, b, states)
}

// Nearby is Witness for one delay point, with a narrow beam and a budget in proportion to the
// distance of the accesses.
func (s *Delays) Nearby(a, b order.Node) []order.Node {
	far := int(s.Model.Event[b] - s.Model.Event[a])
	s.width = nearbyWidth
	defer func() { s.width = defaultWidth }()
	return s.tryDelayPoints(s.delayPoints(a)[:1], a, b, nearbyStates+statesPerEvent*far)
}

// tryDelayPoints searches for a path to a and b with the given delay points.
func (s *Delays) tryDelayPoints(points []order.Node, a, b order.Node, states int) []order.Node {
	for _, point := range points {
		if nodes := s.tryDelayPoint(point, a, b, states); nodes != nil {
			return nodes
		}
		if s.Interrupted() {
			break
		}
	}
	return nil
}

// tryDelayPoint searches for a path to a and b with one delay point.
func (s *Delays) tryDelayPoint(point, a, b order.Node, states int) []order.Node {
	c := s.scheduleOf(point)
	at := s.arrival(c, b)
	if at < 0 {
		if c.failedAt >= states {
			return nil
		}
		s.HoldAt, s.AlsoHoldAt = point, model.None
		steps, ok := s.search(c.steps, b, states)
		s.totalSteps += len(steps) - len(c.steps)
		c.steps, c.failedAt = steps, 0
		if at = s.arrival(c, b); at < 0 || !ok {
			c.failedAt = states
			return nil
		}
	}
	s.HoldAt, s.AlsoHoldAt = a, b
	steps, ok := s.search(c.steps[:at], b, states/meetingPart)
	if !ok || !s.IsPending(a) || !s.IsPending(b) {
		return nil
	}
	return steps
}

// arrival returns the number of steps of a schedule after which b is the next node of its thread,
// or -1.
func (s *Delays) arrival(c *schedule, b order.Node) int {
	left := s.Model.Pos(b)
	if left == 0 {
		return 0
	}
	for i, n := range c.steps {
		if s.Model.Chain[n] == s.Model.Chain[b] {
			if left--; left == 0 {
				return i + 1
			}
		}
	}
	return -1
}
