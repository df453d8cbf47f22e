//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Shadow memory: where the shadow cells of package internal/core/fasttrack and its arenas are, and
// when cells are cleared. Cells are found by arithmetic in reserved address space, which the kernel
// backs with memory when it is touched. Everything but the initialization runs in hooks, nosplit,
// on the goroutine's stack, with no locks held but cells'.

// heisenRegion is a range of addresses with shadow cells.
type heisenRegion struct {
	lo, span uintptr
	cells    uintptr
}

var heisenShadow heisenShadowMemory

type heisenShadowMemory struct {
	heap, data heisenRegion
	sides      uintptr // where side entries are, less half the address of their cell: they are half as large
	sideStride uintptr // the distance between the two sides
	used       uintptr // a byte for each block of the heap: whether a cell in it may not be empty
	beyond     bool    // the heap has grown beyond the cells
	racesFirst bool    // races are looked for before anything else
	racesOnly  bool    // and nothing else is done
}

// heisenFastHeap is the heap, and heisenFastData the data segments, if races are all that is looked
// for; otherwise they are empty, so that fasthooks_*.s handles nothing.
var heisenFastHeap, heisenFastData heisenRegion

const (
	heisenCellSize   = unsafe.Sizeof(heisenFastTrackCell{})
	heisenBlockShift = 8 // 32 words
	heisenMaxHeap    = 1 << 38
	heisenMinHeap    = 1 << 26
	// heisenHeapShare is the part of scarce address space that is the heap's, of so many. Its cells
	// take four.
	heisenHeapShare = 6

	heisenMaxArenasPower = 8
)

// The host of package internal/core/fasttrack; see its host.go.

var heisenFastTrackMemory struct {
	vectors, tails, nodes, blocks, blockRefs, extensions, overflow uintptr
	weights, marks, classes, moved                                 uintptr // of a reclamation
}

//go:nosplit
func heisenFastTrackSideEntry(c *heisenFastTrackCell, side uint32) *atomic.Uint64 {
	at := uintptr(unsafe.Pointer(c))/2 + heisenShadow.sides
	if side != 0 {
		at += heisenShadow.sideStride
	}
	return (*atomic.Uint64)(unsafe.Pointer(at))
}

// heisenFastTrackNextCell returns the cell of the next word. The caller knows that there is one:
// ranges don't extend beyond the heap or the data segments.
//
//go:nosplit
func heisenFastTrackNextCell(c *heisenFastTrackCell) *heisenFastTrackCell {
	return (*heisenFastTrackCell)(unsafe.Pointer(uintptr(unsafe.Pointer(c)) + heisenCellSize))
}

//go:nosplit
func heisenFastTrackVectorAt(i uint32) *heisenFastTrackVector {
	return (*heisenFastTrackVector)(unsafe.Pointer(heisenFastTrackMemory.vectors + uintptr(i)*unsafe.Sizeof(heisenFastTrackVector{})))
}

//go:nosplit
func heisenFastTrackTailAt(i uint32) *heisenFastTrackVectorTail {
	return (*heisenFastTrackVectorTail)(unsafe.Pointer(heisenFastTrackMemory.tails + uintptr(i)*unsafe.Sizeof(heisenFastTrackVectorTail{})))
}

//go:nosplit
func heisenFastTrackNodeAt(i uint32) *heisenFastTrackNode {
	return (*heisenFastTrackNode)(unsafe.Pointer(heisenFastTrackMemory.nodes + uintptr(i)*unsafe.Sizeof(heisenFastTrackNode{})))
}

//go:nosplit
func heisenFastTrackBlockAt(i uint32) *heisenFastTrackBlock {
	return (*heisenFastTrackBlock)(unsafe.Pointer(heisenFastTrackMemory.blocks + uintptr(i)*unsafe.Sizeof(heisenFastTrackBlock{})))
}

//go:nosplit
func heisenFastTrackBlockRefsAt(i uint32) *heisenFastTrackBlockRefs {
	return (*heisenFastTrackBlockRefs)(unsafe.Pointer(heisenFastTrackMemory.blockRefs + uintptr(i)*unsafe.Sizeof(heisenFastTrackBlockRefs{})))
}

//go:nosplit
func heisenFastTrackExtensionAt(i uint32) *heisenFastTrackExtension {
	return (*heisenFastTrackExtension)(unsafe.Pointer(heisenFastTrackMemory.extensions + uintptr(i)*unsafe.Sizeof(heisenFastTrackExtension{})))
}

//go:nosplit
func heisenFastTrackOverflowAt(i uint64) *heisenFastTrackOverflowEntry {
	return (*heisenFastTrackOverflowEntry)(unsafe.Pointer(heisenFastTrackMemory.overflow + uintptr(i)*unsafe.Sizeof(heisenFastTrackOverflowEntry{})))
}

func heisenFastTrackWeightAt(i uint32) *heisenFastTrackWeight {
	return (*heisenFastTrackWeight)(unsafe.Pointer(heisenFastTrackMemory.weights + uintptr(i)*unsafe.Sizeof(heisenFastTrackWeight{})))
}

func heisenFastTrackMarkAt(i uint32) *heisenFastTrackMark {
	return (*heisenFastTrackMark)(unsafe.Pointer(heisenFastTrackMemory.marks + uintptr(i)*unsafe.Sizeof(heisenFastTrackMark{})))
}

func heisenFastTrackClassAt(i uint32) *heisenFastTrackClass {
	return (*heisenFastTrackClass)(unsafe.Pointer(heisenFastTrackMemory.classes + uintptr(i)*unsafe.Sizeof(heisenFastTrackClass{})))
}

func heisenFastTrackOldMovedOwnerAt(i uint32) *heisenFastTrackMovedOwner {
	return (*heisenFastTrackMovedOwner)(unsafe.Pointer(heisenFastTrackMemory.moved + uintptr(i)*unsafe.Sizeof(heisenFastTrackMovedOwner{})))
}

// heisenFastTrackReleaseScratch makes the memory of a reclamation zero.
func heisenFastTrackReleaseScratch() {
	m := &heisenFastTrackMemory
	madvise(unsafe.Pointer(m.weights), heisenFastTrackMaxWeights*unsafe.Sizeof(heisenFastTrackWeight{}), _MADV_DONTNEED)
	madvise(unsafe.Pointer(m.marks), heisenFastTrackMaxMarks>>heisenFastTrack.memory.smaller*unsafe.Sizeof(heisenFastTrackMark{}), _MADV_DONTNEED)
	madvise(unsafe.Pointer(m.classes), heisenFastTrackMaxClasses*unsafe.Sizeof(heisenFastTrackClass{}), _MADV_DONTNEED)
	madvise(unsafe.Pointer(m.moved), heisenFastTrackMaxMovedOwners*unsafe.Sizeof(heisenFastTrackMovedOwner{}), _MADV_DONTNEED)
}

// heisenFastTrackLocalFreeCache returns the free cache of the current P: hooks are not preempted.
//
//go:nosplit
func heisenFastTrackLocalFreeCache() *heisenFastTrackFreeCache {
	if b := heisenBufOfP(); b != nil {
		return &b.freeCache
	}
	return nil
}

//go:nosplit
func heisenFastTrackStoreRelease(x *atomic.Uint64, v uint64) { heisenAtomRaceStoreRelease(x, v) }

//go:nosplit
func heisenFastTrackStoreRelease32(x *atomic.Uint32, v uint32) { heisenAtomRaceStoreRelease32(x, v) }

//go:nosplit
func heisenFastTrackDecrement(x *atomic.Uint32) uint32 { return x.Add(-1) }

// heisenFastTrackPauseSpinning pauses about as long as the runtime's own locks do, and longer if
// that was not enough. Looking sooner would take the cache line away from the owner, which needs it
// to continue.
//
//go:nosplit
func heisenFastTrackPauseSpinning(tries uint32) {
	if tries < heisenSpins/4 {
		procyield(40 + 4*tries)
	} else {
		osyield()
	}
}

// heisenInitFastTrack reserves address space, and reports whether there was some.
func heisenInitFastTrack() bool {
	m := &heisenFastTrackMemory
	smaller := heisenArenasPower()
	heisenFastTrack.LimitMemory(smaller)
	for _, arena := range [...]struct {
		at   *uintptr
		size uintptr
	}{
		{&m.vectors, heisenFastTrackMaxVectors * unsafe.Sizeof(heisenFastTrackVector{})},
		{&m.tails, heisenFastTrackMaxVectors * unsafe.Sizeof(heisenFastTrackVectorTail{})},
		{&m.nodes, heisenFastTrackMaxNodes * unsafe.Sizeof(heisenFastTrackNode{})},
		{&m.blocks, heisenFastTrackMaxBlocks * unsafe.Sizeof(heisenFastTrackBlock{})},
		{&m.blockRefs, heisenFastTrackMaxBlocks * unsafe.Sizeof(heisenFastTrackBlockRefs{})},
		{&m.extensions, heisenFastTrackMaxExtensions >> smaller * unsafe.Sizeof(heisenFastTrackExtension{})},
		{&m.overflow, heisenFastTrackMaxOverflowEntries >> smaller * unsafe.Sizeof(heisenFastTrackOverflowEntry{})},
		{&m.weights, heisenFastTrackMaxWeights * unsafe.Sizeof(heisenFastTrackWeight{})},
		{&m.marks, heisenFastTrackMaxMarks >> smaller * unsafe.Sizeof(heisenFastTrackMark{})},
		{&m.classes, heisenFastTrackMaxClasses * unsafe.Sizeof(heisenFastTrackClass{})},
		{&m.moved, heisenFastTrackMaxMovedOwners * unsafe.Sizeof(heisenFastTrackMovedOwner{})},
	} {
		if *arena.at = uintptr(heisenReserve(arena.size)); *arena.at == 0 {
			return false
		}
	}
	c := &heisenShadow
	c.data.lo = racedatastart &^ 7
	c.data.span = alignUp(racedataend-c.data.lo, 8)
	c.heap.lo = racearenastart &^ (1<<heisenBlockShift - 1)
	span := uintptr(heisenMaxHeap)
	if !c.reserve(span) {
		span = alignDown(heisenAddressSpace()/heisenHeapShare, heisenMinHeap)
		if span < heisenMinHeap || !c.reserve(span) {
			return false
		}
	}
	if c.used = uintptr(heisenReserve(span >> heisenBlockShift)); c.used == 0 {
		return false
	}
	c.heap.span = span
	c.data.cells = c.heap.cells + span/8*heisenCellSize
	c.beyond = racearenaend-c.heap.lo > span
	return true
}

// heisenArenasPower returns by which power of two the largest arenas are to be smaller, so that
// they take little of scarce address space.
func heisenArenasPower() (power uint32) {
	const largest = heisenFastTrackMaxExtensions*unsafe.Sizeof(heisenFastTrackExtension{}) +
		heisenFastTrackMaxOverflowEntries*unsafe.Sizeof(heisenFastTrackOverflowEntry{})
	if p, err := mmap(nil, heisenMaxHeap, _PROT_NONE, _MAP_ANON|_MAP_PRIVATE|heisenNoReserve, -1, 0); err == 0 {
		munmap(p, heisenMaxHeap)
		return 0
	}
	for space := heisenAddressSpace() / 8; power < heisenMaxArenasPower && largest>>power > space; power++ {
	}
	return power
}

// reserve reserves address space for the cells of a heap of span bytes and of the data segments,
// and reports whether there is some.
func (c *heisenShadowMemory) reserve(span uintptr) bool {
	size := (span + c.data.span) / 8 * heisenCellSize
	c.heap.cells = uintptr(heisenReserve(2 * size))
	c.sides, c.sideStride = c.heap.cells+size-c.heap.cells/2, size/2
	if c.heap.cells == 0 {
		return false
	}
	if 0 < physHugePageSize && physHugePageSize <= heisenLargestPage {
		sysHugePage(unsafe.Pointer(c.heap.cells), span/8*heisenCellSize)
	}
	return true
}

// heisenLargestPage is the largest size of the huge pages that the heap's cells stand on. The heap is
// in use from its beginning on, so that at most such a page is wasted for each of its arenas.
const heisenLargestPage = 4 << 20

// cell returns the cell of the word at addr.
//
//go:nosplit
func (r *heisenRegion) cell(addr uintptr) *heisenFastTrackCell {
	return (*heisenFastTrackCell)(unsafe.Pointer(r.cells + (addr-r.lo)&^7*(heisenCellSize/8)))
}

// heisenPrefetch starts to load the cache line of p for writing and does not wait for it: another
// processor may have it.
func heisenPrefetch(p uintptr)

// heisenNoCell stands for the cells of words that have none. It stays empty.
var heisenNoCell heisenFastTrackCell

// heisenCellAt returns the cell of the word at addr.
//
//go:nosplit
func heisenCellAt(addr uintptr) *heisenFastTrackCell {
	r := &heisenShadow.heap
	if addr-r.lo >= r.span {
		r = &heisenShadow.data
		if addr-r.lo >= r.span {
			return &heisenNoCell
		}
	}
	return r.cell(addr)
}

// heisenMarkUsed records that a cell in the block of addr may not be empty.
//
//go:nosplit
func heisenMarkUsed(addr uintptr) {
	r := &heisenShadow.heap
	if addr-r.lo < r.span {
		p := (*uint8)(unsafe.Pointer(heisenShadow.used + (addr-r.lo)>>heisenBlockShift))
		if *p == 0 {
			*p = 1
		}
	}
}

// heisenMarkUsedRange is heisenMarkUsed for size bytes.
//
//go:nosplit
func heisenMarkUsedRange(addr, size uintptr) {
	for at := addr &^ (1<<heisenBlockShift - 1); at < addr+size; at += 1 << heisenBlockShift {
		heisenMarkUsed(at)
	}
}

// heisenClearShadow begins an allocation epoch of addresses: it clears their cells. A goroutine
// that gets such an address, even without synchronization, must not see the earlier entries.
//
//go:nosplit
func heisenClearShadow(addr, size uintptr) {
	r := &heisenShadow.heap
	if addr-r.lo >= r.span || size > r.span-(addr-r.lo) {
		return
	}
	if size >= 16 {
		size = alignUp(size, 8) // only smaller objects share words
	}
	for size > 0 {
		n := min(size, 1<<heisenBlockShift-addr&(1<<heisenBlockShift-1))
		if m := (*uint8)(unsafe.Pointer(heisenShadow.used + (addr-r.lo)>>heisenBlockShift)); *m != 0 {
			heisenClearCells(r, addr, n)
			if n == 1<<heisenBlockShift {
				*m = 0
			}
		}
		addr, size = addr+n, size-n
	}
	heisenStoreBarrier()
}

// heisenClearCells clears the cells of size bytes within a block.
//
//go:nosplit
func heisenClearCells(r *heisenRegion, addr, size uintptr) {
	c := r.cell(addr)
	for ; size >= 8 && addr&7 == 0; addr, size = addr+8, size-8 {
		if !c.TryClear() {
			heisenClearBytes(c, addr, 8)
		}
		c = heisenFastTrackNextCell(c)
	}
	for ; size > 0; c = heisenFastTrackNextCell(c) {
		n := min(size, 8-addr&7)
		if !c.Empty() {
			heisenClearBytes(c, addr, n)
		}
		addr, size = addr+n, size-n
	}
}

// heisenClearBytes clears n bytes of a cell, or all of a cell with an extension.
//
//go:nosplit
//go:noinline
func heisenClearBytes(c *heisenFastTrackCell, addr, n uintptr) {
	mask := (uint32(1)<<n - 1) << (addr & 7)
	systemstack(func() { heisenFastTrack.Clear(c, mask) })
}
