//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Cells. What only one goroutine uses need not leave the program: a detector
// that follows happens-before needs of a goroutine's accesses to some bytes no
// more than the last write and the last read since, with their places and the
// epochs of the goroutine in which they were. Every word of the heap and of the
// data segments has a cell that notes them, until another goroutine comes.
//
// An epoch is how many times the goroutine has published what it did. The
// receiver counts the same records, so it knows what an epoch means in clocks.
//
// A cell belongs to one goroutine at a time, its owner.
//   - The owner's accesses are noted. A note takes the place of earlier ones of the
//     same bytes: a write of any, a read of reads.
//   - When another goroutine comes, it sends what is noted, as late accesses, and
//     then its own, and becomes the owner. From then on the cell is shared: the
//     receiver knows accesses of others. The first read and the first write of each
//     byte by the new owner are sent as they happen, so that they are compared with
//     those. Later ones need not be: what happens before an access happens before
//     the later ones of the same goroutine, and if the first races then the byte is
//     known to race.
//   - What a goroutine does while it holds locks is noted as well, but sent at once:
//     the receiver knows which locks those are.
//   - A word that goes to and fro, that several goroutines read, that is accessed
//     atomically, or in too many ways for the notes, is exposed: it has no owner,
//     and all its accesses are sent, but for those that filter.go finds redundant.
//
// Late accesses are not compared with what the receiver has, so nothing that it
// could miss may come before them: whoever sends some takes a stamp while it has
// the cell locked, and they come with a record that waits for this stamp. So what
// is sent of a word's owners comes owner by owner. (What an owner sends itself,
// and is compared, may come later.) Whoever accesses an exposed word makes sure
// of a stamp later than that of the exposure.
type heisenCell struct {
	head  uint64    // owner, flags; 0 if nothing has happened to the word
	notes [3]uint64 // a write, a read, either; of an exposed word the first is h.turn at the exposure
}

// The parts of a head. The owner's number is one more than the goroutine's.
const (
	heisenLocked     = 1 << 39
	heisenNoOwner    = 1 << 38 // in no head
	heisenIsShared   = 1 << 1
	heisenExposed    = 1 << 2
	heisenTurns      = 1 << 3 // times that something was sent late
	heisenMaxTurns   = 4
	heisenTurnsMask  = 7 * heisenTurns
	heisenOwnerShift = 40
	heisenWhoseShift = 38 // owner, locked
	heisenOwnerMask  = (1<<24 - 1) << heisenOwnerShift
	heisenMaxOwner   = 1<<24 - 1 // goroutines with higher numbers expose what they access
)

// The parts of a note, with the place above. There is none if no byte is set.
const (
	heisenBytes      = 1<<8 - 1
	heisenIsWrite    = 1 << 8
	heisenDelivered  = 1 << 9 // the receiver has it already
	heisenEpoch      = 1 << 10
	heisenEpochMask  = (1<<30 - 1) * heisenEpoch
	heisenPlaceShift = 40
)

// heisenMaxLate is how many words a turn with all notes of a cell takes.
const heisenMaxLate = 2 + 3*3

// note is &c.notes[i], without the check of an index: stack is short here.
//
//go:nosplit
func (c *heisenCell) note(i int) *uint64 {
	return (*uint64)(add(unsafe.Pointer(&c.notes), uintptr(i)*8))
}

// heisenRegion is a range of addresses with cells.
type heisenRegion struct {
	lo, span uintptr
	zero     uintptr // where the cell of address 0 would be
}

var heisenCells struct {
	heap, data heisenRegion
	fast       bool // notes are looked at before all else
	pages      unsafe.Pointer
}

// heisenNoCell stands for the cells of words that have none.
var heisenNoCell = heisenCell{head: heisenExposed}

const (
	heisenCellSize   = unsafe.Sizeof(heisenCell{})
	heisenPageShift  = 13
	heisenMaxHeap    = 1 << 38
	heisenMinHeap    = 1 << 32
	heisenCollector  = 1 << 55 // the message to finalizers
	heisenPageNoted  = 1       // there are cells that are not empty
	heisenPageSent   = 2       // the receiver knows addresses there
	heisenPublishing = 1<<heisenOpAtomicWrite | 1<<heisenOpAtomicUpdate | 1<<heisenOpRelease |
		1<<heisenOpReleaseShared | 1<<heisenOpSend | 1<<heisenOpFork
	heisenLocking = 1<<heisenOpAcquire | 1<<heisenOpRelease | 1<<heisenOpAcquireShared | 1<<heisenOpReleaseShared |
		1<<heisenOpTryAcquire | 1<<heisenOpTryAcquireShared
)

// heisenInitCells reserves address space for the cells, and reports whether there
// was some.
func heisenInitCells() bool {
	c := &heisenCells
	data, heap := racedatastart&^7, racearenastart&^(1<<heisenPageShift-1)
	if !c.data.reserve(data, alignUp(racedataend-data, 8)) {
		return false
	}
	for span := uintptr(heisenMaxHeap); span >= heisenMinHeap; span /= 2 {
		if c.heap.reserve(heap, span) {
			c.pages = heisenReserve(span >> heisenPageShift)
			return c.pages != nil
		}
	}
	return false
}

// reserve reserves address space for the cells, and reports whether there was some.
func (r *heisenRegion) reserve(lo, span uintptr) bool {
	cells := uintptr(heisenReserve(span / 8 * heisenCellSize))
	if cells == 0 {
		return false
	}
	r.lo, r.span, r.zero = lo, span, cells-lo*(heisenCellSize/8)
	return true
}

//go:nosplit
func (r *heisenRegion) cell(addr uintptr) *heisenCell {
	return (*heisenCell)(unsafe.Pointer(r.zero + addr&^7*(heisenCellSize/8)))
}

// heisenCellAt returns the cell of the word at addr. If it has none, it is as if it
// were exposed.
//
//go:nosplit
func heisenCellAt(addr uintptr) *heisenCell {
	r := &heisenCells.heap
	if addr-r.lo >= r.span {
		r = &heisenCells.data
		if addr-r.lo >= r.span {
			return &heisenNoCell
		}
	}
	return r.cell(addr)
}

// heisenCellsAt returns the cell of the word at addr, and how far there are others behind
// it for what follows, at most up to end.
//
//go:nosplit
func heisenCellsAt(addr, end uintptr) (c *heisenCell, last uintptr) {
	r := &heisenCells.heap
	if addr-r.lo >= r.span {
		r = &heisenCells.data
		if addr-r.lo >= r.span {
			return &heisenNoCell, addr
		}
	}
	return r.cell(addr), min(end, r.lo+r.span)
}

// next returns the cell of the word behind that of c.
//
//go:nosplit
func (c *heisenCell) next() *heisenCell {
	return (*heisenCell)(add(unsafe.Pointer(c), heisenCellSize))
}

// heisenStoreRelease stores so that what was stored before is seen by whoever sees
// this. On amd64 that is any store, and the compiler keeps their order; package atomic
// would make it an exchange.
//
//go:nosplit
func heisenStoreRelease(p *uint64, v uint64) {
	if GOARCH == "amd64" {
		*p = v
	} else {
		atomic.StoreRel64(p, v)
	}
}

// begin begins an epoch of h, whose owner is set.
//
//go:nosplit
func (h *heisenG) begin(epoch uint64) {
	h.epoch, h.noted = epoch, epoch|heisenIsWrite|heisenBytes
	h.claim = h.owner
	if h.owner == 0 || !heisenCells.fast {
		h.claim = heisenNoOwner
	}
}

// rangeNoted returns how many of the first of size bytes at addr are in words of which
// it is noted that h, the current goroutine, has accessed them so.
//
//go:nosplit
func (h *heisenG) rangeNoted(write bool, addr, size uintptr) uintptr {
	if h.claim == heisenNoOwner || h.lookup != heisen.collections {
		return 0
	}
	how := uint64(heisenEpochMask)
	if write {
		how |= heisenIsWrite
	}
	c, end := heisenCellsAt(addr, addr+size)
	at := addr
	bytes := uint64(heisenBytes) << (addr & 7) & heisenBytes
	for at < end {
		word := at &^ 7
		if end-word < 8 {
			bytes &= heisenBytes >> ((word - end) & 7)
		}
		mask := how | bytes
		switch { // as in raceread and racewrite
		case (atomic.Load64(&c.notes[0])^h.noted)&mask == 0:
		case (atomic.Load64(&c.notes[1])^h.noted)&mask == 0: // never a write
		case (atomic.Load64(&c.notes[2])^h.noted)&mask == 0:
		default:
			return at - addr
		}
		if (atomic.Load64(&c.head)^h.claim)>>heisenWhoseShift != 0 {
			return at - addr
		}
		at, c, bytes = word+8, c.next(), heisenBytes
	}
	return min(at, addr+size) - addr
}

// heisenBytesOf returns the bytes, as they stand in notes, from at up to next in a word.
//
//go:nosplit
func heisenBytesOf(at, next uintptr) uint64 {
	return heisenBytes >> ((at - next) & 7) << (at & 7) & heisenBytes
}

// What is to be done about an access, after its cell has been seen to.
const (
	heisenWithhold = iota // nothing
	heisenTell            // it is to be sent
	heisenTellOnce        // it is to be sent unless it is redundant
)

// heisenCellAccess takes an access of h, which is the current goroutine.
//
//go:nosplit
func heisenCellAccess(h *heisenG, op uint64, addr, size uintptr, pc uint64) {
	b := heisenBufOfP()
	if b == nil || !h.started {
		// The receiver is to know that h is there before it hears of its accesses.
		if b = heisenOpen(h, 0); b == nil {
			return
		}
	}
	if h.lookup != heisen.collections {
		heisenCollectedFor(h)
	}
	place := heisenPlace(b, h, pc)
	note := h.epoch | place<<heisenPlaceShift
	if op == heisenOpWrite {
		note |= heisenIsWrite
	}
	if h.held > 0 { // or nobody would know which locks
		note |= heisenDelivered
	}
	// Neighbouring words of which the same is to be done make one record.
	from, do := addr, heisenWithhold
	end := addr + size
	for at := addr; at < end; {
		next, is := at+h.rangeNoted(op == heisenOpWrite, at, end-at), heisenWithhold
		if next == at {
			if next = h.renew(at, end, note); note&heisenDelivered != 0 {
				is = heisenTell
			}
		}
		if next == at {
			next = min(at&^7+8, end)
			c := heisenCellAt(at)
			if is = heisenNote(b, h, c, at&^7, note|heisenBytesOf(at, next)); is == heisenTellOnce {
				heisenAfterExposure(h, c)
			}
		}
		if is != do {
			heisenDo(b, h, do, op, from, at-from, pc, place)
			from, do = at, is
		}
		at = next
	}
	heisenDo(b, h, do, op, from, end-from, pc, place)
}

//go:nosplit
func heisenDo(b *heisenBuf, h *heisenG, do int, op uint64, addr, size uintptr, pc, place uint64) {
	if size == 0 {
		return
	}
	switch do {
	case heisenWithhold:
		if heisen.marks {
			heisenPutAccess(h, op+heisenOpReadAgain-heisenOpRead, addr, size, place)
		}
		return
	case heisenTell:
		heisenPutAccess(h, op, addr, size, place)
	case heisenTellOnce:
		heisenFiltered(b, h, op, addr, size, pc)
	}
	for page := addr >> heisenPageShift; page <= (addr+size-1)>>heisenPageShift; page++ {
		heisenMarkPage(page<<heisenPageShift, heisenPageSent)
	}
}

// heisenLockCell locks c, if its head is still the given one.
//
//go:nosplit
func heisenLockCell(c *heisenCell, head uint64) bool {
	if head&heisenLocked == 0 && atomic.Cas64(&c.head, head, head|heisenLocked) {
		return true
	}
	procyield(10)
	return false
}

// renew takes an access of h from addr up to end, as far as it is to words of its own, or
// of which nothing is noted, and the new notes take the place of all that they do not
// leave alone and do not repeat. It returns how far that is. note is what to note, but
// for the bytes.
//
//go:nosplit
func (h *heisenG) renew(addr, end uintptr, note uint64) uintptr {
	if h.owner == 0 {
		return addr
	}
	isWrite := note & heisenIsWrite
	c, last := heisenCellsAt(addr, end)
	at := addr
	bytes := uint64(heisenBytes) << (addr & 7) & heisenBytes
	for at < last {
		word := at &^ 7
		if last-word < 8 {
			bytes &= heisenBytes >> ((word - last) & 7)
		}
		head := atomic.Load64(&c.head)
		if head != 0 && head&^heisenTurnsMask != h.owner {
			break
		}
		if atomic.Load64(&c.notes[2]) != 0 {
			break
		}
		mask := heisenEpochMask | isWrite | bytes
		wrote, read := atomic.Load64(&c.notes[0]), atomic.Load64(&c.notes[1])
		if (wrote^h.noted)&mask == 0 {
			break
		}
		if isWrite != 0 {
			if (wrote|read)&^bytes&heisenBytes != 0 {
				break
			}
			if !atomic.Cas64(&c.head, head, head|heisenLocked) {
				break
			}
			if read != 0 {
				heisenStoreRelease(&c.notes[1], 0)
			}
			heisenStoreRelease(&c.notes[0], note|bytes)
		} else {
			if read&^bytes&heisenBytes != 0 {
				break
			}
			if (read^h.noted)&mask == 0 {
				break
			}
			if !atomic.Cas64(&c.head, head, head|heisenLocked) {
				break
			}
			heisenStoreRelease(&c.notes[1], note|bytes)
		}
		if head == 0 {
			heisenMarkPage(at, heisenPageNoted)
			head = h.owner
		}
		heisenStoreRelease(&c.head, head)
		at, c, bytes = word+8, c.next(), heisenBytes
	}
	if at > addr {
		h.last = h.epoch/heisenEpoch + 1
	}
	return min(at, end)
}

// heisenNote takes an access of h to the bytes of a word that stand in note.
//
//go:nosplit
func heisenNote(b *heisenBuf, h *heisenG, c *heisenCell, word uintptr, note uint64) int {
	for room := false; ; {
		head := atomic.Load64(&c.head)
		if head&heisenExposed != 0 {
			return heisenTellOnce
		}
		own := head&heisenOwnerMask == h.owner
		if !room && (!own && head&^heisenLocked != 0 || h.owner == 0) {
			if heisenOpen(h, heisenMaxLate) == nil {
				return heisenWithhold
			}
			room = true
		}
		if !heisenLockCell(c, head) {
			continue
		}
		switch {
		case h.owner == 0:
			heisenExpose(b, h, c, word, head)
			return heisenTellOnce
		case head == 0:
			// It was not when renew looked.
			heisenMarkPage(word, heisenPageNoted)
			head = h.owner
			fallthrough
		case own:
			is, done := heisenNoteOwn(b, h, c, word, head, note, room)
			if done {
				return is
			}
			if heisenOpen(h, heisenMaxLate) == nil {
				return heisenWithhold
			}
			room = true
			continue
		}
		// Another goroutine's.
		read := uint64(0) // whether there are only reads
		for i := range c.notes {
			read |= c.notes[i]
		}
		if head&heisenTurnsMask == heisenMaxTurns*heisenTurns || (note|read)&heisenIsWrite == 0 {
			heisenExpose(b, h, c, word, head)
			return heisenTellOnce
		}
		end := heisenPutLate(b, h, head, word, c.notes[0], c.notes[1], c.notes[2])
		for i := range c.notes {
			heisenStoreRelease(&c.notes[i], 0)
		}
		slot := &c.notes[1]
		if note&heisenIsWrite != 0 {
			slot = &c.notes[0]
		}
		heisenStoreRelease(slot, note|heisenDelivered)
		h.last = h.epoch/heisenEpoch + 1
		heisenStoreRelease(&c.head, h.owner|heisenIsShared|(head&heisenTurnsMask+heisenTurns))
		heisenCommitLate(b, h, end)
		return heisenTell
	}
}

// heisenNoteOwn takes an access by the owner of c, and unlocks c. Without room for
// a turn it may be that nothing is done.
//
//go:nosplit
func heisenNoteOwn(b *heisenBuf, h *heisenG, c *heisenCell, word uintptr, head, note uint64, room bool) (do int, done bool) {
	mask := note & heisenBytes
	slot := 1
	if note&heisenIsWrite != 0 {
		slot = 0
	}
	var noted, compared uint64 // bytes that were accessed like this in this epoch, and at all
	for _, n := range c.notes {
		if n&heisenIsWrite != 0 || note&heisenIsWrite == 0 {
			compared |= n & heisenBytes
			if n&heisenEpochMask == h.epoch {
				noted |= n & heisenBytes
			}
		}
	}
	if mask&^noted == 0 {
		heisenStoreRelease(&c.head, head)
		return heisenWithhold, true
	}
	do = heisenWithhold
	if note&heisenDelivered != 0 || head&heisenIsShared != 0 && mask&^compared != 0 {
		do = heisenTell
		note |= heisenDelivered
	}
	// What is left of the notes, and where the new one goes: with one that says the
	// same of other bytes, or where there is none, or in place of one that is sent.
	with := -1
	for i, n := range c.notes {
		if n&heisenBytes != 0 && n&^heisenBytes == note&^heisenBytes {
			with = i
		}
	}
	if with >= 0 {
		slot = with
		note |= *c.note(with)
	}
	var left heisenCell
	for i, n := range c.notes {
		if note&heisenIsWrite != 0 || n&heisenIsWrite == 0 {
			n &^= mask
		}
		if n&heisenBytes != 0 && i != with {
			left.notes[i] = n
		}
	}
	end := uintptr(0)
	if *left.note(slot) != 0 && (left.notes[2] == 0 || *left.note(slot)&heisenDelivered == 0 &&
		(left.notes[2]&heisenDelivered != 0 || left.notes[2]&heisenEpochMask < *left.note(slot)&heisenEpochMask)) {
		slot = 2
	}
	if *left.note(slot) != 0 && *left.note(slot)&heisenDelivered == 0 {
		if !room {
			heisenStoreRelease(&c.head, head)
			return heisenWithhold, false
		}
		if head&heisenTurnsMask == heisenMaxTurns*heisenTurns {
			heisenExpose(b, h, c, word, head)
			return heisenTellOnce, true
		}
		head += heisenTurns
		end = heisenPutLate(b, h, head, word, *left.note(slot), 0, 0)
	}
	*left.note(slot) = note
	for i := range left.notes {
		heisenStoreRelease(&c.notes[i], left.notes[i])
	}
	h.last = h.epoch/heisenEpoch + 1
	heisenStoreRelease(&c.head, head)
	if end != 0 {
		heisenCommitLate(b, h, end)
	}
	return do, true
}

// heisenPutLate writes a turn, and those of three notes of a word that the
// receiver has not got. The cell is locked, and there is room. The words are
// complete with heisenCommitLate, when the cell has been unlocked.
//
//go:nosplit
func heisenPutLate(b *heisenBuf, h *heisenG, head uint64, word uintptr, x, y, z uint64) (end uintptr) {
	stamp := heisenStamp()
	h.turn = stamp + 1
	end = b.pos + 2
	w := b.word(b.pos)
	heisenWords2(w, heisenOpTurn<<heisenOpShift, stamp)
	w = add(w, 2*8)
	for range 3 {
		if x&heisenBytes != 0 && x&heisenDelivered == 0 {
			op := uint64(heisenOpReadLate)
			if x&heisenIsWrite != 0 {
				op = heisenOpWriteLate
			}
			heisenWords2(w, op<<heisenOpShift|uint64(word), x>>heisenPlaceShift<<32|x&heisenBytes)
			*(*uint64)(add(w, 2*8)) = (head>>heisenOwnerShift-1)<<32 | x&heisenEpochMask/heisenEpoch
			w, end = add(w, 3*8), end+3
		}
		x, y, z = y, z, 0
	}
	heisenMarkPage(word, heisenPageSent)
	return end
}

//go:nosplit
func heisenWords2(p unsafe.Pointer, x, y uint64) {
	*(*[2]uint64)(p) = [2]uint64{x, y}
}

//go:nosplit
func heisenCommitLate(b *heisenBuf, h *heisenG, end uintptr) {
	h.words += uint64(end - b.pos)
	b.commit(end)
	b.wrote()
}

// heisenAfterExposure makes what h sends from here on come after the exposure of
// the word of c.
//
//go:nosplit
func heisenAfterExposure(h *heisenG, c *heisenCell) {
	if h.turn >= atomic.Load64(&c.notes[0]) {
		return
	}
	if b := heisenOpen(h, 2); b != nil {
		stamp := heisenStamp()
		h.turn = stamp + 1
		heisenWords2(b.word(b.pos), heisenOpTurn<<heisenOpShift, stamp)
		heisenCommitLate(b, h, b.pos+2)
	}
}

// heisenExpose exposes the word of c, which is locked, and unlocks it. There is
// room for a turn.
//
//go:nosplit
func heisenExpose(b *heisenBuf, h *heisenG, c *heisenCell, word uintptr, head uint64) {
	end := heisenPutLate(b, h, head, word, c.notes[0], c.notes[1], c.notes[2])
	heisenStoreRelease(&c.notes[0], h.turn)
	heisenStoreRelease(&c.notes[1], 0)
	heisenStoreRelease(&c.notes[2], 0)
	heisenStoreRelease(&c.head, heisenExposed)
	heisenMarkPage(word, heisenPageNoted)
	heisenCommitLate(b, h, end)
}

// heisenExposeAt exposes the word at addr before h accesses it atomically.
//
//go:nosplit
func heisenExposeAt(h *heisenG, addr uintptr) {
	if h.lookup != heisen.collections {
		heisenCollectedFor(h)
	}
	c := heisenCellAt(addr)
	if atomic.Load64(&c.head)&heisenExposed != 0 {
		return
	}
	b := heisenOpen(h, heisenMaxLate)
	if b == nil {
		return
	}
	for {
		head := atomic.Load64(&c.head)
		if head&heisenExposed != 0 {
			return
		}
		if heisenLockCell(c, head) {
			heisenExpose(b, h, c, addr&^7, head)
			return
		}
	}
}

// heisenCellSync is told of every synchronisation record of h.
//
//go:nosplit
func heisenCellSync(h *heisenG, op uint64, obj uintptr, stamp, pc uint64) {
	h.turn = stamp + 1
	switch { // locks that the standard library has for itself do not count
	case heisenLocking>>op&1 == 0 || heisenLayer(firstmoduledata.text+uintptr(pc)) != heisenProgram:
	case op == heisenOpRelease || op == heisenOpReleaseShared:
		h.held -= min(h.held, 1)
	default:
		h.held++
	}
	if heisenPublishing>>op&1 != 0 {
		epoch := h.epoch + heisenEpoch
		if epoch > heisenEpochMask {
			h.owner, epoch = 0, 0 // there are no more
		}
		h.begin(epoch)
	}
	heisenMarkPage(obj, heisenPageSent)
}

// heisenCollectedFor makes h publish what it did before finalizers ran. They are
// ordered after that, without any record of h, so what it does from here on must
// be told apart.
//
//go:nosplit
func heisenCollectedFor(h *heisenG) {
	h.lookup = heisen.collections
	if !h.started {
		return
	}
	heisenSync(h, heisenOpSend, heisenCollector, 0)
}

// heisenMarkPage sets a flag of the page that addr is in, if it is in the heap.
//
//go:nosplit
func heisenMarkPage(addr uintptr, flag uint8) {
	r := &heisenCells.heap
	if addr-r.lo < r.span {
		p := (*uint8)(add(heisenCells.pages, (addr-r.lo)>>heisenPageShift))
		if atomic.Load8(p)&flag == 0 {
			atomic.Or8(p, flag)
		}
	}
}

// heisenClear begins a life of addresses: it empties their cells. It reports
// whether the receiver may know of a former life.
//
//go:nosplit
func heisenClear(addr, size uintptr) (known bool) {
	r := &heisenCells.heap
	if addr-r.lo >= r.span || size > r.span-(addr-r.lo) {
		return true
	}
	if size >= 16 {
		size = alignUp(size, 8) // only smaller objects share words
	}
	for size > 0 {
		n := min(size, 1<<heisenPageShift-addr&(1<<heisenPageShift-1))
		page := atomic.Load8((*uint8)(add(heisenCells.pages, (addr-r.lo)>>heisenPageShift)))
		known = known || page&heisenPageSent != 0
		if page&heisenPageNoted != 0 {
			heisenClearCells(r, addr, n)
		}
		addr, size = addr+n, size-n
	}
	return known
}

//go:nosplit
func heisenClearCells(r *heisenRegion, addr, size uintptr) {
	for size > 0 {
		if n := size &^ 7; addr&7 == 0 && n > 0 {
			memclrNoHeapPointers(unsafe.Pointer(r.cell(addr)), n>>3*heisenCellSize)
			addr, size = addr+n, size-n
			continue
		}
		n := min(size, 8-addr&7)
		r.cell(addr).clear((uint64(1)<<n - 1) << (addr & 7))
		addr, size = addr+n, size-n
	}
}

// clear forgets what is noted of some bytes. Other bytes of the word may belong to
// another object.
//
//go:nosplit
func (c *heisenCell) clear(bytes uint64) {
	for {
		head := atomic.Load64(&c.head)
		if head == 0 || head&heisenExposed != 0 {
			return
		}
		if !heisenLockCell(c, head) {
			continue
		}
		left := uint64(0)
		for i := range c.notes {
			n := c.notes[i] &^ bytes
			if n&heisenBytes == 0 {
				n = 0
			}
			heisenStoreRelease(&c.notes[i], n)
			left |= n
		}
		if left == 0 {
			head = 0
		}
		heisenStoreRelease(&c.head, head)
		return
	}
}
