//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Where the table of internal/core/fasttrack is, and the cells of words: what they are, and when what is
// known of them is forgotten.

// heisenRegion is a range of addresses with cells.
type heisenRegion struct {
	lo, span uintptr
	cells    uintptr
}

var heisenCells struct {
	heap, data heisenRegion
	aside      uintptr // where notes beside cells are, less half the address of a cell: they are half as large
	asides     uintptr // how far the two sides are from each other
	marks      uintptr // of the heap: of which blocks there are cells that are not empty
	fast       bool    // notes are looked at before all else
	only       bool    // and nothing else is
}

// heisenQuick is the heap, and heisenQuickData the data segments, if that is so.
var heisenQuick, heisenQuickData heisenRegion

const (
	heisenCellSize   = unsafe.Sizeof(heisenHappensCell{})
	heisenBlockShift = 8 // of 32 words
	heisenMaxHeap    = 1 << 38
	heisenMinHeap    = 1 << 32
)

// What the table's files need of their host.

var heisenHappensMemory struct{ vectors, fars, nodes, blocks, tallies, extras, marks uintptr }

//go:nosplit
func heisenHappensAsideOf(c *heisenHappensCell, side uint32) *atomic.Uint64 {
	at := uintptr(unsafe.Pointer(c))/2 + heisenCells.aside
	if side != 0 {
		at += heisenCells.asides
	}
	return (*atomic.Uint64)(unsafe.Pointer(at))
}

// heisenHappensNextCell returns the cell of the word behind that of c. The caller knows that there is
// one: ranges do not go beyond the heap or the data segments.
//
//go:nosplit
func heisenHappensNextCell(c *heisenHappensCell) *heisenHappensCell {
	return (*heisenHappensCell)(unsafe.Pointer(uintptr(unsafe.Pointer(c)) + heisenCellSize))
}

//go:nosplit
func heisenHappensVectorAt(i uint32) *heisenHappensVector {
	return (*heisenHappensVector)(unsafe.Pointer(heisenHappensMemory.vectors + uintptr(i)*unsafe.Sizeof(heisenHappensVector{})))
}

//go:nosplit
func heisenHappensFarAt(i uint32) *heisenHappensFar {
	return (*heisenHappensFar)(unsafe.Pointer(heisenHappensMemory.fars + uintptr(i)*unsafe.Sizeof(heisenHappensFar{})))
}

//go:nosplit
func heisenHappensNodeAt(i uint32) *heisenHappensNode {
	return (*heisenHappensNode)(unsafe.Pointer(heisenHappensMemory.nodes + uintptr(i)*unsafe.Sizeof(heisenHappensNode{})))
}

//go:nosplit
func heisenHappensBlockAt(i uint32) *heisenHappensBlock {
	return (*heisenHappensBlock)(unsafe.Pointer(heisenHappensMemory.blocks + uintptr(i)*unsafe.Sizeof(heisenHappensBlock{})))
}

//go:nosplit
func heisenHappensTallyAt(i uint32) *heisenHappensTally {
	return (*heisenHappensTally)(unsafe.Pointer(heisenHappensMemory.tallies + uintptr(i)*unsafe.Sizeof(heisenHappensTally{})))
}

//go:nosplit
func heisenHappensExtraAt(i uint32) *heisenHappensExtra {
	return (*heisenHappensExtra)(unsafe.Pointer(heisenHappensMemory.extras + uintptr(i)*unsafe.Sizeof(heisenHappensExtra{})))
}

//go:nosplit
func heisenHappensMarkAt(i uint64) *heisenHappensMark {
	return (*heisenHappensMark)(unsafe.Pointer(heisenHappensMemory.marks + uintptr(i)*unsafe.Sizeof(heisenHappensMark{})))
}

// heisenHappensSparesHere returns what the current P keeps: hooks are not preempted.
//
//go:nosplit
func heisenHappensSparesHere() *heisenHappensSpares {
	if b := heisenBufOfP(); b != nil {
		return &b.spares
	}
	return nil
}

//go:nosplit
func heisenHappensStoreRelease(x *atomic.Uint64, v uint64) { heisenWatchStoreRelease(x, v) }

//go:nosplit
func heisenHappensStoreRelease32(x *atomic.Uint32, v uint32) { heisenWatchStoreRelease32(x, v) }

//go:nosplit
func heisenHappensDecrement(x *atomic.Uint32) uint32 { return x.Add(-1) }

// heisenHappensPauseSpinning pauses about as long as the runtime's own locks do, and longer if that was not enough:
// who looks sooner takes the word away from its holder, who is to go on with it.
//
//go:nosplit
func heisenHappensPauseSpinning(tries uint32) {
	if tries < heisenSpins/4 {
		procyield(40 + 4*tries)
	} else {
		osyield()
	}
}

// heisenInitHappens reserves address space, and reports whether there was some.
func heisenInitHappens() bool {
	m := &heisenHappensMemory
	for _, arena := range [...]struct {
		at   *uintptr
		size uintptr
	}{
		{&m.vectors, heisenHappensMaxVectors * unsafe.Sizeof(heisenHappensVector{})},
		{&m.fars, heisenHappensMaxVectors * unsafe.Sizeof(heisenHappensFar{})},
		{&m.nodes, heisenHappensMaxNodes * unsafe.Sizeof(heisenHappensNode{})},
		{&m.blocks, heisenHappensMaxBlocks * unsafe.Sizeof(heisenHappensBlock{})},
		{&m.tallies, heisenHappensMaxBlocks * unsafe.Sizeof(heisenHappensTally{})},
		{&m.extras, heisenHappensMaxExtras * unsafe.Sizeof(heisenHappensExtra{})},
		{&m.marks, heisenHappensMaxMarks * unsafe.Sizeof(heisenHappensMark{})},
	} {
		if *arena.at = uintptr(heisenReserve(arena.size)); *arena.at == 0 {
			return false
		}
	}
	c := &heisenCells
	c.data.lo = racedatastart &^ 7
	c.data.span = alignUp(racedataend-c.data.lo, 8)
	c.heap.lo = racearenastart &^ (1<<heisenBlockShift - 1)
	for span := uintptr(heisenMaxHeap); span >= heisenMinHeap; span /= 2 {
		size := (span + c.data.span) / 8 * heisenCellSize
		if c.heap.cells = uintptr(heisenReserve(2 * size)); c.heap.cells == 0 {
			continue
		}
		c.aside, c.asides = c.heap.cells+size-c.heap.cells/2, size/2
		if c.marks = uintptr(heisenReserve(span >> heisenBlockShift)); c.marks == 0 {
			return false
		}
		c.heap.span = span
		c.data.cells = c.heap.cells + span/8*heisenCellSize
		return true
	}
	return false
}

//go:nosplit
func (r *heisenRegion) cell(addr uintptr) *heisenHappensCell {
	return (*heisenHappensCell)(unsafe.Pointer(r.cells + (addr-r.lo)&^7*(heisenCellSize/8)))
}

// heisenPrefetch fetches the cache line of p, which is about to be changed, and does not wait for it: another
// processor may have it.
func heisenPrefetch(p uintptr)

// heisenNoCell stands for the cells of words that have none. Nothing is noted there.
var heisenNoCell heisenHappensCell

// heisenCellAt returns the cell of the word at addr.
//
//go:nosplit
func heisenCellAt(addr uintptr) *heisenHappensCell {
	r := &heisenCells.heap
	if addr-r.lo >= r.span {
		r = &heisenCells.data
		if addr-r.lo >= r.span {
			return &heisenNoCell
		}
	}
	return r.cell(addr)
}

// heisenMarkBlock notes that there is a cell that is not empty.
//
//go:nosplit
func heisenMarkBlock(addr uintptr) {
	r := &heisenCells.heap
	if addr-r.lo < r.span {
		p := (*uint8)(unsafe.Pointer(heisenCells.marks + (addr-r.lo)>>heisenBlockShift))
		if *p == 0 {
			*p = 1
		}
	}
}

// heisenMarkBlocks is heisenMarkBlock for size bytes.
//
//go:nosplit
func heisenMarkBlocks(addr, size uintptr) {
	for at := addr &^ (1<<heisenBlockShift - 1); at < addr+size; at += 1 << heisenBlockShift {
		heisenMarkBlock(at)
	}
}

// heisenForget begins a life of addresses: it empties their cells. Whoever gets such an address, be it
// without synchronisation, is not to see what was there.
//
//go:nosplit
func heisenForget(addr, size uintptr) {
	r := &heisenCells.heap
	if addr-r.lo >= r.span || size > r.span-(addr-r.lo) {
		return
	}
	if size >= 16 {
		size = alignUp(size, 8) // only smaller objects share words
	}
	for size > 0 {
		n := min(size, 1<<heisenBlockShift-addr&(1<<heisenBlockShift-1))
		if m := (*uint8)(unsafe.Pointer(heisenCells.marks + (addr-r.lo)>>heisenBlockShift)); *m != 0 {
			heisenForgetCells(r, addr, n)
			if n == 1<<heisenBlockShift {
				*m = 0
			}
		}
		addr, size = addr+n, size-n
	}
	heisenStoreBarrier()
}

//go:nosplit
func heisenForgetCells(r *heisenRegion, addr, size uintptr) {
	c := r.cell(addr)
	for ; size >= 8 && addr&7 == 0; addr, size = addr+8, size-8 {
		if !c.Forget() {
			heisenForgetSome(c, addr, 8)
		}
		c = heisenHappensNextCell(c)
	}
	for ; size > 0; c = heisenHappensNextCell(c) {
		n := min(size, 8-addr&7)
		if !c.Empty() {
			heisenForgetSome(c, addr, n)
		}
		addr, size = addr+n, size-n
	}
}

// heisenForgetSome forgets what is known of n bytes, or of all where that is much.
//
//go:nosplit
//go:noinline
func heisenForgetSome(c *heisenHappensCell, addr, n uintptr) {
	mask := (uint32(1)<<n - 1) << (addr & 7)
	systemstack(func() { heisenHappens.Clear(c, mask) })
}
