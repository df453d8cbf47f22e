package fasttrack

import "sync/atomic"

// Vector clocks. A clock is the index of a vector; clock 0 is zero everywhere. A vector is a tree:
// a block with the times of the first slots, and nodes with further blocks. Vectors share nodes,
// nodes share blocks, and threads and objects share vectors. Shared parts are copied before they
// are changed (memory.go).

const (
	blockSlots   = 64
	nodeBlocks   = 8
	vectorNodes  = (maxSlots/blockSlots - 1 + nodeBlocks - 1) / nodeBlocks
	numHeadNodes = 5
)

type vector struct {
	refs      atomic.Uint32
	next      uint32 // in the free list
	first     uint32 // the first block
	headNodes [numHeadNodes]uint32
}

// vectorTail has the remaining nodes of a vector. It is elsewhere because most programs never touch
// it.
type vectorTail struct {
	nodes [vectorNodes - numHeadNodes]uint32
}

type node struct {
	refs   atomic.Uint32
	next   uint32
	blocks [nodeBlocks]uint32
}

// nodeIndexAt returns the location of the index of node i of a vector.
//
//go:nosplit
func nodeIndexAt(c, i uint32) *uint32 {
	if i < numHeadNodes {
		return &vectorAt(c).headNodes[i]
	}
	return &tailAt(c).nodes[(i-numHeadNodes)%(vectorNodes-numHeadNodes)]
}

// blockOfNode returns block i of a node, 0 if the node is 0.
//
//go:nosplit
func blockOfNode(n, i uint32) uint32 {
	if n == 0 {
		return 0
	}
	return nodeAt(n).blocks[i%nodeBlocks]
}

// block has 64 times. A word has two of them and two spare bits, so two are compared at once.
// Blocks start at a cache line; with few threads only the first line is used. Reference counts are
// in blockRefs: nodes are shared and freed often, which changes the counts of all of their blocks,
// and must not load the blocks.
type block struct {
	times [blockSlots / 2]uint64
}

// blockRefs is the reference count of a block.
type blockRefs struct {
	refs atomic.Uint32
	next uint32 // in the list of free ones
}

// spareBits are the bits of a word that no time uses.
const spareBits = 1<<63 | 1<<31

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

// oneBlock reports whether all clocks have only their first block.
//
//go:nosplit
func (t *Table) oneBlock() bool { return t.slots.Load() <= blockSlots && t.sharing.Load() == 0 }

// usedNodes returns the number of nodes of a clock that may not be zero.
//
//go:nosplit
func (t *Table) usedNodes() uint32 {
	if t.sharing.Load() != 0 {
		return vectorNodes
	}
	const slots = nodeBlocks * blockSlots
	return min((max(t.slots.Load(), blockSlots)-blockSlots+slots-1)/slots, vectorNodes)
}

// usedTimes returns the number of times of block i that may not be zero, rounded up to a multiple
// of 8.
//
//go:nosplit
func (t *Table) usedTimes(i uint32) uint32 {
	if i >= ownedSlots/blockSlots {
		return blockSlots
	}
	return min(max(t.slots.Load(), i*blockSlots)-i*blockSlots+7, blockSlots) &^ 7
}

// timeOf returns the time of a slot.
//
//go:nosplit
func (t *Table) timeOf(clock, slot uint32) uint32 {
	if clock == 0 {
		return 0
	}
	if slot < blockSlots {
		return blockAt(vectorAt(clock).first).time(slot)
	}
	i := slot/blockSlots - 1
	return blockAt(blockOfNode(*nodeIndexAt(clock, i/nodeBlocks), i)).time(slot)
}

// setClock sets the thread's clock, or records that it has changed in place.
//
//go:nosplit
func (th *Thread) setClock(clock uint32) {
	th.forgetPartner()
	th.clock, th.firstBlock = clock, 0
	if clock != 0 {
		th.firstBlock = vectorAt(clock).first
	}
}

// raise makes a clock cover epoch e and returns the clock, which the same holder holds.
//
//go:nosplit
func (t *Table) raise(c uint32, e uint64) uint32 {
	s, time := uint32(e>>timeBits), uint32(e&maxTime)
	if time <= t.timeOf(c, s) {
		return c
	}
	own := t.unshare(c)
	if own == 0 {
		return c
	}
	if b := t.unshareBlock(own, s/blockSlots); b != 0 {
		blockAt(b).setTime(s, time)
	}
	return own
}

// join makes c the maximum of c and d: c ⊔ d in the paper. It returns the clock, which c's holder
// holds, whether it has changed, and whether c may have been later than d in something.
//
//go:nosplit
func (t *Table) join(c, d uint32) (joined uint32, more, rest bool) {
	if d == 0 || c == d {
		return c, false, c != d
	}
	if c == 0 {
		return ref(d), true, false
	}
	if x, y := vectorAt(c).first, vectorAt(d).first; y != 0 && x != y {
		c, more, rest = t.joinBlock(c, 0, x, y)
	} else {
		rest = x != y
	}
	for i := range t.usedNodes() {
		x, y := *nodeIndexAt(c, i), *nodeIndexAt(d, i)
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

// joinNode is join for node i of c, which is x, and y at the same position. If y is the maximum, it
// becomes shared.
//
//go:nosplit
func (t *Table) joinNode(c, i, x, y uint32) (joined uint32, more, rest bool) {
	var less, greater uint32 // the blocks of x with a time below, or above, that of y
	for k := range uint32(nodeBlocks) {
		v, w := blockOfNode(x, k), blockOfNode(y, k)
		vLess, wLess := v == 0 && w != 0, w == 0 && v != 0
		if v != w && v != 0 && w != 0 {
			vLess, wLess = compare(blockAt(v), blockAt(w), t.usedTimes(1+i*nodeBlocks+k))
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
	own := t.unshare(c)
	if own == 0 {
		return c, true, true
	}
	if greater == 0 {
		nodeAt(y).refs.Add(1)
		t.unrefNode(x)
		*nodeIndexAt(own, i) = y
		return own, true, false
	}
	for k := range uint32(nodeBlocks) {
		if less>>k&1 != 0 {
			t.joinIntoBlock(own, 1+i*nodeBlocks+k, blockOfNode(y, k), greater>>k&1 == 0)
		}
	}
	return own, true, true
}

// joinBlock is join for block i of c, which is x, and y at the same position.
//
//go:nosplit
func (t *Table) joinBlock(c, i, x, y uint32) (joined uint32, more, rest bool) {
	xLess, yLess := true, false
	if x != 0 {
		xLess, yLess = compare(blockAt(x), blockAt(y), t.usedTimes(i))
	}
	if !xLess {
		return c, false, yLess
	}
	own := t.unshare(c)
	if own == 0 {
		return c, true, true
	}
	t.joinIntoBlock(own, i, y, !yLess)
	return own, true, yLess
}

// joinIntoBlock makes block i of an unshared vector the maximum of it and y. If all is set, that is
// y, which is then shared, unless the block can be overwritten.
//
//go:nosplit
func (t *Table) joinIntoBlock(c, i, y uint32, all bool) {
	at := t.blockIndexAt(c, i)
	if at == nil {
		return
	}
	if x := *at; all && !(x != 0 && blockRefsAt(x).refs.Load() == 1) {
		blockRefsAt(y).refs.Add(1)
		t.unrefBlock(x)
		*at = y
	} else if b := t.unshareBlock(c, i); b != 0 {
		joinTimes(blockAt(b), blockAt(y), t.usedTimes(i))
	}
}

// compare reports whether any of the first n times of x, a multiple of 8, is less than that of y,
// and whether any of y is less. It has no branches that depend on the times: they would be
// mispredicted. It is not inlined, which would leave too few registers for the loop.
//
//go:nosplit
//go:noinline
func compare(x, y *block, n uint32) (xLess, yLess bool) {
	xMore, yMore := uint64(spareBits), uint64(spareBits)
	for i := uint32(0); i < n/2; i += 4 {
		k := i % (blockSlots / 2) &^ 3
		v, w := x.times[k], y.times[k]
		xMore &= (v | spareBits) - w // a spare bit stays set unless its time is less
		yMore &= (w | spareBits) - v
		v, w = x.times[k|1], y.times[k|1]
		xMore &= (v | spareBits) - w
		yMore &= (w | spareBits) - v
		v, w = x.times[k|2], y.times[k|2]
		xMore &= (v | spareBits) - w
		yMore &= (w | spareBits) - v
		v, w = x.times[k|3], y.times[k|3]
		xMore &= (v | spareBits) - w
		yMore &= (w | spareBits) - v
	}
	return xMore != spareBits, yMore != spareBits
}

// joinTimes makes the first n times of x the maximum of those of x and y, and reports whether x
// changed.
//
//go:nosplit
func joinTimes(x, y *block, n uint32) bool {
	var changed uint64
	for i := range n / 2 {
		v := x.times[i%(blockSlots/2)]
		later := maxTimes(v, y.times[i%(blockSlots/2)])
		x.times[i%(blockSlots/2)] = later
		changed |= later ^ v
	}
	return changed != 0
}

// maxTimes returns the maximum of each of the two times in v and w.
//
//go:nosplit
func maxTimes(v, w uint64) uint64 {
	keep := ((v | spareBits) - w) & spareBits
	keep -= keep >> 31 // all bits of the times of v that are not less
	return v&keep | w&^keep
}

// lessEqual reports whether c ≼ d, ignoring the slot but.
//
//go:nosplit
func (t *Table) lessEqual(c, d, but uint32) bool {
	if c == 0 || c == d {
		return true
	}
	low := uint32(0)
	if d != 0 {
		low = vectorAt(d).first
	}
	if !t.lessEqualBlock(vectorAt(c).first, low, 0, but) {
		return false
	}
	for i := range t.usedNodes() {
		x, y := *nodeIndexAt(c, i), uint32(0)
		if d != 0 {
			y = *nodeIndexAt(d, i)
		}
		if x == 0 || x == y {
			continue
		}
		for k := range uint32(nodeBlocks) {
			if !t.lessEqualBlock(blockOfNode(x, k), blockOfNode(y, k), 1+i*nodeBlocks+k, but) {
				return false
			}
		}
	}
	return true
}

// lessEqualBlock is lessEqual for block i of the clocks, x and y.
//
//go:nosplit
func (t *Table) lessEqualBlock(x, y, i, but uint32) bool {
	if x == 0 || x == y {
		return true
	}
	for j := range t.usedTimes(i) {
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

// assignInPlace copies d to c if both have one block only and c has no other holder. It reports
// whether it did.
//
//go:nosplit
func (t *Table) assignInPlace(c, d uint32) bool {
	if c == 0 || d == 0 || !t.oneBlock() || vectorAt(c).refs.Load() != 1 {
		return false
	}
	x, y := vectorAt(c).first, vectorAt(d).first
	if x == 0 || y == 0 || blockRefsAt(x).refs.Load() != 1 {
		return false
	}
	for i := range t.usedTimes(0) / 2 {
		blockAt(x).times[i%(blockSlots/2)] = blockAt(y).times[i%(blockSlots/2)]
	}
	return true
}

// writableBlock returns the block of a clock that has only one block and no other holder; nil
// otherwise.
//
//go:nosplit
func (t *Table) writableBlock(c uint32) *block {
	if c == 0 || !t.oneBlock() || vectorAt(c).refs.Load() != 1 {
		return nil
	}
	i := vectorAt(c).first
	if i == 0 || blockRefsAt(i).refs.Load() != 1 {
		return nil
	}
	return blockAt(i)
}

// raise makes a block, the first of a clock, cover epoch e, and reports whether the block changed.
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
