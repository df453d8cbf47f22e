package beam

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Delays finds orders in which one thread waits for long while all others go on. That is what
// a witness looks like for two accesses that are far apart. One such order, a course, has the
// thread meet whatever the others come to in it, and so serves many questions.
//
// A course begins as the observed order does, up to where the thread waits, its post, before
// any critical section, for the others need the locks. A beam leads it on to where the other
// thread of a question is at its access; another, shorter one, has the first thread go on
// from its post to the access that the question is about while that one waits.
type Delays struct {
	beam
	schedules  map[order.Node]*schedule // by post
	totalSteps int                      // of all courses
}

// schedule is an order.
type schedule struct {
	steps    []order.Node
	failedAt int // nothing has followed that so many states have led to
}

const (
	// delayPointEvery is how many nodes lie between two posts.
	delayPointEvery = 64
	// meetingPart is by how much fewer states a beam may look at that leads two threads to where
	// they meet than one that leads a course on.
	meetingPart = 16
	// nearbyStates and, for each event that lies between two accesses, statesPerStep is at how
	// many states one looks that has not tried anything else.
	nearbyStates, statesPerEvent = 1000, 8
	// defaultWidth is how wide beams are, and narrowBeam, those that lead not far from at hand.
	defaultWidth, nearbyWidth = 16, 8
	// maxScheduleSteps bounds the memory of courses, 4 bytes a step.
	maxScheduleSteps = 1 << 24
)

func New(x *moves.Machine) *Delays {
	return &Delays{beam: newBeam(x), schedules: map[order.Node]*schedule{}}
}

// delayPoints are where a thread waits before it comes to a node: where it does for many nodes, or, if
// that leads nowhere, right before this one, or earlier.
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

// beforeRegion returns a node, or the one that begins the critical section that it is in.
func (s *Delays) beforeRegion(n order.Node) order.Node {
	if s.RegionStart[n] != model.None {
		return s.RegionStart[n]
	}
	return n
}

// scheduleOf returns the course of a post.
func (s *Delays) scheduleOf(post order.Node) *schedule {
	c := s.schedules[post]
	if c == nil {
		if s.totalSteps > maxScheduleSteps {
			s.schedules, s.totalSteps = map[order.Node]*schedule{}, 0
		}
		m := s.Model
		n := slices.Index(m.Observed, post)
		c = &schedule{steps: slices.Clone(m.Observed[1:n])}
		s.schedules[post] = c
		s.totalSteps += len(c.steps)
	}
	return c
}

// Witness looks for the nodes up to where two nodes are next, the first one of which was
// observed first, at so many states at most for each beam that leads a course on.
func (s *Delays) Witness(a, b order.Node, states int) []order.Node {
	return s.tryDelayPoints(s.delayPoints(a), a, b, states)
}

// Nearby does so along one course, at so many states as the accesses are far apart.
func (s *Delays) Nearby(a, b order.Node) []order.Node {
	far := int(s.Model.Event[b] - s.Model.Event[a])
	s.width = nearbyWidth
	defer func() { s.width = defaultWidth }()
	return s.tryDelayPoints(s.delayPoints(a)[:1], a, b, nearbyStates+statesPerEvent*far)
}

// tryDelayPoints looks for the nodes up to where two nodes are next along the courses of posts.
func (s *Delays) tryDelayPoints(posts []order.Node, a, b order.Node, states int) []order.Node {
	for _, post := range posts {
		if nodes := s.tryDelayPoint(post, a, b, states); nodes != nil {
			return nodes
		}
	}
	return nil
}

// tryDelayPoint looks for the nodes up to where two nodes are next along the course of a post.
func (s *Delays) tryDelayPoint(post, a, b order.Node, states int) []order.Node {
	c := s.scheduleOf(post)
	at := s.arrival(c, b)
	if at < 0 {
		if c.failedAt >= states {
			return nil
		}
		s.HoldAt, s.AlsoHoldAt = post, model.None
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

// arrival returns after how many steps of a course a node is next, or -1.
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
