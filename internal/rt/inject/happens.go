//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Races that the program finds by itself. What goroutines know of each other is in
// heisenHappens (package internal/happens); every word of the heap and of the data
// segments has a cell there for what was done to it. Nothing is sent but what is found.
//
// A synchronisation and what it orders are one step under the lock of the object's cell,
// as are an atomic operation and its order.

var heisenHappens heisenHappensTable

// heisenRegion is a range of addresses with cells.
type heisenRegion struct {
	lo, span uintptr
	cells    uintptr
}

var heisenCells struct {
	heap, data heisenRegion
	aside      uintptr      // where notes beside cells are, less half the address of a cell: they are half as large
	asides     uintptr      // how far the two sides are from each other
	marks      uintptr      // of the heap: of which blocks there are cells that are not empty
	fast       bool         // notes are looked at before all else
	only       bool         // and nothing else is
	quick      heisenRegion // the heap, if only
}

// heisenLocking is the ops by which locks change hands, and heisenTaking those by which
// they are taken.
const (
	heisenTaking = 1<<heisenOpAcquire | 1<<heisenOpAcquireShared | 1<<heisenOpTryAcquire | 1<<heisenOpTryAcquireShared

	heisenLocking = heisenTaking | 1<<heisenOpRelease | 1<<heisenOpReleaseShared
)

const (
	heisenCellSize   = unsafe.Sizeof(heisenHappensCell{})
	heisenBlockShift = 8 // of 32 words
	heisenMaxHeap    = 1 << 38
	heisenMinHeap    = 1 << 32
)

// What the table's files need of their host.

var heisenHappensMemory struct{ vectors, fars, nodes, blocks, extras, marks uintptr }

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

//go:nosplit
func heisenHappensPauseSpinning(tries uint32) {
	if tries < heisenSpins {
		procyield(1 + tries/8)
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

// ranged is what raceread and heisenAnew do, for size bytes: it returns how many of the first
// it has done. A pc of 0 is not known yet: then it only looks for notes.
//
//go:nosplit
func (h *heisenG) ranged(write bool, addr, size, pc uintptr) uintptr {
	t := &heisenHappens
	if !heisenCells.fast || !h.order.Lives(t) {
		return 0
	}
	c := heisenCellAt(addr)
	if c == &heisenNoCell {
		return 0
	}
	// Most words are whole, and of most the first note says it.
	done := uintptr(0)
	if addr&7 == 0 {
		for ; size-done >= 8 && c.NotedWord(&h.order, write); done += 8 {
			c = heisenHappensNextCell(c)
		}
		if done == size {
			return size
		}
	}
	b := heisenBufOfP()
	if !heisenCells.only || b == nil || !h.started || pc == 0 || heisenOnStack(addr) {
		return done
	}
	place := heisenPlaceUnder(b, h, pc)
	note := h.order.Epoch | place
	heisenMarkBlocks(addr+done, size-done)
	for at, end := addr+done, addr+size; at < end; {
		if n := (end - at) / 8; at&7 == 0 && n > 0 {
			n = t.AccessWords(&h.order, c, n, note, write)
			at, c = at+8*n, heisenCellAfter(c, n)
			if at == end {
				break
			}
		}
		next := min(at&^7+8, end)
		mask := heisenBytesOf(at, next)
		if !t.AccessPlain(&h.order, c, note, mask, write) {
			heisenCompareAmong(b, h, c, addr, size, at, place, uint32(mask), write)
		}
		at, c = next, heisenHappensNextCell(c)
	}
	return size
}

// heisenCellAfter returns the cell of the word n words behind that of c.
//
//go:nosplit
func heisenCellAfter(c *heisenHappensCell, n uintptr) *heisenHappensCell {
	return (*heisenHappensCell)(unsafe.Pointer(uintptr(unsafe.Pointer(c)) + n*heisenCellSize))
}

// heisenBytesOf returns the bytes from at up to next in a word, as a mask.
//
//go:nosplit
func heisenBytesOf(at, next uintptr) uint64 {
	return 0xFF >> ((at - next) & 7) << (at & 7) & 0xFF
}

// heisenBufOfG returns the buffer of the current P, nil where there is none. It is to be known who
// h is before it is heard of in races.
//
//go:nosplit
func heisenBufOfG(h *heisenG) *heisenBuf {
	b := heisenBufOfP()
	if b == nil || !h.started {
		b = heisenFirst(h)
	}
	return b
}

// heisenAnew takes an access of h, which is the current goroutine and lives, to a byte in the word
// of c, the first note of which does not say it, if races are all that is looked for: it is
// heisenAccess and heisenCompare in one. It reports false if it is for those.
//
//go:nosplit
func heisenAnew(h *heisenG, c *heisenHappensCell, write bool, addr, pc uintptr) bool {
	t, mask := &heisenHappens, uint64(1)<<(addr&7)
	var at *atomic.Uint64
	head, old := c.Says()
	first := old
	again := !write && h.order.HasRead(head, old, mask)
	if !again && heisenHappensSeveral(head) {
		var noted bool
		if noted, at, head, old = c.Look(&h.order, mask, write); noted {
			return true
		}
	}
	b := heisenBufOfP()
	if b == nil || !h.started {
		return false
	}
	var place uint64
	if u := b.under(h.top, pc, h.under); u.is(h.top, pc, h.under) {
		place = u.known(h)
	} else {
		place = heisenNewPlace(b, h, pc, h.set(b))
	}
	note := h.order.Epoch | place
	if again && c.Renew(&h.order, &c.first, head, old, note) || at != nil && t.Again(&h.order, c, at, head, old, note) {
		return true
	}
	if c.Empty() {
		heisenMarkBlock(addr)
	}
	if t.AccessOwn(&h.order, c, note, mask, write) || first == note && t.AccessMore(&h.order, c, note, mask, write) ||
		t.AccessAlone(&h.order, c, note, mask, write) {
		return true
	}
	heisenCompareAmong(b, h, c, addr, 1, addr, place, uint32(mask), write)
	return true
}

// heisenCompareAmong is what remains where AccessAlone is not enough for the word at at.
//
//go:nosplit
func heisenCompareAmong(b *heisenBuf, h *heisenG, c *heisenHappensCell, addr, size, at uintptr, place uint64, mask uint32, write bool) {
	kind := uint32(heisenHappensRead)
	if write {
		kind = heisenHappensWrite
	}
	if !heisenHappens.AccessAmong(&h.order, c, uint64(at&^7), place, mask, kind, &b.races) || b.races.Count != 0 {
		heisenCompareMore(b, h, c, addr, size, at, place, mask, kind)
	}
}

// heisenOnStack reports whether addr is on the stack of the current goroutine.
//
//go:nosplit
func heisenOnStack(addr uintptr) bool {
	gp := getg()
	return addr-gp.stack.lo < gp.stack.hi-gp.stack.lo
}

// heisenCompare takes an access of h, which is the current goroutine.
//
//go:nosplit
func heisenCompare(h *heisenG, kind uint32, addr, size, pc uintptr) {
	b := heisenBufOfG(h)
	if b == nil {
		return
	}
	t := &heisenHappens
	if t.Stale(&h.order) {
		systemstack(func() { t.Renew(&h.order, h.id) })
	}
	c := heisenCellAt(addr)
	if c == &heisenNoCell {
		return
	}
	place := heisenPlaceUnder(b, h, pc)
	for at, end := addr, addr+size; at < end; c = heisenHappensNextCell(c) {
		next := min(at&^7+8, end)
		mask := heisenBytesOf(at, next)
		if c.Empty() {
			heisenMarkBlock(at)
		}
		if !t.AccessPlain(&h.order, c, h.order.Epoch|place, mask, kind == heisenHappensWrite) {
			heisenCompareMore(b, h, c, addr, size, at, place, uint32(mask), kind)
		}
		at = next
	}
}

// heisenCompareMore is what remains of heisenCompare for the word at at: to tell of races, or
// an access to a word of which much is known. Inlined, it would take stack where there is little.
//
//go:nosplit
//go:noinline
func heisenCompareMore(b *heisenBuf, h *heisenG, c *heisenHappensCell, addr, size, at uintptr, place uint64, mask, kind uint32) {
	systemstack(func() {
		t := &heisenHappens
		if b.races.Count == 0 {
			if kind == heisenHappensRead && t.NotedInCrowd(&h.order, c, uint64(mask)) {
				return
			}
			c.Unlock(t.AccessLocked(&h.order, c, c.Lock(), uint64(at&^7), place, mask, kind, &b.races))
		}
		if b.races.Count != 0 {
			b.compare(kind, place, addr, size)
			heisenTellRaces(b, h)
		}
	})
}

// heisenCompared is the access whose races are to be told.
type heisenCompared struct {
	kind       uint32
	place      uint64
	addr, size uintptr
	told       uint64 // the note that it raced with last
	// Of an atomic operation: the cell that it has locked, and its head.
	cell *heisenHappensCell
	head uint64
}

//go:nosplit
func (b *heisenBuf) compare(kind uint32, place uint64, addr, size uintptr) {
	a := &b.compared
	if a.place != place || a.addr != addr {
		a.told = 0
	}
	a.kind, a.place, a.addr, a.size = kind, place, addr, size
}

// heisenTellRaces sends the races of b.compared, which the current hook of h has found.
func heisenTellRaces(b *heisenBuf, h *heisenG) {
	n := b.races.Count
	b.races.Count, b.races.Bytes = 0, 0
	if !heisen.on || heisenHappens.Full() {
		return // nobody listens, or what is not known any more may have ordered them
	}
	a := &b.compared
	who := uint64(h.id)<<32 | uint64(heisenKinds[a.kind])<<heisenPlaceBits | a.place
	for i := range n {
		r := &b.races.At[i]
		if r.Note == a.told {
			continue // it was in the word before, too
		}
		a.told = r.Note
		id, known := heisenHappens.Holder(r.Note)
		if !known {
			id = heisenUnknownG
		}
		other := uint64(id)<<32 | uint64(heisenKinds[r.Kind])<<heisenPlaceBits | r.Note&heisenHappensPlaceMask
		at := r.Addr + uint64(heisenWatchLowestBit(r.Bytes))
		heisenPutOverlap(b, h, uint64(a.addr), who, other, uint64(min(a.size, 1<<16-1))<<48|at, heisenByOrder)
	}
}

// heisenSendRaces tells what may have kept races from being found.
func heisenSendRaces() {
	words := (*[2]uint64)(persistentalloc(2*8, 8, &memstats.other_sys))
	words[0] = heisenHappens.Crowded.Load()
	if heisenHappens.Full() {
		words[1] = 1
	}
	heisenSend(heisenMsgRaces, 0, 0, unsafe.Pointer(words), unsafe.Sizeof(*words))
}

// heisenKinds is the ops of package heisen, by the kinds of package internal/happens.
var heisenKinds = [...]uint8{
	heisenHappensRead:         heisenRead,
	heisenHappensWrite:        heisenWrite,
	heisenHappensAtomicRead:   heisenAtomicRead,
	heisenHappensAtomicWrite:  heisenAtomicWrite,
	heisenHappensAtomicUpdate: heisenAtomicUpdate,
}

// heisenOrder takes a synchronisation of h through obj, where what is known of h can be
// changed: h is the current goroutine, or waits. fp leads to the place, 0 if that is elsewhere.
//
//go:nosplit
func heisenOrder(h *heisenG, op uint64, obj, fp uintptr) {
	if op == heisenOpCollected {
		systemstack(func() {
			heisenHappens.Renew(&h.order, h.id)
			heisenHappens.Collected(&h.order)
		})
		return
	}
	c := heisenCellAt(obj)
	if c == &heisenNoCell || op > heisenOpChanceReceive { // those only tell more of what was in order
		return
	}
	if heisenLocking>>op&1 != 0 { // it takes part in races like an atomic operation
		if b := heisenBufOfG(h); b != nil {
			heisenOrderLock(b, h, op, obj, fp, c, c.Lock())
		}
		return
	}
	t, head := &heisenHappens, c.Lock()
	if !t.Stale(&h.order) && t.SyncInPlace(&h.order, head, uint64(obj), heisenSyncs[op]) {
		c.Unlock(head)
		return
	}
	systemstack(func() {
		if t.Stale(&h.order) {
			t.Renew(&h.order, h.id)
		}
		if head == 0 {
			heisenMarkBlock(obj)
		}
		c.Unlock(t.Sync(&h.order, head, uint64(obj), heisenSyncs[op]))
	})
}

// heisenOrderLock takes an operation of h on a lock, the cell of which is locked and has the given
// head, and unlocks the cell.
//
//go:nosplit
func heisenOrderLock(b *heisenBuf, h *heisenG, op uint64, addr, fp uintptr, c *heisenHappensCell, head uint64) {
	if op == heisenOpRelease && !h.giveBack(addr, false) || op == heisenOpReleaseShared && !h.giveBack(addr, true) {
		heisenHappens.Foreign()
	}
	var pc uintptr
	if heisenTaking>>op&1 != 0 {
		pc = heisenCaller(fp)
	}
	place := uint64(0) // if it is noted; in an epoch that is about to begin nothing is
	if heisenHappens.Stale(&h.order) || !c.NotedAtomic(&h.order, head, 1<<(addr&7), heisenHappensAtomicUpdate) {
		place = heisenPlaceOf(b, h, pc, fp)
	}
	head, done := heisenLockAgain(h, heisenSyncs[op], addr, place, c, head)
	if done {
		c.Unlock(head)
	} else {
		if place == 0 { // it may not be noted any more
			place = heisenPlaceOf(b, h, pc, fp)
		}
		heisenAtomicAnew(b, h, heisenSyncs[op], addr, place, c, head)
	}
	if heisenTaking>>op&1 != 0 {
		h.take(addr, heisenSyncs[op] == heisenHappensAcquireShared, heisenPC(pc))
	}
}

// heisenLockAgain is heisenOrderLock where that takes no memory, and h races with nobody; a place of
// 0 says that it is noted. It returns the new head, and whether that was all: otherwise
// heisenAtomicAnew is to be called, to which what was done makes no difference.
//
//go:nosplit
func heisenLockAgain(h *heisenG, how uint32, addr uintptr, place uint64, c *heisenHappensCell, head uint64) (uint64, bool) {
	t := &heisenHappens
	takes := how <= heisenHappensAcquireShared
	if head == 0 || t.Stale(&h.order) || takes && !t.SyncInPlace(&h.order, head, uint64(addr), how) {
		return head, false
	}
	// Who has taken a lock again may have noted that before.
	if place != 0 && !(takes && c.NotedAtomic(&h.order, head, 1<<(addr&7), heisenHappensAtomicUpdate)) {
		next := t.AccessAgain(&h.order, c, head, place, 1<<(addr&7), heisenHappensAtomicUpdate)
		if next == 0 {
			return head, false
		}
		head = next
	}
	return head, takes || t.SyncInPlace(&h.order, head, uint64(addr), how)
}

// heisenAtomicAnew takes an operation of h on the word of a locked cell, with the given head, that
// synchronises in any way and is an atomic access, and unlocks the cell. Inlined, it would take stack
// where there is little.
//
//go:nosplit
//go:noinline
func heisenAtomicAnew(b *heisenBuf, h *heisenG, how uint32, addr uintptr, place uint64, c *heisenHappensCell, head uint64) {
	systemstack(func() {
		kind := uint32(heisenHappensAtomicUpdate)
		switch how {
		case heisenHappensSee:
			kind = heisenHappensAtomicRead
		case heisenHappensStore:
			kind = heisenHappensAtomicWrite
		}
		t := &heisenHappens
		if t.Stale(&h.order) {
			t.Renew(&h.order, h.id)
		}
		if head == 0 {
			heisenMarkBlock(addr)
		}
		if how == heisenHappensExchange {
			head = t.Sync(&h.order, head, uint64(addr), heisenHappensSee)
			how = heisenHappensSend
		} else if how <= heisenHappensSee {
			head = t.Sync(&h.order, head, uint64(addr), how)
		}
		if !c.NotedAtomic(&h.order, head, 1<<(addr&7), kind) {
			head = t.AccessLocked(&h.order, c, head, uint64(addr)&^7, place, 1<<(addr&7), kind, &b.races)
			if b.races.Count != 0 {
				b.compare(kind, place, addr, 1)
			}
		}
		if how > heisenHappensSee {
			head = t.Sync(&h.order, head, uint64(addr), how)
		}
		c.Unlock(head)
		if b.races.Count != 0 {
			heisenTellRaces(b, h)
		}
	})
}

// heisenAtomicLock locks the cell of an atomic operation that the current goroutine is about to
// make, and reports whether that is followed.
//
//go:nosplit
func heisenAtomicLock(addr uintptr) bool {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.on || h == nil || h.mute || gp.raceignore != 0 || gp.m.p == 0 || heisenOnStack(addr) {
		return false
	}
	b, c := heisenBufOfG(h), heisenCellAt(addr)
	if b == nil || c == &heisenNoCell {
		return false
	}
	b.compared.cell, b.compared.head = c, c.Lock()
	return true
}

// heisenAtomicUnlock is its other half.
//
//go:nosplit
func heisenAtomicUnlock(h *heisenG, op uint64, addr, fp uintptr) {
	b := heisenBufOfP()
	kind := uint32(op - heisenOpAtomicRead + heisenHappensAtomicRead)
	t, c, head := &heisenHappens, b.compared.cell, b.compared.head
	stale, noted, place := t.Stale(&h.order), false, uint64(0)
	if !stale {
		noted = c.NotedAtomic(&h.order, head, 1<<(addr&7), kind)
	}
	if !noted {
		place = heisenPlaceOf(b, h, 0, fp)
	}
	if head != 0 && !stale {
		next, done := t.AtomicInPlace(&h.order, c, head, uint64(addr), place, kind, noted)
		if done {
			c.Unlock(next)
			return
		}
		head = next
	}
	if noted { // perhaps it is not any more
		place = heisenPlaceOf(b, h, 0, fp)
	}
	heisenAtomicAnew(b, h, heisenSyncs[op], addr, place, c, head)
}

// heisenSyncs is how the recorder's ops synchronise.
var heisenSyncs = [...]uint32{
	heisenOpAtomicRead:       heisenHappensSee,
	heisenOpAtomicWrite:      heisenHappensStore,
	heisenOpAtomicUpdate:     heisenHappensExchange,
	heisenOpAcquire:          heisenHappensAcquire,
	heisenOpTryAcquire:       heisenHappensAcquire,
	heisenOpAcquireShared:    heisenHappensAcquireShared,
	heisenOpTryAcquireShared: heisenHappensAcquireShared,
	heisenOpReceive:          heisenHappensSee,
	heisenOpChanceReceive:    heisenHappensSee,
	heisenOpRelease:          heisenHappensRelease,
	heisenOpReleaseShared:    heisenHappensReleaseShared,
	heisenOpSend:             heisenHappensSend,
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
