//go:build heisen_inject

package runtime

import "unsafe"

// Where shadow cells are. There is a cell for each word of the heap and of the data segments, and it
// is found by arithmetic. Where address space is plentiful, that of the cells of the largest heap is
// reserved at the start. Where it is scarce (ulimit -v, or a kernel that does not overcommit), cells
// have addresses that nothing else is likely to want, and are mapped as the heap grows. They take at
// most a share of what is left, so that what the program maps itself may grow on. If the heap comes to
// the limit, its upper parts lose their cells, because the program matters more than its races.
//
// The cells of the heap stand on huge pages where the heap is dense. A sparse object, of which the
// program uses a byte here and there, would need all of its cells otherwise.

const (
	heisenMaxHeap = 1 << 38
	// heisenReservedHeap is the largest heap with cells where addresses can be reserved, but not memory that
	// costs nothing.
	heisenReservedHeap = 1 << 35
	// heisenCellsAt is where the cells are if they are not reserved. Kernels place mappings near the
	// stack, programs are below or there, too, and the heap begins at 0xc000000000.
	heisenCellsAt = 1 << 44
	// heisenSmallCellsAt is where they are if addresses have 39 bits, half of them for programs.
	heisenSmallCellsAt = 1 << 37
	// heisenHeapShare is the part of scarce address space that may be heap with cells, of so many.
	// The cells take four of these parts.
	heisenHeapShare = 8
	// heisenDataShare is the part that may be data segments with cells, of so many. If that is less
	// than heisenMinData bytes, these may be, unless they are more than heisenHeapShare allows.
	heisenDataShare = 32
	heisenMinData   = 64 << 20
	// heisenArenaShare is the part of scarce address space that the largest arenas may take, and
	// those of clocks, of so many.
	heisenArenaShare = 16
	// heisenMaxSmaller and heisenMaxFewer are the largest powers of two by which they are smaller.
	heisenMaxSmaller = 12
	heisenMaxFewer   = 8
	// heisenHeapRoom is what the heap needs beside an arena, for what describes it and for threads.
	heisenHeapRoom = 16 << 20
	// Before an object of this size or more is allocated, there is made room for it.
	heisenLargeObject = 1 << 20

	// heisenLargestPage is the largest size of the huge pages that cells stand on.
	heisenLargestPage = 4 << 20
	// A stretch of the heap has the cells of a huge page. It is dense when so many parts of its
	// blocks have been used, or fewer if the stretch before it is dense.
	heisenDenseShare  = 2
	heisenDenserShare = 16
	heisenHugeStretch = 1 << 15 // in a count of blocks: the cells stand on a huge page
	// heisenMaxIslands bounds the number of stretches on huge pages behind one that is not: a process
	// may have only so many mappings.
	heisenMaxIslands = 1 << 12
)

type heisenShadowMemory struct {
	heap, data heisenRegion
	sides      uintptr // where side entries are, less half the address of their cell: they are half as large
	sideStride uintptr // the distance between the two sides
	used       uintptr // a byte for each block of the heap, see heisenBlockUsed
	beyond     bool    // the heap has grown beyond the cells
	growing    bool    // the cells of the heap are mapped as it grows
	pressed    bool    // the heap has hardly any address space left to grow

	most         uintptr // bytes of the heap that may have cells
	dataRoom     uintptr // bytes of the data segments for which cells have addresses, so that they end where a page does
	stretches    uintptr // numbers of blocks that have been used, of 16 bits, by stretch of the heap
	stretchShift uintptr // logarithm of the size of a stretch; 0 if there are no huge pages
	islands      uintptr
}

// What is known of a block of the heap.
const (
	heisenBlockUsed    = 1 << iota // a cell in it may not be empty
	heisenBlockCounted             // some cell has been used

	heisenUsedBlocks = 0x0101010101010101 // heisenBlockUsed, of eight blocks
)

// init finds the place of the cells, and reports whether there is one. If address space is scarce, it
// also returns how much is left.
func (c *heisenShadowMemory) init() (left uintptr, ok bool) {
	c.data.lo = racedatastart &^ 7
	c.data.span = alignUp(racedataend-c.data.lo, 8)
	c.dataRoom = alignUp(c.data.span, heisenLargestPage)
	c.heap.lo = racearenastart &^ (1<<heisenBlockShift - 1)
	left = ^uintptr(0)
	if base := heisenAllCells(2*c.size(heisenMaxHeap) + heisenMaxHeap>>heisenBlockShift + heisenLargestPage); base != 0 {
		base = alignUp(base, heisenLargestPage)
		c.place(base, heisenMaxHeap)
		c.used = base + 2*c.size(heisenMaxHeap)
		c.heap.span = heisenMaxHeap
		c.beyond = racearenaend-c.heap.lo > heisenMaxHeap
	} else {
		left = heisenAddressSpace()
		data := c.dataCovered(left)
		left -= min(left, data*(2*heisenCellSize/8))
		c.most = min(alignDown(left/heisenHeapShare, heisenLargestPage), heisenMaxHeap)
		at := uintptr(heisenCellsAt)
		if GOARCH == "riscv64" && getg().m.g0.stack.hi < 2*heisenSmallCellsAt {
			at = heisenSmallCellsAt
		}
		if base := heisenAddresses(2*c.size(heisenReservedHeap) + heisenLargestPage); base != 0 {
			at, c.most = alignUp(base, heisenLargestPage), heisenReservedHeap
		}
		c.place(at, c.most)
		c.used = uintptr(heisenReserve(c.most >> heisenBlockShift))
		if c.most == 0 || c.used == 0 || !c.mapCells(c.data.cells, data/8*heisenCellSize) {
			return left, false
		}
		c.growing = true
		if c.cover(mheap_.curArena.base); c.heap.span == 0 {
			return left, false
		}
	}
	if huge := physHugePageSize; heisenLazy && 0 < huge && huge <= heisenLargestPage && huge&(huge-1) == 0 {
		for c.stretchShift = heisenBlockShift; 1<<c.stretchShift < huge/(heisenCellSize/8); c.stretchShift++ {
		}
		if c.stretches = uintptr(heisenReserve(max(c.most, c.heap.span) >> c.stretchShift * 2)); c.stretches == 0 {
			c.stretchShift = 0
		}
	}
	return left, true
}

// heisenAllCells returns memory for the cells of the largest heap, 0 if there is not so much.
func heisenAllCells(n uintptr) uintptr {
	if !heisenLazy {
		return 0
	}
	return uintptr(heisenReserve(n))
}

// size returns the bytes of the cells of a heap of span bytes and of the data segments. Side entries
// take as many.
func (c *heisenShadowMemory) size(span uintptr) uintptr {
	return (span + c.dataRoom) / 8 * heisenCellSize
}

// place sets where these cells, and side entries behind them, are.
func (c *heisenShadowMemory) place(base, span uintptr) {
	size := c.size(span)
	c.heap.cells = base
	c.data.cells = base + span/8*heisenCellSize
	c.sides, c.sideStride = base+size-base/2, size/2
}

// mapCells maps n bytes of cells with their side entries. It reports whether it could.
func (c *heisenShadowMemory) mapCells(cells, n uintptr) bool {
	side := cells/2 + c.sides
	return heisenMapAt(cells, n) && heisenMapAt(side, n/2) && heisenMapAt(side+c.sideStride, n/2)
}

// dataCovered returns for how many bytes of the data segments there will be cells: all, or the first
// part if the cells would take too much of the address space that is left.
func (c *heisenShadowMemory) dataCovered(left uintptr) uintptr {
	n := min(max(heisenMinData, left/heisenDataShare), left/heisenHeapShare)
	if n = alignDown(n, heisenLargestPage); n >= c.dataRoom {
		return c.dataRoom
	}
	c.data.span, c.beyond = n, true
	return n
}

// cover maps the cells of the heap up to an address. It is called when the heap grows, with the
// heap's lock, before the new part is used.
func (c *heisenShadowMemory) cover(end uintptr) {
	r := &c.heap
	if !c.growing || end-r.lo <= r.span || r.span == c.most {
		c.beyond = c.beyond || c.growing && end-r.lo > r.span
		return
	}
	n := alignUp(end-r.lo, heisenLargestPage) - r.span
	if end < r.lo || r.span+n > c.most || !c.mapCells(r.cells+r.span/8*heisenCellSize, n/8*heisenCellSize) {
		c.most, c.beyond = r.span, true
		return
	}
	r.span += n
	if heisen.mode == heisenModeFollow {
		heisenFastHeap.span = r.span
	}
}

// heisenHeapGrows is called when the heap has grown by n bytes at v, before they are used. It tells the
// page allocator.
func heisenHeapGrows(h *mheap, v, n uintptr) {
	if heisen.cells {
		heisenShadow.cover(v + n)
	}
	h.pages.grow(v, n)
}

// heisenArenaMapped is called when the heap has got address space, with its lock.
//
//go:nosplit
func heisenArenaMapped() {
	if c := &heisenShadow; c.growing && c.data.span != 0 {
		c.pressed = !heisenHasSpace(heapArenaBytes + heisenHeapRoom)
	}
}

// heisenBeforeLarge is called before an object of size bytes is allocated that has pages of its own.
// It looks at the heap without its lock: an arena that is new in this moment has room.
func heisenBeforeLarge(size uintptr) {
	c, arena := &heisenShadow, &mheap_.curArena
	if size >= heisenLargeObject && c.growing && c.data.span != 0 && alignUp(size, pallocChunkBytes) > arena.end-arena.base {
		c.makeRoom(alignUp(size, heapArenaBytes) + heisenHeapRoom)
	}
}

// heisenPressed makes a goroutine that has allocated an object, for which the heap may have grown,
// call gcStart, and so heisenBeforeCollection.
//
//go:nosplit
func heisenPressed(kind gcTriggerKind) bool { return heisenShadow.pressed && kind == gcTriggerHeap }

// heisenBeforeCollection is called before it is decided whether the collector starts.
func heisenBeforeCollection() {
	if c := &heisenShadow; c.pressed {
		c.makeRoom(heapArenaBytes + heisenHeapRoom)
	}
}

// makeRoom takes cells from the upper parts of the heap, and then from the data segments, until n
// bytes of address space are left. It
// does nothing where the world cannot be stopped: it must not be while a hook uses a cell.
func (c *heisenShadowMemory) makeRoom(n uintptr) {
	gp := getg()
	if gp != gp.m.curg || gp.m.locks != 0 || gp.m.preemptoff != "" {
		return
	}
	c.pressed = false
	if heisenSched.on || heisenHasSpace(n) {
		return
	}
	world := stopTheWorld(stwAllGoroutinesStack)
	if heisen.on {
		heisenFastTrack.Collect() // for heisenSyncElsewhere
	}
	for r := &c.heap; r.span > 0 && !heisenHasSpace(n); {
		span := alignDown(r.span/2, heisenLargestPage)
		c.unmapCells(r.cells+span/8*heisenCellSize, (r.span-span)/8*heisenCellSize)
		r.span, c.most, c.beyond = span, span, true
	}
	if !heisenHasSpace(n) { // the data segments are all that have cells
		c.unmapCells(c.data.cells, alignUp(c.data.span, heisenLargestPage)/8*heisenCellSize)
		c.data.span, c.beyond = 0, true
	}
	if heisen.mode == heisenModeFollow {
		heisenFastHeap, heisenFastData = c.heap, c.data
	}
	startTheWorld(world)
}

// unmapCells unmaps what mapCells has mapped.
func (c *heisenShadowMemory) unmapCells(cells, n uintptr) {
	side := cells/2 + c.sides
	heisenUnmapFixed(cells, n)
	heisenUnmapFixed(side, n/2)
	heisenUnmapFixed(side+c.sideStride, n/2)
	heisenTables.size -= 2 * n
}

// heisenHeapFull is called when there is no address space for n more bytes of heap. The program is
// about to end: package runtime says that it is out of memory.
func heisenHeapFull(n uintptr) (unsafe.Pointer, uintptr) {
	if heisenSpaceIsLimited() || heisenLazy && heisenShadow.growing {
		print("heisen: ", heisenScarce(), ", and the heap cannot grow by ", n>>20, " MiB; tables of heisen take ",
			heisenTables.size>>20, " MiB\n")
	} else {
		print("heisen: the heap cannot grow by ", n>>20, " MiB; programs built by heisen have at most 128 GiB, as with -race\n")
	}
	return nil, 0
}

// within returns how many of size bytes at an address, which has a cell, have cells.
//
//go:nosplit
func (c *heisenShadowMemory) within(addr, size uintptr) uintptr {
	if !c.growing {
		return size
	}
	r := &c.heap
	if addr-r.lo >= r.span {
		r = &c.data
	}
	return min(size, r.span-(addr-r.lo))
}

// markUsed records that a cell in the block of addr may not be empty.
//
//go:nosplit
func heisenMarkUsed(addr uintptr) {
	c := &heisenShadow
	if addr-c.heap.lo < c.heap.span {
		p := (*uint8)(unsafe.Pointer(c.used + (addr-c.heap.lo)>>heisenBlockShift))
		if old := *p; old&heisenBlockUsed == 0 {
			*p = heisenBlockUsed | heisenBlockCounted
			if old == 0 && c.stretchShift != 0 {
				c.count((addr - c.heap.lo) >> c.stretchShift)
			}
		}
	}
}

// count counts a block of a stretch that is used for the first time. Threads may overwrite each
// other's counts.
//
//go:nosplit
func (c *heisenShadowMemory) count(stretch uintptr) {
	blocks := uint16(1) << (c.stretchShift - heisenBlockShift)
	n := c.stretch(stretch)
	*n++
	switch *n {
	case blocks / heisenDenserShare:
		if stretch == 0 || *c.stretch(stretch - 1)&^heisenHugeStretch < blocks/heisenDenseShare {
			return
		}
	case blocks / heisenDenseShare:
	default:
		return
	}
	heisenUseHugePage(stretch)
}

// stretch returns the count of a stretch.
//
//go:nosplit
func (c *heisenShadowMemory) stretch(i uintptr) *uint16 {
	return (*uint16)(unsafe.Pointer(c.stretches + 2*i))
}

// heisenUseHugePage makes the cells of a stretch stand on a huge page.
//
//go:nosplit
//go:noinline
func heisenUseHugePage(stretch uintptr) {
	systemstack(func() {
		c := &heisenShadow
		if stretch == 0 || *c.stretch(stretch - 1)&heisenHugeStretch == 0 {
			if c.islands == heisenMaxIslands {
				return
			}
			c.islands++
		}
		*c.stretch(stretch) |= heisenHugeStretch
		n := uintptr(1) << c.stretchShift * (heisenCellSize / 8)
		at := unsafe.Pointer(c.heap.cells + stretch*n)
		heisenMakeHuge(at, n)
	})
}
