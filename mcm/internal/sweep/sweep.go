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
	moves.Machine                  // with a state at hand of its own
	active        []int            // threads with accesses
	held          []model.LockMask // by node: the locks that its thread holds there
	out           []bool           // by node: it gives back a lock, or others depend on that it comes, or not any more

	begin []int // by active thread: where its pairs with those before begin in seen
	lower []int // by active thread: how many places those before it have
	spots int   // pairs of places
	most  int   // how many contents of memory may be told apart: a power of two
	full  bool  // there is no room for more states
	wide  bool  // all states are too many
	whole bool  // all states have been looked at

	pack    moves.Packing  // of threads and cells, and of all else unless counts says that
	counts  []int32        // by place of a thread: who holds what and what was sent, if it was the only one to do so
	lines   [][]order.Node // orders that states come from, the observed one first
	steps   int            // of these but the first one
	from    []way          // by state
	found   []stretch      // of from
	stalls  map[stall]bool
	first   *search // for what is new
	second  *search // for all states, or nil
	*search         // the one that goes on

	known []uint64                // by pair of nodes, as bits: whether they have met
	width int                     // words of a node in it
	met   map[[2]order.Node]int32 // by accesses of a cell, the higher node last: the state from where

	key    []uint64     // scratch
	parent []int32      // scratch
	lo, hi []order.Node // scratch: by thread the first and the last place where it can be
	here   []int        // scratch: by active thread where it is among the places of all
	spans  []span       // scratch
	before []uint64     // scratch: by thread what others have taken, see layer, in the state that is looked at
	after  []uint64     // scratch: and in one that follows
	ways   []way        // scratch
	nodes  []order.Node // scratch
}

// stall is that a thread is held back at a node, while so many contents of memory are told
// apart.
type stall struct {
	node  order.Node
	parts int
}

// search is a round, and how far it is.
type search struct {
	hold  order.Node // where a thread is held back, or none
	parts int        // how many contents of memory are told apart, or 0 if all states are kept
	seen  []uint64   // by pair of active threads, their places and what memory holds, as bits: whether that is known

	layers []layer // by how many nodes have come
	free   []layer // that are not used any more
	layer  int     // that is being looked at
	place  int     // and the state of it
}

// layer are the states in which so many nodes have come.
type layer struct {
	words []uint64 // packed states
	ids   []int32
	allow []uint64 // by state: the cells of which one has to change next, as bits
	taken []uint64 // by state and thread: the locks that others have taken since it had them, unless all states are kept
	table []int32  // states plus one by hash, linear probing
}

const (
	// sweepSpots bounds how many pairs of places there are: of more what is new is too much.
	sweepSpots = 1 << 22
	// sweepBits bounds the memory of what is new, and of who has met, in bits.
	sweepBits = 1 << 27
	// sweepStates bounds how many states a sweep keeps, 8 bytes each.
	sweepStates = 1 << 23
	// sweepWidth is how many states of a layer are too many to look at all of them.
	sweepWidth = 1 << 15
	// lineSteps bounds how long the lines are that others have found.
	lineSteps = 1 << 22
	// countsSize bounds the memory of counts, in numbers.
	countsSize = 1 << 22
	// MostParts is how many contents of memory a sweep tells apart at most, fewParts, if it is to
	// be quick, and firstParts in its first round.
	MostParts  = 8
	FewParts   = 4
	firstParts = 2
	// sends stands for the effect of a send among cells.
	sends = uint64(1) << 63
	// anything stands for all cells.
	anything = ^uint64(0)
)

// New returns nil if the window is too large.
func New(x *moves.Machine) *Sweep {
	m := x.Model
	s := &Sweep{Machine: *x, met: map[[2]order.Node]int32{}, stalls: map[stall]bool{}}
	size, places := 0, 0
	for k := range x.Threads {
		touches := false
		for n := m.Base[k]; n < m.Base[k+1]; n++ {
			touches = touches || x.Transitions[n].Cell != moves.NoCell
		}
		if !touches {
			continue
		}
		s.begin, s.lower = append(s.begin, size), append(s.lower, places)
		size += places * s.places(k)
		places += s.places(k)
		s.active = append(s.active, k)
	}
	s.spots = size
	if size > sweepSpots {
		return nil
	}
	for s.most = MostParts; size*s.most > sweepBits; s.most /= 2 {
	}
	s.width = int(m.Goal)/64 + 1
	if s.most == 0 || 64*s.width*int(m.Goal) > sweepBits {
		return nil
	}
	s.out = make([]bool, m.Goal)
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			s.out[e.From] = true
		}
	}
	for n := range m.Goal {
		s.out[n] = s.out[n] || m.Message[n] >= 0 || m.Ends[n] >= 0
	}
	s.known = make([]uint64, s.width*int(m.Goal))
	s.SilentWrites, s.Machine.HoldAt, s.Path = false, model.None, nil
	s.UseStaticOrder()
	s.State = make([]int32, x.StateSize)
	s.packed()
	s.key = make([]uint64, s.pack.Words)
	s.lo, s.hi, s.here = make([]order.Node, x.Threads), make([]order.Node, x.Threads), make([]int, x.Threads)
	s.before, s.after, s.held = make([]uint64, x.Threads), make([]uint64, x.Threads), m.HeldLocks()
	s.lines = [][]order.Node{m.Observed[1:]}
	s.first = s.start(model.None, min(s.most, firstParts))
	return s
}

// packed finds out how to pack states: what follows from where the threads are is left
// out if it does not take too much to find it again.
func (s *Sweep) packed() {
	m, most := s.Model, s.Limits()
	size := s.Threads + s.Cells
	rest := s.StateSize - size
	if rest*(int(m.Goal)+s.Threads) > countsSize {
		s.pack = moves.NewPacking(most)
		return
	}
	s.pack = moves.NewPacking(most[:size])
	s.counts = make([]int32, rest*(int(m.Goal)+s.Threads))
	s.Reset()
	first := slices.Clone(s.State[size:])
	for k := range s.Threads {
		s.Reset()
		for n := m.Base[k]; ; n++ {
			row := s.counts[(int(n)+k)*rest:]
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
	if s.counts == nil {
		s.pack.Unpack(key, s.State)
		return
	}
	size := s.Threads + s.Cells
	s.pack.Unpack(key, s.State[:size])
	rest := s.State[size:]
	clear(rest)
	for k, v := range s.State[:s.Threads] {
		at := (int(s.Model.Base[k]) + int(v) + k) * len(rest)
		for i, c := range s.counts[at : at+len(rest)] {
			rest[i] += c
		}
	}
}

// start begins a round with a thread held back, or none, in which so many contents of memory
// are told apart, or all states are kept.
func (s *Sweep) start(hold order.Node, parts int) *search {
	round := &search{hold: hold, parts: parts, layers: make([]layer, int(s.Model.Goal)+1)}
	s.goOn(round)
	clear(s.before)
	s.Reset()
	s.TakeMovers()
	if parts > 0 {
		s.seen = make([]uint64, s.spots*parts/64+1)
	}
	s.add(way{-1, 0, 0}, anything)
	if parts > 0 {
		s.along(0)
	}
	return round
}

// goOn goes on with a round.
func (s *Sweep) goOn(r *search) {
	s.search, s.Machine.HoldAt = r, r.hold
	if n := len(s.found); n == 0 || s.found[n-1].hold != r.hold {
		s.found = append(s.found, stretch{int32(len(s.from)), r.hold})
	}
}

// Follow adds what is new along a line that somebody else has found.
func (s *Sweep) Follow(line []order.Node) {
	if s.whole || s.full || s.steps > lineSteps {
		return
	}
	s.steps += len(line)
	s.lines = append(s.lines, slices.Clone(line))
	s.goOn(s.first)
	s.along(len(s.lines) - 1)
}

// along adds the states along a line.
func (s *Sweep) along(line int) {
	m := s.Model
	clear(s.before)
	s.Reset()
	for i, n := range s.lines[line] {
		if s.State[m.Chain[n]] != m.Pos(n) || !s.Enabled(n) {
			continue // as somebody is held back
		}
		s.Step(n)
		s.take()
		copy(s.before, s.after)
		s.Path = s.Path[:0]
		s.parent = append(s.parent[:0], s.State...)
		s.TakeMovers()
		s.add(way{^int32(line), int16((i + 1) & 0x7fff), int16((i + 1) >> 15)}, anything)
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
	FirstRound  Rounds = iota
	BothRounds         // the second one when the first one is over
	SecondRound        // whatever the first one has seen
)

// Explore looks at so many states at most, of the first round or, after it, of all.
func (s *Sweep) Explore(states int, rounds Rounds) {
	if s.whole || s.full {
		return
	}
	if rounds != SecondRound {
		s.goOn(s.first)
		n, ended := s.look(states)
		if states -= n; !ended || rounds == FirstRound {
			return
		}
	}
	if s.wide {
		return
	}
	if s.second == nil {
		s.second = s.start(model.None, 0)
	}
	s.goOn(s.second)
	if _, s.whole = s.look(states); s.whole {
		s.first, s.search = nil, nil
	}
	if s.whole || s.wide {
		s.second = nil
	}
}

// look looks at so many states at most, and reports how many there were, and whether
// there are no more in this round.
func (s *Sweep) look(states int) (looked int, all bool) {
	for ; s.layer < len(s.layers); s.layer++ {
		l := &s.layers[s.layer]
		s.full = len(s.from) >= sweepStates
		s.wide = s.wide || s.parts == 0 && len(l.ids) > sweepWidth
		if s.full || s.parts == 0 && s.wide {
			return looked, false
		}
		for ; s.place < len(l.ids); looked++ {
			if looked == states || looked%moves.InterruptEvery == 0 && s.Interrupted() {
				return looked, false
			}
			s.expand(l, s.place)
			s.place++
		}
		s.place = 0
		clear(l.table)
		if l.ids != nil {
			s.free = append(s.free, layer{l.words[:0], l.ids[:0], l.allow[:0], l.taken[:0], l.table})
		}
		*l = layer{}
	}
	return looked, true
}

// HoldBack looks who meets where a thread is held back at a node, by way of states in which
// something is new if so many contents of memory are told apart; at so many states at most.
// It reports how many there were: none if it has done that, or the first round is not over.
func (s *Sweep) HoldBack(a order.Node, parts, states int) (looked int) {
	key := stall{a, min(parts, s.most)}
	if s.full || s.whole || s.first.layer < len(s.first.layers) || s.stalls[key] {
		return 0
	}
	s.stalls[key] = true
	s.start(a, key.parts)
	looked, _ = s.look(states)
	if s.Interrupted() {
		delete(s.stalls, key)
	}
	return looked
}

// expand looks at what follows a state.
func (s *Sweep) expand(l *layer, at int) {
	m := s.Model
	i, allow := l.ids[at], l.allow[at]
	s.load(l.words[at*s.pack.Words : (at+1)*s.pack.Words])
	s.parent = append(s.parent[:0], s.State...)
	s.Path = s.Path[:0]
	if s.parts > 0 {
		copy(s.before, l.taken[at*s.Threads:])
	}
	for k := range s.Threads {
		here := m.Base[k] + order.Node(s.State[k])
		s.lo[k] = here
		for s.lo[k] > m.Base[k] && s.Transitions[s.lo[k]-1].Mover {
			s.lo[k]--
		}
		for pieces := 1; ; pieces++ {
			n := s.Machine.NextNode(k)
			s.hi[k] = n
			if n == model.None {
				s.hi[k] = m.Base[k+1] - 1
				break
			}
			if !s.Enabled(n) {
				break
			}
			if changed := s.effect(n); changed != 0 {
				if changed&allow != 0 {
					s.Step(n)
					s.TakeMoversAfter(len(s.Path) - 1)
					s.add(way{i, int16(k), 0}, anything)
				}
				break
			}
			if left := allow & s.piece(k); left != 0 {
				s.add(way{i, int16(k), int16(pieces)}, left)
			}
		}
		copy(s.State, s.parent)
		s.Path = s.Path[:0]
	}
	s.meetings(i)
}

// effect returns the cells that a node would change, as bits.
func (s *Sweep) effect(n order.Node) (changed uint64) {
	a := &s.Transitions[n]
	switch {
	case a.Message && !s.Model.Receives(n):
		return sends
	case a.Cell == moves.ManyCells && s.Changes(n):
		return anything
	case a.Written >= 0 && a.Written != s.Value(a.Cell):
		return moves.CellBit(a.Cell)
	}
	return 0
}

// piece lets a thread take a step without an effect and what follows at once, and
// returns the cells of which one has to change next if that was not to be done later.
func (s *Sweep) piece(k int) (cells uint64) {
	n := s.Machine.NextNode(k)
	from := len(s.Path)
	s.Step(n)
	free := s.out[n]
	for n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].Mover && s.Model.Begins[n] < 0 && s.Enabled(n); n = s.Machine.NextNode(k) {
		free = free || s.out[n]
		s.Step(n)
	}
	if free {
		s.TakeMoversAfter(from)
		return anything
	}
	// A section that hinders nobody.
	if n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].ReadOnlySection {
		size := len(s.Path)
		if s.TakeMoversAfter(from); len(s.Path) > size {
			return anything
		}
	}
	for _, n := range s.Path[from:] {
		for _, t := range s.Model.Accesses[s.Model.AccessAt[n]:s.Model.AccessAt[n+1]] {
			cells |= moves.CellBit(t.Cell)
		}
	}
	return cells
}

// take finds the locks that others have taken since a thread had them, after the path at
// hand.
func (s *Sweep) take() {
	m := s.Model
	copy(s.after, s.before)
	for _, n := range s.Path {
		if id := m.Begins[n]; id >= 0 && m.Sections[id].Lock < 64 {
			for k := range s.after {
				if k != int(m.Chain[n]) {
					s.after[k] |= 1 << m.Sections[id].Lock
				}
			}
		}
		if id := m.Ends[n]; id >= 0 && m.Sections[id].Lock < 64 {
			s.after[m.Chain[n]] &^= 1 << m.Sections[id].Lock
		}
	}
}

// add adds the state at hand.
func (s *Sweep) add(w way, allow uint64) {
	if s.parts > 0 && !s.novel() {
		return
	}
	sum := 0
	for _, v := range s.State[:s.Threads] {
		sum += int(v)
	}
	l := &s.layers[sum]
	if sum < s.layer {
		s.layer, s.place = sum, 0
	}
	if n := len(s.free); l.ids == nil && n > 0 {
		*l, s.free = s.free[n-1], s.free[:n-1]
	}
	s.pack.Pack(s.State[:len(s.pack.Fields)], s.key)
	if s.parts == 0 {
		if 2*len(l.ids) >= len(l.table) {
			l.table = make([]int32, max(256, 2*len(l.table)))
			for i := range l.ids {
				l.table[moves.FindSlot(l.table, l.words, l.words[i*s.pack.Words:(i+1)*s.pack.Words])] = int32(i) + 1
			}
		}
		at := moves.FindSlot(l.table, l.words, s.key)
		if k := l.table[at]; k > 0 {
			l.allow[k-1] |= allow
			return
		}
		l.table[at] = int32(len(l.ids)) + 1
	} else {
		s.take()
		l.taken = append(l.taken, s.after...)
	}
	l.words = append(l.words, s.key...)
	l.ids = append(l.ids, int32(len(s.from)))
	l.allow = append(l.allow, allow)
	s.from = append(s.from, w)
}

// novel reports whether two threads are where they are, with memory as it is, for the
// first time.
func (s *Sweep) novel() (novel bool) {
	memory := 0
	for c, v := range s.State[s.Threads : s.Threads+s.Cells] {
		memory += int(v) * (2*(c/4) + 1) << (c % 4)
	}
	memory &= s.parts - 1
	for at, k := range s.active {
		s.here[at] = (s.lower[at] + int(s.State[k])) * s.parts
		row := (s.begin[at]+int(s.State[k])*s.lower[at])*s.parts + memory
		for _, o := range s.here[:at] {
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
func (s *Sweep) HasHeldBack(n order.Node) bool { return s.stalls[stall{n, min(FewParts, s.most)}] }
