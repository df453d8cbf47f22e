package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// sweep goes through a window once, all threads together, and finds for all pairs of
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
type sweep struct {
	moves             // with a state at hand of its own
	active []int      // threads with accesses
	held   []heldMask // by node: the locks that its thread holds there
	out    []bool     // by node: it gives back a lock, or others depend on that it comes, or not any more

	begin []int // by active thread: where its pairs with those before begin in seen
	lower []int // by active thread: how many places those before it have
	spots int   // pairs of places
	most  int   // how many contents of memory may be told apart: a power of two
	full  bool  // there is no room for more states
	wide  bool  // all states are too many
	whole bool  // all states have been looked at

	pack    packing        // of threads and cells, and of all else unless counts says that
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
	// mostParts is how many contents of memory a sweep tells apart at most, fewParts, if it is to
	// be quick, and firstParts in its first round.
	mostParts  = 8
	fewParts   = 4
	firstParts = 2
	// sends stands for the effect of a send among cells.
	sends = uint64(1) << 63
	// anything stands for all cells.
	anything = ^uint64(0)
)

// newSweep returns nil if the window is too large.
func newSweep(x *moves) *sweep {
	m := x.m
	s := &sweep{moves: *x, met: map[[2]order.Node]int32{}, stalls: map[stall]bool{}}
	size, places := 0, 0
	for k := range x.threads {
		touches := false
		for n := m.base[k]; n < m.base[k+1]; n++ {
			touches = touches || x.acts[n].cell != noCell
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
	for s.most = mostParts; size*s.most > sweepBits; s.most /= 2 {
	}
	s.width = int(m.goal)/64 + 1
	if s.most == 0 || 64*s.width*int(m.goal) > sweepBits {
		return nil
	}
	s.out = make([]bool, m.goal)
	for _, list := range [][]edge{m.edges, m.seen} {
		for _, e := range list {
			s.out[e.from] = true
		}
	}
	for n := range m.goal {
		s.out[n] = s.out[n] || m.message[n] >= 0 || m.ends[n] >= 0
	}
	s.known = make([]uint64, s.width*int(m.goal))
	s.bold, s.moves.hold, s.path = false, none, nil
	s.askers()
	s.now = make([]int32, x.size)
	s.packed()
	s.key = make([]uint64, s.pack.size)
	s.lo, s.hi, s.here = make([]order.Node, x.threads), make([]order.Node, x.threads), make([]int, x.threads)
	s.before, s.after, s.held = make([]uint64, x.threads), make([]uint64, x.threads), m.masks()
	s.lines = [][]order.Node{m.hint[1:]}
	s.first = s.start(none, min(s.most, firstParts))
	return s
}

// packed finds out how to pack states: what follows from where the threads are is left
// out if it does not take too much to find it again.
func (s *sweep) packed() {
	m, most := s.m, s.limits()
	size := s.threads + s.cells
	rest := s.size - size
	if rest*(int(m.goal)+s.threads) > countsSize {
		s.pack = newPacking(most)
		return
	}
	s.pack = newPacking(most[:size])
	s.counts = make([]int32, rest*(int(m.goal)+s.threads))
	s.reset()
	first := slices.Clone(s.now[size:])
	for k := range s.threads {
		s.reset()
		for n := m.base[k]; ; n++ {
			row := s.counts[(int(n)+k)*rest:]
			for i, v := range s.now[size:] {
				row[i] = v
				if k > 0 {
					row[i] -= first[i]
				}
			}
			if n == m.base[k+1] {
				break
			}
			s.step(n)
		}
	}
	s.path = s.path[:0]
}

// load gets a state.
func (s *sweep) load(key []uint64) {
	if s.counts == nil {
		s.pack.unpack(key, s.now)
		return
	}
	size := s.threads + s.cells
	s.pack.unpack(key, s.now[:size])
	rest := s.now[size:]
	clear(rest)
	for k, v := range s.now[:s.threads] {
		at := (int(s.m.base[k]) + int(v) + k) * len(rest)
		for i, c := range s.counts[at : at+len(rest)] {
			rest[i] += c
		}
	}
}

// start begins a round with a thread held back, or none, in which so many contents of memory
// are told apart, or all states are kept.
func (s *sweep) start(hold order.Node, parts int) *search {
	round := &search{hold: hold, parts: parts, layers: make([]layer, int(s.m.goal)+1)}
	s.goOn(round)
	clear(s.before)
	s.reset()
	s.settle()
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
func (s *sweep) goOn(r *search) {
	s.search, s.moves.hold = r, r.hold
	if n := len(s.found); n == 0 || s.found[n-1].hold != r.hold {
		s.found = append(s.found, stretch{int32(len(s.from)), r.hold})
	}
}

// lead adds what is new along a line that somebody else has found.
func (s *sweep) lead(line []order.Node) {
	if s.whole || s.full || s.steps > lineSteps {
		return
	}
	s.steps += len(line)
	s.lines = append(s.lines, slices.Clone(line))
	s.goOn(s.first)
	s.along(len(s.lines) - 1)
}

// along adds the states along a line.
func (s *sweep) along(line int) {
	m := s.m
	clear(s.before)
	s.reset()
	for i, n := range s.lines[line] {
		if s.now[m.chain[n]] != m.pos(n) || !s.possible(n) {
			continue // as somebody is held back
		}
		s.step(n)
		s.take()
		copy(s.before, s.after)
		s.path = s.path[:0]
		s.parent = append(s.parent[:0], s.now...)
		s.settle()
		s.add(way{^int32(line), int16((i + 1) & 0x7fff), int16((i + 1) >> 15)}, anything)
		s.path = s.path[:0]
		copy(s.now, s.parent)
	}
}

// places is at how many places a thread can be.
func (s *sweep) places(thread int) int {
	return int(s.m.base[thread+1]-s.m.base[thread]) + 1
}

// rounds are which rounds of a sweep to go on with.
type rounds uint8

const (
	firstRound  rounds = iota
	bothRounds         // the second one when the first one is over
	secondRound        // whatever the first one has seen
)

// explore looks at so many states at most, of the first round or, after it, of all.
func (s *sweep) explore(states int, rounds rounds) {
	if s.whole || s.full {
		return
	}
	if rounds != secondRound {
		s.goOn(s.first)
		n, ended := s.look(states)
		if states -= n; !ended || rounds == firstRound {
			return
		}
	}
	if s.wide {
		return
	}
	if s.second == nil {
		s.second = s.start(none, 0)
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
func (s *sweep) look(states int) (looked int, all bool) {
	for ; s.layer < len(s.layers); s.layer++ {
		l := &s.layers[s.layer]
		s.full = len(s.from) >= sweepStates
		s.wide = s.wide || s.parts == 0 && len(l.ids) > sweepWidth
		if s.full || s.parts == 0 && s.wide {
			return looked, false
		}
		for ; s.place < len(l.ids); looked++ {
			if looked == states || looked%interruptEvery == 0 && s.interrupted() {
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

// back looks who meets where a thread is held back at a node, by way of states in which
// something is new if so many contents of memory are told apart; at so many states at most.
// It reports how many there were: none if it has done that, or the first round is not over.
func (s *sweep) back(a order.Node, parts, states int) (looked int) {
	key := stall{a, min(parts, s.most)}
	if s.full || s.whole || s.first.layer < len(s.first.layers) || s.stalls[key] {
		return 0
	}
	s.stalls[key] = true
	s.start(a, key.parts)
	looked, _ = s.look(states)
	if s.interrupted() {
		delete(s.stalls, key)
	}
	return looked
}

// expand looks at what follows a state.
func (s *sweep) expand(l *layer, at int) {
	m := s.m
	i, allow := l.ids[at], l.allow[at]
	s.load(l.words[at*s.pack.size : (at+1)*s.pack.size])
	s.parent = append(s.parent[:0], s.now...)
	s.path = s.path[:0]
	if s.parts > 0 {
		copy(s.before, l.taken[at*s.threads:])
	}
	for k := range s.threads {
		here := m.base[k] + order.Node(s.now[k])
		s.lo[k] = here
		for s.lo[k] > m.base[k] && s.acts[s.lo[k]-1].mover {
			s.lo[k]--
		}
		for pieces := 1; ; pieces++ {
			n := s.moves.next(k)
			s.hi[k] = n
			if n == none {
				s.hi[k] = m.base[k+1] - 1
				break
			}
			if !s.possible(n) {
				break
			}
			if changed := s.effect(n); changed != 0 {
				if changed&allow != 0 {
					s.step(n)
					s.resettle(len(s.path) - 1)
					s.add(way{i, int16(k), 0}, anything)
				}
				break
			}
			if left := allow & s.piece(k); left != 0 {
				s.add(way{i, int16(k), int16(pieces)}, left)
			}
		}
		copy(s.now, s.parent)
		s.path = s.path[:0]
	}
	s.meetings(i)
}

// effect returns the cells that a node would change, as bits.
func (s *sweep) effect(n order.Node) (changed uint64) {
	a := &s.acts[n]
	switch {
	case a.message && !s.m.receives(n):
		return sends
	case a.cell == manyCells && s.changes(n):
		return anything
	case a.leaves >= 0 && a.leaves != s.sees(a.cell):
		return cellBit(a.cell)
	}
	return 0
}

// piece lets a thread take a step without an effect and what follows at once, and
// returns the cells of which one has to change next if that was not to be done later.
func (s *sweep) piece(k int) (cells uint64) {
	n := s.moves.next(k)
	from := len(s.path)
	s.step(n)
	free := s.out[n]
	for n := s.moves.next(k); n != none && s.acts[n].mover && s.m.begins[n] < 0 && s.possible(n); n = s.moves.next(k) {
		free = free || s.out[n]
		s.step(n)
	}
	if free {
		s.resettle(from)
		return anything
	}
	// A section that hinders nobody.
	if n := s.moves.next(k); n != none && s.acts[n].reads {
		size := len(s.path)
		if s.resettle(from); len(s.path) > size {
			return anything
		}
	}
	for _, n := range s.path[from:] {
		for _, t := range s.m.touches[s.m.touchAt[n]:s.m.touchAt[n+1]] {
			cells |= cellBit(t.cell)
		}
	}
	return cells
}

// take finds the locks that others have taken since a thread had them, after the path at
// hand.
func (s *sweep) take() {
	m := s.m
	copy(s.after, s.before)
	for _, n := range s.path {
		if id := m.begins[n]; id >= 0 && m.sections[id].lock < 64 {
			for k := range s.after {
				if k != int(m.chain[n]) {
					s.after[k] |= 1 << m.sections[id].lock
				}
			}
		}
		if id := m.ends[n]; id >= 0 && m.sections[id].lock < 64 {
			s.after[m.chain[n]] &^= 1 << m.sections[id].lock
		}
	}
}

// add adds the state at hand.
func (s *sweep) add(w way, allow uint64) {
	if s.parts > 0 && !s.novel() {
		return
	}
	sum := 0
	for _, v := range s.now[:s.threads] {
		sum += int(v)
	}
	l := &s.layers[sum]
	if sum < s.layer {
		s.layer, s.place = sum, 0
	}
	if n := len(s.free); l.ids == nil && n > 0 {
		*l, s.free = s.free[n-1], s.free[:n-1]
	}
	s.pack.pack(s.now[:len(s.pack.parts)], s.key)
	if s.parts == 0 {
		if 2*len(l.ids) >= len(l.table) {
			l.table = make([]int32, max(256, 2*len(l.table)))
			for i := range l.ids {
				l.table[slot(l.table, l.words, l.words[i*s.pack.size:(i+1)*s.pack.size])] = int32(i) + 1
			}
		}
		at := slot(l.table, l.words, s.key)
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
func (s *sweep) novel() (novel bool) {
	memory := 0
	for c, v := range s.now[s.threads : s.threads+s.cells] {
		memory += int(v) * (2*(c/4) + 1) << (c % 4)
	}
	memory &= s.parts - 1
	for at, k := range s.active {
		s.here[at] = (s.lower[at] + int(s.now[k])) * s.parts
		row := (s.begin[at]+int(s.now[k])*s.lower[at])*s.parts + memory
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
func (s *sweep) hasHeld(n order.Node) bool { return s.stalls[stall{n, min(fewParts, s.most)}] }
