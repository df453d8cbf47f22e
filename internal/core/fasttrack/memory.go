package fasttrack

import "sync/atomic"

// Memory is a set of arenas that the host reserves. Elements are known by their index; index 0 is
// none. Freed elements are in free lists. Vectors, nodes and blocks have reference counts, of the
// holders that may use, but not change, them. The only holder of an element may change it.
//
// The kinds of elements.
const (
	vectors = iota
	nodes
	blocks
	extensions
	smallOverflows // overflow sets of the smallest size
	numLists
)

// freeLists has the free elements and the number of elements ever used, by kind.
type freeLists struct {
	locked       atomic.Uint32
	free         [numLists]uint32
	made         [numLists]uint32
	overflowMade uint32
	smaller      uint32                     // power of two by which the largest arenas are smaller
	fewer        uint32                     // power of two by which those of clocks are smaller
	overflowFree [maxOverflowLog + 1]uint32 // free larger overflow sets, by the logarithm of their size
}

// LimitMemory makes the largest arenas, extensions, overflow entries and marks, smaller by a power
// of two, and those of clocks, vectors, nodes and blocks, by another, where the host has not the
// address space for all. It is called before any other method.
func (t *Table) LimitMemory(largest, clocks uint32) {
	t.memory.smaller, t.memory.fewer = largest, clocks
}

// freeCache has recently freed elements. Each processor of the program has one, so it needs no
// lock.
type freeCache struct {
	count [numLists]uint32
	at    [numLists][freeCacheSize]uint32

	readers readerCache
}

const freeCacheSize = 16

// lock locks the free lists.
//
//go:nosplit
func (l *freeLists) lock() {
	for tries := uint32(0); !l.locked.CompareAndSwap(0, 1); tries++ {
		pauseSpinning(tries)
	}
}

//go:nosplit
func (l *freeLists) unlock() { storeRelease32(&l.locked, 0) }

// next returns the element after i in a free list.
//
//go:nosplit
func (l *freeLists) next(list, i uint32) uint32 {
	switch list {
	case vectors:
		return vectorAt(i).next
	case nodes:
		return nodeAt(i).next
	case blocks:
		return blockRefsAt(i).next
	case smallOverflows:
		return uint32(overflowAt(uint64(i) << minOverflowLog).desc.Load())
	}
	return extensionAt(i).next
}

// put adds an element to a free list. The caller holds the lock.
//
//go:nosplit
func (l *freeLists) put(list, i uint32) {
	next := l.free[list%numLists]
	l.free[list%numLists] = i
	switch list {
	case vectors:
		vectorAt(i).next = next
	case nodes:
		nodeAt(i).next = next
	case blocks:
		blockRefsAt(i).next = next
	case smallOverflows:
		storeRelease(&overflowAt(uint64(i)<<minOverflowLog).desc, uint64(next))
	default:
		extensionAt(i).next = next
	}
}

// take returns a free element, 0 if memory runs out. The caller holds the lock.
//
//go:nosplit
func (l *freeLists) take(list, limit uint32) (i uint32) {
	if i = l.free[list%numLists]; i != 0 {
		l.free[list%numLists] = l.next(list, i)
		return i
	}
	if list == smallOverflows {
		return l.makeOverflow(minOverflowLog) >> minOverflowLog
	}
	if i = l.made[list%numLists] + 1; i >= limit {
		return 0
	}
	l.made[list%numLists] = i
	return i
}

// makeOverflow returns the first entry of an overflow set that was never used, 0 if memory runs out.
//
//go:nosplit
func (l *freeLists) makeOverflow(log uint32) uint32 {
	size := uint32(1) << log
	if l.overflowMade+2*size >= maxOverflowEntries>>l.smaller {
		return 0
	}
	first := max(l.overflowMade, size)
	l.overflowMade = first + size
	return first
}

// alloc returns a free element, 0 if memory runs out.
//
//go:nosplit
func (t *Table) alloc(list, limit uint32) uint32 {
	l, s := &t.memory, localFreeCache()
	if s != nil && s.count[list%numLists] != 0 {
		s.count[list%numLists]--
		return s.at[list%numLists][s.count[list%numLists]%freeCacheSize]
	}
	l.lock()
	i := l.take(list, limit)
	for s != nil && i != 0 && s.count[list%numLists] < freeCacheSize/2 { // some more, since the lock is shared
		more := l.take(list, limit)
		if more == 0 {
			break
		}
		s.at[list%numLists][s.count[list%numLists]%freeCacheSize] = more
		s.count[list%numLists]++
	}
	l.unlock()
	if i == 0 {
		t.exhausted.Store(1)
	}
	return i
}

// free frees an element.
//
//go:nosplit
func (t *Table) free(list, i uint32) {
	l, s := &t.memory, localFreeCache()
	if s != nil && s.count[list%numLists] < freeCacheSize {
		s.at[list%numLists][s.count[list%numLists]%freeCacheSize] = i
		s.count[list%numLists]++
		return
	}
	l.lock()
	l.put(list, i)
	if s != nil { // leave half of them to others
		for n := uint32(freeCacheSize); n > freeCacheSize/2; n-- {
			l.put(list, s.at[list%numLists][(n-1)%freeCacheSize])
		}
		s.count[list%numLists] = freeCacheSize / 2
	}
	l.unlock()
}

// newVector returns a vector without blocks, 0 if memory runs out.
//
//go:nosplit
func (t *Table) newVector() uint32 {
	i := t.alloc(vectors, maxVectors>>t.memory.fewer)
	if i != 0 {
		storeRelease32(&vectorAt(i).refs, 1)
	}
	return i
}

// newBlock returns a block with undefined times, 0 if memory runs out.
//
//go:nosplit
func (t *Table) newBlock() uint32 {
	i := t.alloc(blocks, maxBlocks>>t.memory.fewer)
	if i != 0 {
		storeRelease32(&blockRefsAt(i).refs, 1)
	}
	return i
}

// unref decrements a reference count and reports whether it was the last reference. A count of 1
// needs no atomic operation: only the holder could increase it.
//
//go:nosplit
func unref(refs *atomic.Uint32) bool { return refs.Load() == 1 || decrement(refs) == 0 }

// unrefNode gives up a reference to a node.
//
//go:nosplit
func (t *Table) unrefNode(i uint32) {
	if i == 0 || !unref(&nodeAt(i).refs) {
		return
	}
	n := nodeAt(i)
	for k, b := range n.blocks {
		t.unrefBlock(b)
		n.blocks[k] = 0
	}
	t.free(nodes, i)
}

// unrefBlock gives up a reference to a block.
//
//go:nosplit
func (t *Table) unrefBlock(i uint32) {
	if i != 0 && unref(&blockRefsAt(i).refs) {
		t.free(blocks, i)
	}
}

// ref returns a clock for a further holder.
//
//go:nosplit
func ref(c uint32) uint32 {
	if c != 0 {
		vectorAt(c).refs.Add(1)
	}
	return c
}

// unrefClock gives up a reference to a clock.
//
//go:nosplit
func (t *Table) unrefClock(c uint32) {
	if c == 0 {
		return
	}
	v := vectorAt(c)
	if !unref(&v.refs) {
		return
	}
	t.unrefBlock(v.first)
	v.first = 0
	for i := range t.usedNodes() {
		if n := nodeIndexAt(c, i); *n != 0 {
			t.unrefNode(*n)
			*n = 0
		}
	}
	t.free(vectors, c)
}

// unshare returns a vector equal to c that only the caller holds, in exchange for c; its nodes and
// blocks may be shared. It returns 0 if memory runs out.
//
//go:nosplit
func (t *Table) unshare(c uint32) uint32 {
	if c != 0 && vectorAt(c).refs.Load() == 1 {
		return c
	}
	fresh := t.newVector()
	if fresh == 0 || c == 0 {
		return fresh // free vectors are zero
	}
	if b := vectorAt(c).first; b != 0 {
		blockRefsAt(b).refs.Add(1)
		vectorAt(fresh).first = b
	}
	for i := range t.usedNodes() {
		if n := *nodeIndexAt(c, i); n != 0 {
			nodeAt(n).refs.Add(1)
			*nodeIndexAt(fresh, i) = n
		}
	}
	t.unrefClock(c)
	return fresh
}

// unshareNode makes node i of an unshared vector unshared, too. It returns the node, 0 if memory
// runs out.
//
//go:nosplit
func (t *Table) unshareNode(c, i uint32) uint32 {
	n := *nodeIndexAt(c, i)
	if n != 0 && nodeAt(n).refs.Load() == 1 {
		return n
	}
	fresh := t.alloc(nodes, maxNodes>>t.memory.fewer)
	if fresh == 0 {
		return 0
	}
	storeRelease32(&nodeAt(fresh).refs, 1)
	if n != 0 {
		for k, b := range nodeAt(n).blocks {
			if b != 0 {
				blockRefsAt(b).refs.Add(1)
				nodeAt(fresh).blocks[k] = b
			}
		}
		t.unrefNode(n)
	}
	*nodeIndexAt(c, i) = fresh
	return fresh
}

// blockIndexAt returns the location of the index of block i of an unshared vector, after it has
// unshared the node; nil if memory runs out.
//
//go:nosplit
func (t *Table) blockIndexAt(c, i uint32) *uint32 {
	if i == 0 {
		return &vectorAt(c).first
	}
	n := t.unshareNode(c, (i-1)/nodeBlocks)
	if n == 0 {
		return nil
	}
	return &nodeAt(n).blocks[(i-1)%nodeBlocks]
}

// unshareBlock makes block i of an unshared vector unshared, too. It returns the block, 0 if memory
// runs out.
//
//go:nosplit
func (t *Table) unshareBlock(c, i uint32) uint32 {
	at := t.blockIndexAt(c, i)
	if at == nil {
		return 0
	}
	b := *at
	if b != 0 && blockRefsAt(b).refs.Load() == 1 {
		return b
	}
	fresh := t.newBlock()
	if fresh == 0 {
		return 0
	}
	if b != 0 {
		blockAt(fresh).times = blockAt(b).times
		t.unrefBlock(b)
	} else {
		blockAt(fresh).times = [blockSlots / 2]uint64{}
	}
	*at = fresh
	return fresh
}

// Extensions and overflow sets.

// newExtension returns an extension, 0 if memory runs out.
//
//go:nosplit
func (t *Table) newExtension() uint32 {
	i := t.alloc(extensions, maxExtensions>>t.memory.smaller)
	if i != 0 {
		extensionAt(i).next = 0
	}
	return i
}

// newOverflow returns the first of 1<<log free overflow entries, 0 if memory runs out.
//
//go:nosplit
func (t *Table) newOverflow(log uint32) uint32 {
	l := &t.memory
	if log > maxOverflowLog {
		t.exhausted.Store(1)
		return 0
	}
	first := uint32(0)
	if log == minOverflowLog {
		first = t.alloc(smallOverflows, 0) << minOverflowLog
	} else {
		l.lock()
		if first = l.overflowFree[log]; first != 0 {
			l.overflowFree[log] = uint32(overflowAt(uint64(first)).desc.Load())
		} else {
			first = l.makeOverflow(log)
		}
		l.unlock()
	}
	if first == 0 {
		t.exhausted.Store(1)
		return 0
	}
	for i := range uint64(1) << log {
		m := overflowAt(uint64(first) + i)
		storeRelease(&m.desc, 0)
		storeRelease(&m.entry, 0)
	}
	return first
}

// freeOverflowEntries frees 1<<log overflow entries.
//
//go:nosplit
func (t *Table) freeOverflowEntries(first, log uint32) {
	if log == minOverflowLog {
		t.free(smallOverflows, first>>minOverflowLog)
		return
	}
	l := &t.memory
	l.lock()
	storeRelease(&overflowAt(uint64(first)).desc, uint64(l.overflowFree[log]))
	l.overflowFree[log] = first
	l.unlock()
}
