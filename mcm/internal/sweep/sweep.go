package sweep

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Sweep explores the states of one window for all queries. See the package documentation.
type Sweep struct {
	moves.Machine                  // with its own current state
	activeThreads []int            // threads with accesses
	heldLocks     []model.LockMask // by node: the locks that its thread holds there
	enablesOthers []bool           // by node: it releases, sends or receives, or other threads wait for it

	pairBase   []int // by active thread: where its pairs with the threads before it begin in round.seen
	placeBase  []int // by active thread: the number of places of the threads before it
	placePairs int   // pairs of places
	maxBuckets int   // the largest possible number of memory buckets, a power of two
	outOfRoom  bool  // there is no room for more states

	packing       moves.Packing       // of threads and cells, and of the other components if derived is nil
	derived       []int32             // by place of a thread: its contribution to lock and send counts
	schedules     [][]order.Node      // schedules that rounds start along, the observed order first
	followedSteps int                 // total length of all schedules but the first
	origins       []origin            // by state
	segments      []segment           // of origins
	heldBack      map[order.Node]bool // where HoldBack has run
	whole         *round              // without a thread held back
	*round                            // the current round

	checked      []uint64                // by pair of nodes, as bits: it has been recorded, or does not conflict
	width        int                     // words of checked for each node
	meetingState map[[2]order.Node]int32 // by conflicting pair, lower node first: a state from which both get there without effects

	key                   []uint64     // scratch
	parent                []int32      // scratch
	firstPlace, lastPlace []order.Node // scratch: by thread, the first and the last place that it can take without an effect
	placeIndex            []int        // scratch: by active thread, the number of its place among all
	spans                 []span       // scratch
	takenBefore           []uint64     // scratch: by thread, the locks that others have taken since it held them, in the expanded state
	takenAfter            []uint64     // scratch: the same in a successor
	originChain           []origin     // scratch
	nodes                 []order.Node // scratch
}

// round is a pass over the states, with its progress.
type round struct {
	holdAt  order.Node // where a thread is held back, or None
	buckets int        // number of memory buckets
	seen    []uint64   // by pair of active threads, their places and memory bucket, as bits

	layers     []layer // by number of executed nodes
	freeLayers []layer // discarded layers, for reuse
	layerAt    int     // the layer that is being expanded
	stateAt    int     // the next state of it
}

const (
	// maxPlacePairs bounds the pairs of places; with more of them a round keeps too many states.
	maxPlacePairs = 1 << 22
	// maxBits bounds the tables of novelties and of checked pairs, in bits.
	maxBits = 1 << 27
	// maxStates bounds the states of all rounds, at 8 bytes each.
	maxStates = 1 << 23
	// maxFollowedSteps bounds the schedules that Follow keeps.
	maxFollowedSteps = 1 << 22
	// maxDerived bounds the memory of Sweep.derived, in numbers.
	maxDerived = 1 << 22
	// wholeBuckets is the number of memory buckets of a round without a thread held back, and heldBackBuckets that of the others.
	wholeBuckets    = 2
	heldBackBuckets = 4
	// sendEffect is the bit of a send in a set of cells.
	sendEffect = uint64(1) << 63
	// allCells is the set of all cells and sends.
	allCells = ^uint64(0)
)

// New returns a sweep of the window, or nil if the window is too large.
func New(x *moves.Machine) *Sweep {
	m := x.Model
	s := &Sweep{Machine: *x, meetingState: map[[2]order.Node]int32{}, heldBack: map[order.Node]bool{}}
	size, places := 0, 0
	for k := range x.Threads {
		touches := false
		for n := m.Base[k]; n < m.Base[k+1]; n++ {
			touches = touches || x.Transitions[n].Cell != moves.NoCell
		}
		if !touches {
			continue
		}
		s.pairBase, s.placeBase = append(s.pairBase, size), append(s.placeBase, places)
		size += places * s.places(k)
		places += s.places(k)
		s.activeThreads = append(s.activeThreads, k)
	}
	s.placePairs = size
	if size > maxPlacePairs {
		return nil
	}
	for s.maxBuckets = heldBackBuckets; size*s.maxBuckets > maxBits; s.maxBuckets /= 2 {
	}
	s.width = int(m.Goal)/64 + 1
	if s.maxBuckets == 0 || 64*s.width*int(m.Goal) > maxBits {
		return nil
	}
	s.enablesOthers = make([]bool, m.Goal)
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			s.enablesOthers[e.From] = true
		}
	}
	for n := range m.Goal {
		s.enablesOthers[n] = s.enablesOthers[n] || m.Message[n] >= 0 || m.Ends[n] >= 0
	}
	s.checked = make([]uint64, s.width*int(m.Goal))
	s.SilentWrites, s.Machine.HoldAt, s.Path = false, model.None, nil
	s.UseStaticOrder()
	s.State = make([]int32, x.StateSize)
	s.choosePacking()
	s.key = make([]uint64, s.packing.Words)
	s.firstPlace, s.lastPlace, s.placeIndex = make([]order.Node, x.Threads), make([]order.Node, x.Threads), make([]int, x.Threads)
	s.takenBefore, s.takenAfter, s.heldLocks = make([]uint64, x.Threads), make([]uint64, x.Threads), m.HeldLocks()
	s.schedules = [][]order.Node{m.Observed[1:]}
	s.whole = s.startRound(model.None, wholeBuckets)
	return s
}

// startRound begins a round with a thread held back at a node, or None.
func (s *Sweep) startRound(hold order.Node, buckets int) *round {
	round := &round{holdAt: hold, buckets: min(buckets, s.maxBuckets), layers: make([]layer, int(s.Model.Goal)+1)}
	s.resume(round)
	clear(s.takenBefore)
	s.Reset()
	s.TakeMovers()
	s.seen = make([]uint64, s.placePairs*round.buckets/64+1)
	s.add(origin{-1, 0, 0}, allCells)
	s.followSchedule(0)
	return round
}

// resume makes a round the current one.
func (s *Sweep) resume(r *round) {
	s.round, s.Machine.HoldAt = r, r.holdAt
	if n := len(s.segments); n == 0 || s.segments[n-1].holdAt != r.holdAt {
		s.segments = append(s.segments, segment{int32(len(s.origins)), r.holdAt})
	}
}

// Follow adds the new states along a schedule that another search has found to the round without a thread held back.
func (s *Sweep) Follow(schedule []order.Node) {
	if s.outOfRoom || s.followedSteps > maxFollowedSteps {
		return
	}
	s.followedSteps += len(schedule)
	s.schedules = append(s.schedules, slices.Clone(schedule))
	s.resume(s.whole)
	s.followSchedule(len(s.schedules) - 1)
}

// followSchedule adds the new states along a schedule to the current round. It skips nodes that
// are not enabled because a thread is held back.
func (s *Sweep) followSchedule(schedule int) {
	m := s.Model
	clear(s.takenBefore)
	s.Reset()
	for i, n := range s.schedules[schedule] {
		if s.State[m.Chain[n]] != m.Pos(n) || !s.Enabled(n) {
			continue // a thread is held back
		}
		s.Step(n)
		s.updateTaken()
		copy(s.takenBefore, s.takenAfter)
		s.Path = s.Path[:0]
		s.parent = append(s.parent[:0], s.State...)
		s.TakeMovers()
		s.add(origin{^int32(schedule), int16((i + 1) & 0x7fff), int16((i + 1) >> 15)}, allCells)
		s.Path = s.Path[:0]
		copy(s.State, s.parent)
	}
}

// places returns at how many places a thread can be.
func (s *Sweep) places(thread int) int {
	return int(s.Model.Base[thread+1]-s.Model.Base[thread]) + 1
}

// Explore continues the round without a thread held back, and expands at most the given number of states.
func (s *Sweep) Explore(states int) {
	if !s.outOfRoom {
		s.resume(s.whole)
		s.expandLayers(states)
	}
}

// expandLayers expands at most the given number of states of the current round. It returns how
// many it has expanded, and whether the round is over.
func (s *Sweep) expandLayers(states int) (looked int, all bool) {
	for ; s.layerAt < len(s.layers); s.layerAt++ {
		l := &s.layers[s.layerAt]
		if s.outOfRoom = len(s.origins) >= maxStates; s.outOfRoom {
			return looked, false
		}
		for ; s.stateAt < len(l.states); looked++ {
			if looked == states || looked%moves.InterruptEvery == 0 && s.Interrupted() {
				return looked, false
			}
			s.expand(l, s.stateAt)
			s.stateAt++
		}
		s.stateAt = 0
		if l.states != nil {
			s.freeLayers = append(s.freeLayers, layer{l.words[:0], l.states[:0], l.relevant[:0], l.takenSince[:0]})
		}
		*l = layer{}
	}
	return looked, true
}

// HoldBack runs a round with the thread of a held back at a, and expands at most the given number of states. It returns
// how many it has expanded: 0 if it has run before or the round without a thread held back is not over.
func (s *Sweep) HoldBack(a order.Node, states int) (looked int) {
	if s.outOfRoom || s.whole.layerAt < len(s.whole.layers) || s.heldBack[a] {
		return 0
	}
	s.heldBack[a] = true
	s.startRound(a, heldBackBuckets)
	looked, _ = s.expandLayers(states)
	if s.Interrupted() {
		delete(s.heldBack, a)
	}
	return looked
}

// HasHeldBack reports whether HoldBack has run at a node.
func (s *Sweep) HasHeldBack(n order.Node) bool { return s.heldBack[n] }
