//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Shadow memory: the shadow cells of package internal/core/fasttrack and its arenas, and when cells
// are cleared. The kernel backs them with memory when they are touched (cellspace.go). Everything but the initialization runs in hooks, nosplit,
// on the goroutine's stack, with no locks held but cells'.

// heisenRegion is a range of addresses with shadow cells.
type heisenRegion struct {
	lo, span uintptr
	cells    uintptr
}

var heisenShadow heisenShadowMemory

// heisenFastHeap is the heap, and heisenFastData the data segments, if races are all that is looked
// for; otherwise they are empty, so that fasthooks_*.s handles nothing.
var heisenFastHeap, heisenFastData heisenRegion

const (
	heisenCellSize   = unsafe.Sizeof(heisenFastTrackCell{})
	heisenBlockShift = 8 // 32 words
)

// The host of package internal/core/fasttrack; see its host.go.

var heisenFastTrackMemory struct {
	vectors, tails, nodes, blocks, blockRefs, extensions, overflow, readers uintptr
	weights, marks, classes, moved                                          uintptr // of a reclamation
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

//go:nosplit
func heisenFastTrackReaderAt(i uint32) *heisenFastTrackReader {
	return (*heisenFastTrackReader)(unsafe.Pointer(heisenFastTrackMemory.readers + uintptr(i)*unsafe.Sizeof(heisenFastTrackReader{})))
}

// heisenFastTrackReleaseReaders makes the memory of n sets of readers, from first on, zero. A half
// begins at first.
func heisenFastTrackReleaseReaders(first, n uint32) {
	heisenZero(unsafe.Pointer(heisenFastTrackReaderAt(first)), alignUp(uintptr(n)*unsafe.Sizeof(heisenFastTrackReader{}), physPageSize))
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
	heisenZero(unsafe.Pointer(m.weights), heisenFastTrackMaxWeights>>heisenFastTrack.memory.fewer*unsafe.Sizeof(heisenFastTrackWeight{}))
	heisenZero(unsafe.Pointer(m.marks), heisenFastTrackMaxMarks>>heisenFastTrack.memory.smaller*unsafe.Sizeof(heisenFastTrackMark{}))
	heisenZero(unsafe.Pointer(m.classes), heisenFastTrackMaxClasses*unsafe.Sizeof(heisenFastTrackClass{}))
	heisenZero(unsafe.Pointer(m.moved), heisenFastTrackMaxMovedOwners*unsafe.Sizeof(heisenFastTrackMovedOwner{}))
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
	left, ok := heisenShadow.init()
	return ok && heisenReserveArenas(left)
}

// heisenReserveArenas reserves the arenas, which are smaller if little address space is left.
func heisenReserveArenas(left uintptr) bool {
	const (
		largest = heisenFastTrackMaxExtensions*unsafe.Sizeof(heisenFastTrackExtension{}) +
			heisenFastTrackMaxOverflowEntries*unsafe.Sizeof(heisenFastTrackOverflowEntry{}) +
			2*heisenFastTrackMaxReaders*unsafe.Sizeof(heisenFastTrackReader{}) +
			heisenFastTrackMaxMarks*unsafe.Sizeof(heisenFastTrackMark{})
		clocks = heisenFastTrackMaxVectors*(unsafe.Sizeof(heisenFastTrackVector{})+unsafe.Sizeof(heisenFastTrackVectorTail{})) +
			heisenFastTrackMaxNodes*unsafe.Sizeof(heisenFastTrackNode{}) +
			heisenFastTrackMaxBlocks*(unsafe.Sizeof(heisenFastTrackBlock{})+unsafe.Sizeof(heisenFastTrackBlockRefs{})) +
			heisenFastTrackMaxWeights*unsafe.Sizeof(heisenFastTrackWeight{})
	)
	smaller := heisenPowerFor(largest, left/heisenArenaShare, heisenMaxSmaller)
	fewer := heisenPowerFor(clocks, left/heisenArenaShare, heisenMaxFewer)
	heisenFastTrack.LimitMemory(smaller, fewer)
	m := &heisenFastTrackMemory
	for _, arena := range [...]struct {
		at   *uintptr
		size uintptr
	}{
		{&m.vectors, heisenFastTrackMaxVectors >> fewer * unsafe.Sizeof(heisenFastTrackVector{})},
		{&m.tails, heisenFastTrackMaxVectors >> fewer * unsafe.Sizeof(heisenFastTrackVectorTail{})},
		{&m.nodes, heisenFastTrackMaxNodes >> fewer * unsafe.Sizeof(heisenFastTrackNode{})},
		{&m.blocks, heisenFastTrackMaxBlocks >> fewer * unsafe.Sizeof(heisenFastTrackBlock{})},
		{&m.blockRefs, heisenFastTrackMaxBlocks >> fewer * unsafe.Sizeof(heisenFastTrackBlockRefs{})},
		{&m.extensions, heisenFastTrackMaxExtensions >> smaller * unsafe.Sizeof(heisenFastTrackExtension{})},
		{&m.overflow, heisenFastTrackMaxOverflowEntries >> smaller * unsafe.Sizeof(heisenFastTrackOverflowEntry{})},
		{&m.readers, 2 * heisenFastTrackMaxReaders >> smaller * unsafe.Sizeof(heisenFastTrackReader{})},
		{&m.weights, heisenFastTrackMaxWeights >> fewer * unsafe.Sizeof(heisenFastTrackWeight{})},
		{&m.marks, heisenFastTrackMaxMarks >> smaller * unsafe.Sizeof(heisenFastTrackMark{})},
		{&m.classes, heisenFastTrackMaxClasses * unsafe.Sizeof(heisenFastTrackClass{})},
		{&m.moved, heisenFastTrackMaxMovedOwners * unsafe.Sizeof(heisenFastTrackMovedOwner{})},
	} {
		if *arena.at = uintptr(heisenReserve(arena.size)); *arena.at == 0 {
			return false
		}
	}
	return true
}

// cell returns the cell of the word at addr.
//
//go:nosplit
func (r *heisenRegion) cell(addr uintptr) *heisenFastTrackCell {
	return (*heisenFastTrackCell)(unsafe.Pointer(r.cells + (addr-r.lo)&^7*(heisenCellSize/8)))
}

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
	if addr-r.lo >= r.span {
		return
	}
	size = heisenShadow.within(addr, size)
	if size >= 16 {
		size = alignUp(size, 8) // only smaller objects share words
	}
	for size > 0 {
		n := min(size, 1<<heisenBlockShift-addr&(1<<heisenBlockShift-1))
		if m := (*uint8)(unsafe.Pointer(heisenShadow.used + (addr-r.lo)>>heisenBlockShift)); *m&heisenBlockUsed != 0 {
			heisenClearCells(r, addr, n)
			if n == 1<<heisenBlockShift {
				*m = heisenBlockCounted
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
	systemstack(func() {
		if heisen.locks && heisenFastTrack.Noted(c) {
			heisenRenewed(addr)
		}
		heisenFastTrack.Clear(c, mask)
	})
}
