package sweep

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Sweep goes through a window once, all threads together, and finds for all pairs of
// accesses at once which of them meet. Nothing in it depends on a question.
//
// Few states are enough. What threads do without an effect, which is to change what a
// cell holds, or to send, they may do at any time between two effects, so that a state is
// what an effect has led to. Steps that hinder nobody are taken at once. Another one
// without an effect, which takes a lock or writes the value that is there, can as well
// come after the next effect, unless that changes a cell that it needs as it is. So
// where a thread has taken such steps, up to a piece that needs some cells, there follows
// an effect on one of these; if it has given back a lock, or others wait for it in any
// case, whatever follows. All else that can follow follows, in another order, from a
// state in which the thread is not so far. Of such a state the cells are remembered, of
// all ways to it together: it is looked at when those are known, for states are looked
// at in layers, by how many nodes have come, and each step leads to a later layer.
//
// Two threads meet at all places where they can be without another effect: where they
// are, where they get to, and before steps that hinder nobody and were taken at once, unless
// that is where they had a lock that has been taken since.
//
// A sweep has two rounds. The first one keeps those states only in which something is
// new: two threads at two places, with memory as it is, for the first time. (Search by
// novelty: Lipovetzky and Geffner, "Width and serialization of classical planning
// problems", ECAI 2012.) There are as many novelties as pairs of places, thousands of
// times fewer than states, and each one brings an answer or a step towards one. It
// starts wherever the observed order leads, and goes on wherever orders lead that other searches
// have found, for where one question has its answer many have. The second round keeps all states, and gives up
// when they get too many. If it does not, who has not met in it does not meet.
//
// Who has not met in the first round often does where one of the two is held back for long
// while all others go on. So there can be rounds like the first one in which a thread does
// not get past a node. Most states are new then in how far the others are.
type Sweep struct {
	moves.Machine                  // with its own current state
	activeThreads []int            // threads with accesses
	heldLocks     []model.LockMask // by node: the locks that its thread holds there
	enablesOthers []bool           // by node: it gives back a lock, or others depend on that it comes, or not any more

	pairBase   []int // by active thread: where its pairs with those before begin in seen
	placeBase  []int // by active thread: how many places those before it have
	placePairs int   // pairs of places
	maxBuckets int   // how many contents of memory may be told apart: a power of two
	outOfRoom  bool  // there is no room for more states
	tooWide    bool  // all states are too many
	complete   bool  // all states have been looked at

	packing         moves.Packing  // of threads and cells, and of all else unless counts says that
	derived         []int32        // by place of a thread: who holds what and what was sent, if it was the only one to do so
	schedules       [][]order.Node // orders that states come from, the observed one first
	followedSteps   int            // of these but the first one
	origins         []origin       // by state
	segments        []segment      // of from
	heldBack        map[holdBack]bool
	noveltyRound    *round // for what is new
	exhaustiveRound *round // for all states, or nil
	*round                 // the one that goes on

	checked      []uint64                // by pair of nodes, as bits: whether they have met
	width        int                     // words of a node in it
	meetingState map[[2]order.Node]int32 // by accesses of a cell, the higher node last: the state from where

	key                   []uint64     // scratch
	parent                []int32      // scratch
	firstPlace, lastPlace []order.Node // scratch: by thread the first and the last place where it can be
	placeIndex            []int        // scratch: by active thread where it is among the places of all
	spans                 []span       // scratch
	takenBefore           []uint64     // scratch: by thread what others have taken, see layer, in the state that is looked at
	takenAfter            []uint64     // scratch: and in one that follows
	originChain           []origin     // scratch
	nodes                 []order.Node // scratch
}

// holdBack is that a thread is held back at a node, while so many contents of memory are told
// apart.
type holdBack struct {
	node    order.Node
	buckets int
}

// round is a round, and how far it is.
type round struct {
	holdAt  order.Node // where a thread is held back, or none
	buckets int        // how many contents of memory are told apart, or 0 if all states are kept
	seen    []uint64   // by pair of active threads, their places and what memory holds, as bits: whether that is known

	layers     []layer // by how many nodes have come
	freeLayers []layer // that are not used any more
	layerAt    int     // that is being looked at
	stateAt    int     // and the state of it
}

// layer are the states in which so many nodes have come.
type layer struct {
	words      []uint64 // packed states
	states     []int32
	relevant   []uint64 // by state: the cells of which one has to change next, as bits
	takenSince []uint64 // by state and thread: the locks that others have taken since it had them, unless all states are kept
	table      []int32  // states plus one by hash, linear probing
}

const (
	// maxPlacePairs bounds how many pairs of places there are: of more what is new is too much.
	maxPlacePairs = 1 << 22
	// maxBits bounds the memory of what is new, and of who has met, in bits.
	maxBits = 1 << 27
	// maxStates bounds how many states a sweep keeps, 8 bytes each.
	maxStates = 1 << 23
	// maxLayerStates is how many states of a layer are too many to look at all of them.
	maxLayerStates = 1 << 15
	// maxFollowedSteps bounds how long the lines are that others have found.
	maxFollowedSteps = 1 << 22
	// maxDerived bounds the memory of counts, in numbers.
	maxDerived = 1 << 22
	// MaxBuckets is how many contents of memory a sweep tells apart at most, fewParts, if it is to
	// be quick, and firstParts in its first round.
	MaxBuckets     = 8
	FewBuckets     = 4
	noveltyBuckets = 2
	// sendEffect stands for the effect of a send among cells.
	sendEffect = uint64(1) << 63
	// allCells stands for all cells.
	allCells = ^uint64(0)
)

// New returns nil if the window is too large.
func New(x *moves.Machine) *Sweep {
	m := x.Model
	s := &Sweep{Machine: *x, meetingState: map[[2]order.Node]int32{}, heldBack: map[holdBack]bool{}}
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
	for s.maxBuckets = MaxBuckets; size*s.maxBuckets > maxBits; s.maxBuckets /= 2 {
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
	s.noveltyRound = s.startRound(model.None, min(s.maxBuckets, noveltyBuckets))
	return s
}

// choosePacking finds out how to pack states: what follows from where the threads are is left
// out if it does not take too much to find it again.
func (s *Sweep) choosePacking() {
	m, most := s.Model, s.Limits()
	size := s.Threads + s.Cells
	rest := s.StateSize - size
	if rest*(int(m.Goal)+s.Threads) > maxDerived {
		s.packing = moves.NewPacking(most)
		return
	}
	s.packing = moves.NewPacking(most[:size])
	s.derived = make([]int32, rest*(int(m.Goal)+s.Threads))
	s.Reset()
	first := slices.Clone(s.State[size:])
	for k := range s.Threads {
		s.Reset()
		for n := m.Base[k]; ; n++ {
			row := s.derived[(int(n)+k)*rest:]
			for i, v := range s.State[size:] {
				row[i] = v
				if k > 0 {
					row[i] -= first[i]
				}
			}
			if n == m.Base[k+1] {
				break
			}
			s.Step(n)
		}
	}
	s.Path = s.Path[:0]
}

// load gets a state.
func (s *Sweep) load(key []uint64) {
	if s.derived == nil {
		s.packing.Unpack(key, s.State)
		return
	}
	size := s.Threads + s.Cells
	s.packing.Unpack(key, s.State[:size])
	rest := s.State[size:]
	clear(rest)
	for k, v := range s.State[:s.Threads] {
		at := (int(s.Model.Base[k]) + int(v) + k) * len(rest)
		for i, c := range s.derived[at : at+len(rest)] {
			rest[i] += c
		}
	}
}

// startRound begins a round with a thread held back, or none, in which so many contents of memory
// are told apart, or all states are kept.
func (s *Sweep) startRound(hold order.Node, parts int) *round {
	round := &round{holdAt: hold, buckets: parts, layers: make([]layer, int(s.Model.Goal)+1)}
	s.resume(round)
	clear(s.takenBefore)
	s.Reset()
	s.TakeMovers()
	if parts > 0 {
		s.seen = make([]uint64, s.placePairs*parts/64+1)
	}
	s.add(origin{-1, 0, 0}, allCells)
	if parts > 0 {
		s.followSchedule(0)
	}
	return round
}

// resume goes on with a round.
func (s *Sweep) resume(r *round) {
	s.round, s.Machine.HoldAt = r, r.holdAt
	if n := len(s.segments); n == 0 || s.segments[n-1].holdAt != r.holdAt {
		s.segments = append(s.segments, segment{int32(len(s.origins)), r.holdAt})
	}
}

// Follow adds what is new along a line that somebody else has found.
func (s *Sweep) Follow(line []order.Node) {
	if s.complete || s.outOfRoom || s.followedSteps > maxFollowedSteps {
		return
	}
	s.followedSteps += len(line)
	s.schedules = append(s.schedules, slices.Clone(line))
	s.resume(s.noveltyRound)
	s.followSchedule(len(s.schedules) - 1)
}

// followSchedule adds the states along a line.
func (s *Sweep) followSchedule(line int) {
	m := s.Model
	clear(s.takenBefore)
	s.Reset()
	for i, n := range s.schedules[line] {
		if s.State[m.Chain[n]] != m.Pos(n) || !s.Enabled(n) {
			continue // as somebody is held back
		}
		s.Step(n)
		s.updateTaken()
		copy(s.takenBefore, s.takenAfter)
		s.Path = s.Path[:0]
		s.parent = append(s.parent[:0], s.State...)
		s.TakeMovers()
		s.add(origin{^int32(line), int16((i + 1) & 0x7fff), int16((i + 1) >> 15)}, allCells)
		s.Path = s.Path[:0]
		copy(s.State, s.parent)
	}
}

// places is at how many places a thread can be.
func (s *Sweep) places(thread int) int {
	return int(s.Model.Base[thread+1]-s.Model.Base[thread]) + 1
}

// Rounds are which rounds of a sweep to go on with.
type Rounds uint8

const (
	NoveltyRound    Rounds = iota
	BothRounds             // the second one when the first one is over
	ExhaustiveRound        // whatever the first one has seen
)

// Explore looks at so many states at most, of the first round or, after it, of all.
func (s *Sweep) Explore(states int, rounds Rounds) {
	if s.complete || s.outOfRoom {
		return
	}
	if rounds != ExhaustiveRound {
		s.resume(s.noveltyRound)
		n, ended := s.expandLayers(states)
		if states -= n; !ended || rounds == NoveltyRound {
			return
		}
	}
	if s.tooWide {
		return
	}
	if s.exhaustiveRound == nil {
		s.exhaustiveRound = s.startRound(model.None, 0)
	}
	s.resume(s.exhaustiveRound)
	if _, s.complete = s.expandLayers(states); s.complete {
		s.noveltyRound, s.round = nil, nil
	}
	if s.complete || s.tooWide {
		s.exhaustiveRound = nil
	}
}

// expandLayers looks at so many states at most, and reports how many there were, and whether
// there are no more in this round.
func (s *Sweep) expandLayers(states int) (looked int, all bool) {
	for ; s.layerAt < len(s.layers); s.layerAt++ {
		l := &s.layers[s.layerAt]
		s.outOfRoom = len(s.origins) >= maxStates
		s.tooWide = s.tooWide || s.buckets == 0 && len(l.states) > maxLayerStates
		if s.outOfRoom || s.buckets == 0 && s.tooWide {
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
		clear(l.table)
		if l.states != nil {
			s.freeLayers = append(s.freeLayers, layer{l.words[:0], l.states[:0], l.relevant[:0], l.takenSince[:0], l.table})
		}
		*l = layer{}
	}
	return looked, true
}

// HoldBack looks who meets where a thread is held back at a node, by way of states in which
// something is new if so many contents of memory are told apart; at so many states at most.
// It reports how many there were: none if it has done that, or the first round is not over.
func (s *Sweep) HoldBack(a order.Node, parts, states int) (looked int) {
	key := holdBack{a, min(parts, s.maxBuckets)}
	if s.outOfRoom || s.complete || s.noveltyRound.layerAt < len(s.noveltyRound.layers) || s.heldBack[key] {
		return 0
	}
	s.heldBack[key] = true
	s.startRound(a, key.buckets)
	looked, _ = s.expandLayers(states)
	if s.Interrupted() {
		delete(s.heldBack, key)
	}
	return looked
}

// expand looks at what follows a state.
func (s *Sweep) expand(l *layer, at int) {
	m := s.Model
	i, allow := l.states[at], l.relevant[at]
	s.load(l.words[at*s.packing.Words : (at+1)*s.packing.Words])
	s.parent = append(s.parent[:0], s.State...)
	s.Path = s.Path[:0]
	if s.buckets > 0 {
		copy(s.takenBefore, l.takenSince[at*s.Threads:])
	}
	for k := range s.Threads {
		here := m.Base[k] + order.Node(s.State[k])
		s.firstPlace[k] = here
		for s.firstPlace[k] > m.Base[k] && s.Transitions[s.firstPlace[k]-1].Mover {
			s.firstPlace[k]--
		}
		for pieces := 1; ; pieces++ {
			n := s.Machine.NextNode(k)
			s.lastPlace[k] = n
			if n == model.None {
				s.lastPlace[k] = m.Base[k+1] - 1
				break
			}
			if !s.Enabled(n) {
				break
			}
			if changed := s.effect(n); changed != 0 {
				if changed&allow != 0 {
					s.Step(n)
					s.TakeMoversAfter(len(s.Path) - 1)
					s.add(origin{i, int16(k), 0}, allCells)
				}
				break
			}
			if left := allow & s.takeSilentRun(k); left != 0 {
				s.add(origin{i, int16(k), int16(pieces)}, left)
			}
		}
		copy(s.State, s.parent)
		s.Path = s.Path[:0]
	}
	s.findMeetings(i)
}

// effect returns the cells that a node would change, as bits.
func (s *Sweep) effect(n order.Node) (changed uint64) {
	a := &s.Transitions[n]
	switch {
	case a.Message && !s.Model.Receives(n):
		return sendEffect
	case a.Cell == moves.ManyCells && s.Changes(n):
		return allCells
	case a.Written >= 0 && a.Written != s.Value(a.Cell):
		return moves.CellBit(a.Cell)
	}
	return 0
}

// takeSilentRun lets a thread take a step without an effect and what follows at once, and
// returns the cells of which one has to change next if that was not to be done later.
func (s *Sweep) takeSilentRun(k int) (cells uint64) {
	n := s.Machine.NextNode(k)
	from := len(s.Path)
	s.Step(n)
	free := s.enablesOthers[n]
	for n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].Mover && s.Model.Begins[n] < 0 && s.Enabled(n); n = s.Machine.NextNode(k) {
		free = free || s.enablesOthers[n]
		s.Step(n)
	}
	if free {
		s.TakeMoversAfter(from)
		return allCells
	}
	// A section that hinders nobody.
	if n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].ReadOnlySection {
		size := len(s.Path)
		if s.TakeMoversAfter(from); len(s.Path) > size {
			return allCells
		}
	}
	for _, n := range s.Path[from:] {
		for _, t := range s.Model.Accesses[s.Model.AccessAt[n]:s.Model.AccessAt[n+1]] {
			cells |= moves.CellBit(t.Cell)
		}
	}
	return cells
}

// updateTaken finds the locks that others have taken since a thread had them, after the path at
// hand.
func (s *Sweep) updateTaken() {
	m := s.Model
	copy(s.takenAfter, s.takenBefore)
	for _, n := range s.Path {
		if id := m.Begins[n]; id >= 0 && m.Sections[id].Lock < 64 {
			for k := range s.takenAfter {
				if k != int(m.Chain[n]) {
					s.takenAfter[k] |= 1 << m.Sections[id].Lock
				}
			}
		}
		if id := m.Ends[n]; id >= 0 && m.Sections[id].Lock < 64 {
			s.takenAfter[m.Chain[n]] &^= 1 << m.Sections[id].Lock
		}
	}
}

// add adds the state at hand.
func (s *Sweep) add(w origin, allow uint64) {
	if s.buckets > 0 && !s.isNovel() {
		return
	}
	sum := 0
	for _, v := range s.State[:s.Threads] {
		sum += int(v)
	}
	l := &s.layers[sum]
	if sum < s.layerAt {
		s.layerAt, s.stateAt = sum, 0
	}
	if n := len(s.freeLayers); l.states == nil && n > 0 {
		*l, s.freeLayers = s.freeLayers[n-1], s.freeLayers[:n-1]
	}
	s.packing.Pack(s.State[:len(s.packing.Fields)], s.key)
	if s.buckets == 0 {
		if 2*len(l.states) >= len(l.table) {
			l.table = make([]int32, max(256, 2*len(l.table)))
			for i := range l.states {
				l.table[moves.FindSlot(l.table, l.words, l.words[i*s.packing.Words:(i+1)*s.packing.Words])] = int32(i) + 1
			}
		}
		at := moves.FindSlot(l.table, l.words, s.key)
		if k := l.table[at]; k > 0 {
			l.relevant[k-1] |= allow
			return
		}
		l.table[at] = int32(len(l.states)) + 1
	} else {
		s.updateTaken()
		l.takenSince = append(l.takenSince, s.takenAfter...)
	}
	l.words = append(l.words, s.key...)
	l.states = append(l.states, int32(len(s.origins)))
	l.relevant = append(l.relevant, allow)
	s.origins = append(s.origins, w)
}

// isNovel reports whether two threads are where they are, with memory as it is, for the
// first time.
func (s *Sweep) isNovel() (novel bool) {
	memory := 0
	for c, v := range s.State[s.Threads : s.Threads+s.Cells] {
		memory += int(v) * (2*(c/4) + 1) << (c % 4)
	}
	memory &= s.buckets - 1
	for at, k := range s.activeThreads {
		s.placeIndex[at] = (s.placeBase[at] + int(s.State[k])) * s.buckets
		row := (s.pairBase[at]+int(s.State[k])*s.placeBase[at])*s.buckets + memory
		for _, o := range s.placeIndex[:at] {
			bit := uint(row + o)
			if old := s.seen[bit/64]; old>>(bit%64)&1 == 0 {
				s.seen[bit/64] = old | 1<<(bit%64)
				novel = true
			}
		}
	}
	return novel
}

// held reports whether there has been a round with a thread held back at a node, quick or not.
func (s *Sweep) HasHeldBack(n order.Node) bool {
	return s.heldBack[holdBack{n, min(FewBuckets, s.maxBuckets)}]
}
