package fasttrack

import "sync/atomic"

// Vector clocks. A clock is the number of a vector; 0 is the clock that is zero
// everywhere. A vector is a tree: the first times are in a block of its own, all others in the
// blocks of nodes. Vectors share nodes, nodes share blocks, and threads and objects share vectors:
// what is shared is copied before it is changed. Who holds a vector that nobody else
// does is sure to be alone: others can only get it from its holder.

const (
	blockSlots  = 64
	nodeBlocks  = 8
	vectorNodes = (maxSlots/blockSlots - 1 + nodeBlocks - 1) / nodeBlocks
	nearNodes   = 5
)

type vector struct {
	refs atomic.Uint32
	next uint32 // in the list of free ones
	low  uint32 // the first block
	near [nearNodes]uint32
}

// far is the rest of a vector, elsewhere, for most programs need no more than what is near.
type far struct {
	nodes [vectorNodes - nearNodes]uint32
}

type node struct {
	refs   atomic.Uint32
	next   uint32
	blocks [nodeBlocks]uint32
}

// nodeOf returns where the number of node i of a vector stands.
//
//go:nosplit
func nodeOf(c, i uint32) *uint32 {
	if i < nearNodes {
		return &vectorAt(c).near[i]
	}
	return &farAt(c).nodes[(i-nearNodes)%(vectorNodes-nearNodes)]
}

// ofNode returns block i of a node, 0 for none of no node.
//
//go:nosplit
func ofNode(n, i uint32) uint32 {
	if n == 0 {
		return 0
	}
	return nodeAt(n).blocks[i%nodeBlocks]
}

// block is 64 times, two in a word, which has two bits to spare: so two are compared at
// once. They begin with a cache line, and of few threads need no other one. How many hold a block stands
// elsewhere: nodes are shared and given up often, and then that changes for all of their blocks, which
// need not be fetched for it.
type block struct {
	times [blockSlots / 2]uint64
}

// tally is how many hold a block.
type tally struct {
	refs atomic.Uint32
	next uint32 // in the list of free ones
}

// spare is the bits of a word that no time has.
const spare = 1<<63 | 1<<31

//go:nosplit
func (b *block) time(slot uint32) uint32 {
	return uint32(b.times[slot/2%(blockSlots/2)] >> (slot & 1 * 32))
}

//go:nosplit
func (b *block) setTime(slot, time uint32) {
	w := &b.times[slot/2%(blockSlots/2)]
	shift := slot & 1 * 32
	*w = *w&^((1<<32-1)<<shift) | uint64(time)<<shift
}

// What there are lists of.
const (
	vectors = iota
	nodes
	blocks
	extras
	numLists
)

// lists is what was freed, and how much there ever was of each.
type lists struct {
	held  atomic.Uint32
	free  [numLists]uint32
	made  [numLists]uint32
	marks uint32
	crowd [maxCrowdLog + 1]uint32 // freed marks, by the logarithm of their number
}

// spares is what is kept where it was freed last, for whoever takes it there next: nobody else has to do
// with it, so that takes no lock.
type spares struct {
	count [numLists]uint32
	at    [numLists][spareRoom]uint32
}

const spareRoom = 8

//go:nosplit
func (l *lists) lock() {
	for tries := uint32(0); !l.held.CompareAndSwap(0, 1); tries++ {
		pauseSpinning(tries)
	}
}

//go:nosplit
func (l *lists) unlock() { storeRelease32(&l.held, 0) }

// short reports whether all clocks have their first block only.
//
//go:nosplit
func (t *Table) short() bool { return t.slots.Load() <= blockSlots && t.Crowded.Load() == 0 }

// nodesUsed returns how many nodes of a clock may not be zero.
//
//go:nosplit
func (t *Table) nodesUsed() uint32 {
	if t.Crowded.Load() != 0 {
		return vectorNodes
	}
	const slots = nodeBlocks * blockSlots
	return min((max(t.slots.Load(), blockSlots)-blockSlots+slots-1)/slots, vectorNodes)
}

// used returns how many times of block i may not be zero, rounded up.
//
//go:nosplit
func (t *Table) used(i uint32) uint32 {
	if i >= ownSlots/blockSlots {
		return blockSlots
	}
	return min(max(t.slots.Load(), i*blockSlots)-i*blockSlots+7, blockSlots) &^ 7
}

//go:nosplit
func (t *Table) timeOf(clock, slot uint32) uint32 {
	if clock == 0 {
		return 0
	}
	if slot < blockSlots {
		return blockAt(vectorAt(clock).low).time(slot)
	}
	i := slot/blockSlots - 1
	return blockAt(ofNode(*nodeOf(clock, i/nodeBlocks), i)).time(slot)
}

// learn gives the thread another clock, or the one that it has after that was changed.
//
//go:nosplit
func (th *Thread) learn(clock uint32) {
	th.learntMuch()
	th.clock, th.low = clock, 0
	if clock != 0 {
		th.low = vectorAt(clock).low
	}
}

// link is what a list goes on with behind one of its elements.
//
//go:nosplit
func link(list, i uint32) *uint32 {
	switch list {
	case vectors:
		return &vectorAt(i).next
	case nodes:
		return &nodeAt(i).next
	case blocks:
		return &tallyAt(i).next
	}
	return &extraAt(i).next
}

// take returns the number of something that nobody has, 0 if there is no memory.
//
//go:nosplit
func (t *Table) take(list, limit uint32) uint32 {
	if s := sparesHere(); s != nil && s.count[list%numLists] != 0 {
		s.count[list%numLists]--
		return s.at[list%numLists][s.count[list%numLists]%spareRoom]
	}
	l := &t.memory
	l.lock()
	i := l.free[list%numLists]
	if i != 0 {
		l.free[list%numLists] = *link(list, i)
	} else if n := l.made[list%numLists] + 1; n < limit {
		l.made[list%numLists] = n
		i = n
	}
	l.unlock()
	if i == 0 {
		t.full.Store(1)
	}
	return i
}

// giveBack takes back what take has given.
//
//go:nosplit
func (t *Table) giveBack(list, i uint32) {
	l, s := &t.memory, sparesHere()
	if s != nil && s.count[list%numLists] < spareRoom {
		s.at[list%numLists][s.count[list%numLists]%spareRoom] = i
		s.count[list%numLists]++
		return
	}
	l.lock()
	*link(list, i) = l.free[list%numLists]
	l.free[list%numLists] = i
	if s != nil { // half of them are for others
		for n := uint32(spareRoom); n > spareRoom/2; n-- {
			i = s.at[list%numLists][(n-1)%spareRoom]
			*link(list, i) = l.free[list%numLists]
			l.free[list%numLists] = i
		}
		s.count[list%numLists] = spareRoom / 2
	}
	l.unlock()
}

// newVector returns a vector without blocks, 0 if there is no memory.
//
//go:nosplit
func (t *Table) newVector() uint32 {
	i := t.take(vectors, maxVectors)
	if i != 0 {
		storeRelease32(&vectorAt(i).refs, 1)
	}
	return i
}

// newBlock returns a block whose times are not set, 0 if there is no memory.
//
//go:nosplit
func (t *Table) newBlock() uint32 {
	i := t.take(blocks, maxBlocks)
	if i != 0 {
		storeRelease32(&tallyAt(i).refs, 1)
	}
	return i
}

// gaveUp takes one holder off what refs counts, and reports whether that was the last. Whoever is the only one
// is sure to stay that.
//
//go:nosplit
func gaveUp(refs *atomic.Uint32) bool { return refs.Load() == 1 || decrement(refs) == 0 }

//go:nosplit
func (t *Table) dropNode(i uint32) {
	if i == 0 || !gaveUp(&nodeAt(i).refs) {
		return
	}
	n := nodeAt(i)
	for k, b := range n.blocks {
		t.dropBlock(b)
		n.blocks[k] = 0
	}
	t.giveBack(nodes, i)
}

//go:nosplit
func (t *Table) dropBlock(i uint32) {
	if i != 0 && gaveUp(&tallyAt(i).refs) {
		t.giveBack(blocks, i)
	}
}

// share returns a clock for a further holder.
//
//go:nosplit
func share(c uint32) uint32 {
	if c != 0 {
		vectorAt(c).refs.Add(1)
	}
	return c
}

// drop gives up a holder's clock.
//
//go:nosplit
func (t *Table) drop(c uint32) {
	if c == 0 {
		return
	}
	v := vectorAt(c)
	if !gaveUp(&v.refs) {
		return
	}
	t.dropBlock(v.low)
	v.low = 0
	for i := range t.nodesUsed() {
		if n := nodeOf(c, i); *n != 0 {
			t.dropNode(*n)
			*n = 0
		}
	}
	t.giveBack(vectors, c)
}

// own returns c as a vector that nobody else holds, though perhaps not its nodes and blocks. It
// returns 0 if there is no memory.
//
//go:nosplit
func (t *Table) own(c uint32) uint32 {
	if c != 0 && vectorAt(c).refs.Load() == 1 {
		return c
	}
	fresh := t.newVector()
	if fresh == 0 || c == 0 {
		return fresh // all of a free vector is zero
	}
	if b := vectorAt(c).low; b != 0 {
		tallyAt(b).refs.Add(1)
		vectorAt(fresh).low = b
	}
	for i := range t.nodesUsed() {
		if n := *nodeOf(c, i); n != 0 {
			nodeAt(n).refs.Add(1)
			*nodeOf(fresh, i) = n
		}
	}
	t.drop(c)
	return fresh
}

// ownNode makes node i of a vector, which is not shared, unshared too. It returns its number, 0
// if there is no memory.
//
//go:nosplit
func (t *Table) ownNode(c, i uint32) uint32 {
	n := *nodeOf(c, i)
	if n != 0 && nodeAt(n).refs.Load() == 1 {
		return n
	}
	fresh := t.take(nodes, maxNodes)
	if fresh == 0 {
		return 0
	}
	storeRelease32(&nodeAt(fresh).refs, 1)
	if n != 0 {
		for k, b := range nodeAt(n).blocks {
			if b != 0 {
				tallyAt(b).refs.Add(1)
				nodeAt(fresh).blocks[k] = b
			}
		}
		t.dropNode(n)
	}
	*nodeOf(c, i) = fresh
	return fresh
}

// placeOf returns where the number of block i of a vector, which is not shared, stands, once its
// node is not shared either; nil if there is no memory.
//
//go:nosplit
func (t *Table) placeOf(c, i uint32) *uint32 {
	if i == 0 {
		return &vectorAt(c).low
	}
	n := t.ownNode(c, (i-1)/nodeBlocks)
	if n == 0 {
		return nil
	}
	return &nodeAt(n).blocks[(i-1)%nodeBlocks]
}

// ownBlock makes block i of a vector, which is not shared, unshared too. It returns its
// number, 0 if there is no memory.
//
//go:nosplit
func (t *Table) ownBlock(c, i uint32) uint32 {
	at := t.placeOf(c, i)
	if at == nil {
		return 0
	}
	b := *at
	if b != 0 && tallyAt(b).refs.Load() == 1 {
		return b
	}
	fresh := t.newBlock()
	if fresh == 0 {
		return 0
	}
	if b != 0 {
		blockAt(fresh).times = blockAt(b).times
		t.dropBlock(b)
	} else {
		blockAt(fresh).times = [blockSlots / 2]uint64{}
	}
	*at = fresh
	return fresh
}

// raise makes a clock cover epoch e. It returns the clock, of the same holder.
//
//go:nosplit
func (t *Table) raise(c uint32, e uint64) uint32 {
	s, time := uint32(e>>timeBits), uint32(e&maxTime)
	if time <= t.timeOf(c, s) {
		return c
	}
	own := t.own(c)
	if own == 0 {
		return c
	}
	if b := t.ownBlock(own, s/blockSlots); b != 0 {
		blockAt(b).setTime(s, time)
	}
	return own
}

// join makes c the maximum of c and d. It returns the clock, of c's holder, whether it is
// another one, or has changed, and whether something in c may have been later than in d.
//
//go:nosplit
func (t *Table) join(c, d uint32) (joined uint32, more, rest bool) {
	if d == 0 || c == d {
		return c, false, c != d
	}
	if c == 0 {
		return share(d), true, false
	}
	if x, y := vectorAt(c).low, vectorAt(d).low; y != 0 && x != y {
		c, more, rest = t.joinBlock(c, 0, x, y)
	} else {
		rest = x != y
	}
	for i := range t.nodesUsed() {
		x, y := *nodeOf(c, i), *nodeOf(d, i)
		if y == 0 || x == y {
			rest = rest || x != y
			continue
		}
		var changed, later bool
		c, changed, later = t.joinNode(c, i, x, y)
		more, rest = more || changed, rest || later
	}
	return c, more, rest
}

// joinNode is join for node i of c, which is x, and y in its place. Where the maximum is y, that
// is shared.
//
//go:nosplit
func (t *Table) joinNode(c, i, x, y uint32) (joined uint32, more, rest bool) {
	var less, greater uint32 // which blocks of x have something less, or more, than that of y
	for k := range uint32(nodeBlocks) {
		v, w := ofNode(x, k), ofNode(y, k)
		vLess, wLess := v == 0 && w != 0, w == 0 && v != 0
		if v != w && v != 0 && w != 0 {
			vLess, wLess = compare(blockAt(v), blockAt(w), t.used(1+i*nodeBlocks+k))
		}
		if vLess {
			less |= 1 << k
		}
		if wLess {
			greater |= 1 << k
		}
	}
	if less == 0 {
		return c, false, greater != 0
	}
	own := t.own(c)
	if own == 0 {
		return c, true, true
	}
	if greater == 0 {
		nodeAt(y).refs.Add(1)
		t.dropNode(x)
		*nodeOf(own, i) = y
		return own, true, false
	}
	for k := range uint32(nodeBlocks) {
		if less>>k&1 != 0 {
			t.raiseBlock(own, 1+i*nodeBlocks+k, ofNode(y, k), greater>>k&1 == 0)
		}
	}
	return own, true, true
}

// joinBlock is join for block i of c, which is x, and y in its place.
//
//go:nosplit
func (t *Table) joinBlock(c, i, x, y uint32) (joined uint32, more, rest bool) {
	xLess, yLess := true, false
	if x != 0 {
		xLess, yLess = compare(blockAt(x), blockAt(y), t.used(i))
	}
	if !xLess {
		return c, false, yLess
	}
	own := t.own(c)
	if own == 0 {
		return c, true, true
	}
	t.raiseBlock(own, i, y, !yLess)
	return own, true, yLess
}

// raiseBlock makes block i of a vector, which is not shared, the maximum of that and y. Where
// that is y itself, it is shared, unless it can as well be copied.
//
//go:nosplit
func (t *Table) raiseBlock(c, i, y uint32, all bool) {
	at := t.placeOf(c, i)
	if at == nil {
		return
	}
	if x := *at; all && !(x != 0 && tallyAt(x).refs.Load() == 1) {
		tallyAt(y).refs.Add(1)
		t.dropBlock(x)
		*at = y
	} else if b := t.ownBlock(c, i); b != 0 {
		raiseAll(blockAt(b), blockAt(y), t.used(i))
	}
}

// compare reports whether one of the first n times of x is less than that of y, and the
// other way round. It has no branches
// that depend on the times, for those would be taken at random.
//
//go:nosplit
func compare(x, y *block, n uint32) (xLess, yLess bool) {
	var less, more uint64
	for i := range n / 2 {
		v, w := x.times[i%(blockSlots/2)], y.times[i%(blockSlots/2)]
		less |= ^((v | spare) - w) // a spare bit stays unless its time is less
		more |= ^((w | spare) - v)
	}
	return less&spare != 0, more&spare != 0
}

// raiseAll makes the first n times of x the maximum of those of x and y, and reports whether that
// changes one.
//
//go:nosplit
func raiseAll(x, y *block, n uint32) bool {
	var changed uint64
	for i := range n / 2 {
		v := x.times[i%(blockSlots/2)]
		later := latest(v, y.times[i%(blockSlots/2)])
		x.times[i%(blockSlots/2)] = later
		changed |= later ^ v
	}
	return changed != 0
}

// latest returns the later ones of the times in two words.
//
//go:nosplit
func latest(v, w uint64) uint64 {
	keep := ((v | spare) - w) & spare
	keep -= keep >> 31 // all bits of the times of v that are not less
	return v&keep | w&^keep
}

// covered reports whether no time is later in c than in d, but for that of a slot.
//
//go:nosplit
func (t *Table) covered(c, d, but uint32) bool {
	if c == 0 || c == d {
		return true
	}
	low := uint32(0)
	if d != 0 {
		low = vectorAt(d).low
	}
	if !t.coveredBlock(vectorAt(c).low, low, 0, but) {
		return false
	}
	for i := range t.nodesUsed() {
		x, y := *nodeOf(c, i), uint32(0)
		if d != 0 {
			y = *nodeOf(d, i)
		}
		if x == 0 || x == y {
			continue
		}
		for k := range uint32(nodeBlocks) {
			if !t.coveredBlock(ofNode(x, k), ofNode(y, k), 1+i*nodeBlocks+k, but) {
				return false
			}
		}
	}
	return true
}

// coveredBlock is covered for block i of the clocks, which is x and y.
//
//go:nosplit
func (t *Table) coveredBlock(x, y, i, but uint32) bool {
	if x == 0 || x == y {
		return true
	}
	for j := range t.used(i) {
		time := uint32(0)
		if y != 0 {
			time = blockAt(y).time(j)
		}
		if blockAt(x).time(j) > time && i*blockSlots+j != but {
			return false
		}
	}
	return true
}

// overwrite makes c the same as d if both are a block long and nobody else holds c, and
// reports whether that was so.
//
//go:nosplit
func (t *Table) overwrite(c, d uint32) bool {
	if c == 0 || d == 0 || !t.short() || vectorAt(c).refs.Load() != 1 {
		return false
	}
	x, y := vectorAt(c).low, vectorAt(d).low
	if x == 0 || y == 0 || tallyAt(x).refs.Load() != 1 {
		return false
	}
	for i := range t.used(0) / 2 {
		blockAt(x).times[i%(blockSlots/2)] = blockAt(y).times[i%(blockSlots/2)]
	}
	return true
}

// inPlace returns the block of a clock that is that long, as all are, if nobody else holds it; nil otherwise.
//
//go:nosplit
func (t *Table) inPlace(c uint32) *block {
	if c == 0 || !t.short() || vectorAt(c).refs.Load() != 1 {
		return nil
	}
	i := vectorAt(c).low
	if i == 0 || tallyAt(i).refs.Load() != 1 {
		return nil
	}
	return blockAt(i)
}

// raise makes a block, the first of a clock, cover epoch e, and reports whether that changes it.
//
//go:nosplit
func (b *block) raise(e uint64) bool {
	s, time := uint32(e>>timeBits), uint32(e&maxTime)
	if time <= b.time(s) {
		return false
	}
	b.setTime(s, time)
	return true
}
