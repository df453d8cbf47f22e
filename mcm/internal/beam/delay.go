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
	schedules map[order.Node]*delayed // by post
	steps     int                     // of all courses
}

// delayed is an order.
type delayed struct {
	steps []order.Node
	tried int // nothing has followed that so many states have led to
}

const (
	// postEvery is how many nodes lie between two posts.
	postEvery = 64
	// nearPart is by how much fewer states a beam may look at that leads two threads to where
	// they meet than one that leads a course on.
	nearPart = 16
	// statesPerBeam and, for each event that lies between two accesses, statesPerStep is at how
	// many states one looks that has not tried anything else.
	statesPerBeam, statesPerStep = 1000, 8
	// wideBeam is how wide beams are, and narrowBeam, those that lead not far from at hand.
	wideBeam, narrowBeam = 16, 8
	// courseSteps bounds the memory of courses, 4 bytes a step.
	courseSteps = 1 << 24
)

func New(x *moves.Machine) *Delays {
	return &Delays{beam: newBeam(x), schedules: map[order.Node]*delayed{}}
}

// delayPoints are where a thread waits before it comes to a node: where it does for many nodes, or, if
// that leads nowhere, right before this one, or earlier.
func (s *Delays) delayPoints(a order.Node) (list []order.Node) {
	m := s.Model
	a = s.outside(a)
	first := m.Base[m.Chain[a]]
	at := (a - first) / postEvery * postEvery
	for _, n := range [...]order.Node{at, a - first, at - postEvery, at - 2*postEvery} {
		if n = s.outside(first + max(0, n)); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// outside returns a node, or the one that begins the critical section that it is in.
func (s *Delays) outside(n order.Node) order.Node {
	if s.RegionStart[n] != model.None {
		return s.RegionStart[n]
	}
	return n
}

// schedule returns the course of a post.
func (s *Delays) schedule(post order.Node) *delayed {
	c := s.schedules[post]
	if c == nil {
		if s.steps > courseSteps {
			s.schedules, s.steps = map[order.Node]*delayed{}, 0
		}
		m := s.Model
		n := slices.Index(m.Observed, post)
		c = &delayed{steps: slices.Clone(m.Observed[1:n])}
		s.schedules[post] = c
		s.steps += len(c.steps)
	}
	return c
}

// Witness looks for the nodes up to where two nodes are next, the first one of which was
// observed first, at so many states at most for each beam that leads a course on.
func (s *Delays) Witness(a, b order.Node, states int) []order.Node {
	return s.along(s.delayPoints(a), a, b, states)
}

// Nearby does so along one course, at so many states as the accesses are far apart.
func (s *Delays) Nearby(a, b order.Node) []order.Node {
	far := int(s.Model.Event[b] - s.Model.Event[a])
	s.width = narrowBeam
	defer func() { s.width = wideBeam }()
	return s.along(s.delayPoints(a)[:1], a, b, statesPerBeam+statesPerStep*far)
}

// along looks for the nodes up to where two nodes are next along the courses of posts.
func (s *Delays) along(posts []order.Node, a, b order.Node, states int) []order.Node {
	for _, post := range posts {
		if nodes := s.from(post, a, b, states); nodes != nil {
			return nodes
		}
	}
	return nil
}

// from looks for the nodes up to where two nodes are next along the course of a post.
func (s *Delays) from(post, a, b order.Node, states int) []order.Node {
	c := s.schedule(post)
	at := s.arrival(c, b)
	if at < 0 {
		if c.tried >= states {
			return nil
		}
		s.HoldAt, s.AlsoHoldAt = post, model.None
		steps, ok := s.search(c.steps, b, states)
		s.steps += len(steps) - len(c.steps)
		c.steps, c.tried = steps, 0
		if at = s.arrival(c, b); at < 0 || !ok {
			c.tried = states
			return nil
		}
	}
	s.HoldAt, s.AlsoHoldAt = a, b
	steps, ok := s.search(c.steps[:at], b, states/nearPart)
	if !ok || !s.IsPending(a) || !s.IsPending(b) {
		return nil
	}
	return steps
}

// arrival returns after how many steps of a course a node is next, or -1.
func (s *Delays) arrival(c *delayed, b order.Node) int {
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
