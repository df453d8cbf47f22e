//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Races that the program finds itself: accesses. The state is in heisenFastTrack (package
// internal/core/fasttrack); each word of the heap and of the data segments has a shadow cell. Only
// findings are sent. The functions run in hooks, on the goroutine's stack, nosplit, with the frame
// sizes as small as possible: what needs more is noinline and switches to the system stack. No
// locks are held but those of cells.
//
// A synchronization and the order that it creates are one step under the lock of the object's cell
// (syncorder.go).

var heisenFastTrack heisenFastTrackTable

// raceRange is raceread, racewrite and heisenRaceByte for size bytes, as far as that is cheap. It
// returns the number of bytes done. If pc is 0, it is not known yet, and raceRange only handles
// redundant accesses.
//
//go:nosplit
func (h *heisenG) raceRange(write bool, addr, size, pc uintptr) uintptr {
	t := &heisenFastTrack
	if !heisen.mode.racesFirst() || !h.order.UpToDate(t) {
		return 0
	}
	c := heisenCellAt(addr)
	if c == &heisenNoCell {
		return 0
	}
	all := size
	size = heisenShadow.within(addr, size)
	// Most words are accessed as a whole, and the first entry of most makes that redundant.
	done := uintptr(0)
	if addr&7 == 0 {
		for ; size-done >= 8 && c.SameEpochWord(&h.order, write); done += 8 {
			c = heisenFastTrackNextCell(c)
		}
		if done == size {
			return all
		}
	}
	b := heisenBufOfP()
	if heisen.mode != heisenModeFollow || b == nil || !h.started || pc == 0 || heisenOnStack(addr) {
		return done
	}
	place := heisenPlaceWithLocks(b, h, pc)
	entry := h.order.Epoch | place
	heisenMarkUsedRange(addr+done, size-done)
	for at, end := addr+done, addr+size; at < end; {
		if n := (end - at) / 8; at&7 == 0 && n > 0 {
			n = t.AccessPlainWords(&h.order, c, n, entry, write)
			at, c = at+8*n, heisenCellAfter(c, n)
			if at == end {
				break
			}
		}
		next := min(at&^7+8, end)
		mask := heisenBytesOf(at, next)
		if !t.AccessPlain(&h.order, c, entry, mask, write) {
			heisenRaceInCell(b, h, c, addr, size, at, place, uint32(mask), write)
		}
		at, c = next, heisenFastTrackNextCell(c)
	}
	return all
}

// heisenCellAfter returns the cell of the word n words behind that of c.
//
//go:nosplit
func heisenCellAfter(c *heisenFastTrackCell, n uintptr) *heisenFastTrackCell {
	return (*heisenFastTrackCell)(unsafe.Pointer(uintptr(unsafe.Pointer(c)) + n*heisenCellSize))
}

// heisenBytesOf returns the mask of the bytes of a word from at up to next.
//
//go:nosplit
func heisenBytesOf(at, next uintptr) uint64 {
	return 0xFF >> ((at - next) & 7) << (at & 7) & 0xFF
}

// heisenBufOfG returns the buffer of the current P, nil if there is none. It makes h known to the
// receiver before a finding names h.
//
//go:nosplit
func heisenBufOfG(h *heisenG) *heisenBuf {
	b := heisenBufOfP()
	if b == nil || !h.started {
		b = heisenFirst(h)
	}
	return b
}

// heisenRaceByte is an access of h, which is the current goroutine and up to date, to a byte in the
// word of c that the first entry does not make redundant. It is used if only races are looked for,
// and does what heisenAccess and heisenRaceAccess do. It returns false if they must be called
// instead.
//
//go:nosplit
func heisenRaceByte(h *heisenG, c *heisenFastTrackCell, write bool, addr, pc uintptr) bool {
	t, mask := &heisenFastTrack, uint64(1)<<(addr&7)
	var at *atomic.Uint64
	head, old := c.Load()
	if heisenFastTrackHasBytes(head) && c.SameEpochInBytes(&h.order, head, old, uint64(addr&7), write) {
		return true
	}
	first := old
	what := mask
	if write {
		what |= heisenFastTrackWrite << heisenFastTrackKindShift
	}
	refresh := h.order.CanRefreshFirst(head, old, what)
	if !refresh && heisenFastTrackHasSideEntries(head) {
		var same bool
		if same, at, head, old = c.Lookup(&h.order, mask, write); same {
			return true
		}
	}
	b := heisenBufOfP()
	if b == nil || !h.started {
		return false
	}
	if h.handed.Load() != 0 {
		heisenForgetHanded(h)
	}
	var place uint64
	key := heisenLockedPlaceKey(h.top, pc, h.lockset)
	if u := b.lockedPlace(key); u.key == key {
		place = u.use(h)
	} else {
		place = heisenFindLockedPlace(b, h, pc, h.currentLockset(b))
	}
	entry := h.order.Epoch | place
	if heisenFastTrackHasBytes(head) && t.AccessBytes(&h.order, c, head, entry, mask, write) {
		return true
	}
	if refresh && c.Refresh(&h.order, &c.first, head, old, entry) || at != nil && t.RefreshFound(&h.order, c, at, head, old, entry) {
		return true
	}
	if c.Empty() {
		heisenMarkUsed(addr)
	}
	if first == entry && t.AccessWiden(&h.order, c, entry, mask, write) || t.AccessOwn(&h.order, c, entry, mask, write) ||
		t.AccessPlainEntries(&h.order, c, entry, mask, write) {
		return true
	}
	heisenRaceInCell(b, h, c, addr, 1, addr, place, uint32(mask), write)
	return true
}

// heisenRaceInCell is an access for which AccessPlainEntries does not suffice, to the word at at.
//
//go:nosplit
func heisenRaceInCell(b *heisenBuf, h *heisenG, c *heisenFastTrackCell, addr, size, at uintptr, place uint64, mask uint32, write bool) {
	kind := uint32(heisenFastTrackRead)
	if write {
		kind = heisenFastTrackWrite
	}
	if !heisenFastTrack.AccessInCell(&h.order, c, uint64(at&^7), place, mask, kind, &b.races) || b.races.Count != 0 {
		heisenRaceLocked(b, h, c, addr, size, at, place, mask, kind)
	}
}

// heisenOnStack reports whether addr is on the current goroutine's stack.
//
//go:nosplit
func heisenOnStack(addr uintptr) bool {
	gp := getg()
	return addr-gp.stack.lo < gp.stack.hi-gp.stack.lo
}

// heisenRaceAccess is an access of h, which is the current goroutine.
//
//go:nosplit
func heisenRaceAccess(h *heisenG, kind uint32, addr, size, pc uintptr) {
	b := heisenBufOfG(h)
	if b == nil {
		return
	}
	t := &heisenFastTrack
	if t.Stale(&h.order) {
		systemstack(func() { t.BeginEpoch(&h.order, h.id) })
	}
	c := heisenCellAt(addr)
	if c == &heisenNoCell {
		return
	}
	size = heisenShadow.within(addr, size)
	place := heisenPlaceWithLocks(b, h, pc)
	for at, end := addr, addr+size; at < end; c = heisenFastTrackNextCell(c) {
		next := min(at&^7+8, end)
		mask := heisenBytesOf(at, next)
		if c.Empty() {
			heisenMarkUsed(at)
		}
		if !t.AccessPlain(&h.order, c, h.order.Epoch|place, mask, kind == heisenFastTrackWrite) {
			heisenRaceLocked(b, h, c, addr, size, at, place, uint32(mask), kind)
		}
		at = next
	}
}

// heisenRaceLocked reports the races in b.races, or, if there are none, makes the access with
// AccessLocked and reports what it finds. Inlined, it would take stack where little is left.
//
//go:nosplit
//go:noinline
func heisenRaceLocked(b *heisenBuf, h *heisenG, c *heisenFastTrackCell, addr, size, at uintptr, place uint64, mask, kind uint32) {
	systemstack(func() {
		t := &heisenFastTrack
		if b.races.Count == 0 {
			c.Unlock(t.AccessLocked(&h.order, c, c.Lock(), uint64(at&^7), place, mask, kind, &b.races))
		}
		if b.races.Count != 0 {
			b.setRacing(kind, place, addr, size)
			heisenReportRaces(b, h)
		}
	})
}

// heisenRacingAccess is the access whose races are reported.
type heisenRacingAccess struct {
	kind         uint32
	place        uint64
	addr, size   uintptr
	lastReported uint64 // the entry of the last reported race
	// The cell that an atomic operation has locked, and its head.
	cell *heisenFastTrackCell
	head uint64
}

// setRacing sets the access whose races are reported.
//
//go:nosplit
func (b *heisenBuf) setRacing(kind uint32, place uint64, addr, size uintptr) {
	a := &b.racing
	if a.place != place || a.addr != addr {
		a.lastReported = 0
	}
	a.kind, a.place, a.addr, a.size = kind, place, addr, size
}

// heisenReportRaces sends or prints the races of b.racing, which the current hook of h has found.
func heisenReportRaces(b *heisenBuf, h *heisenG) {
	heisenReports.Add(1)
	n := b.races.Count
	b.races.Count, b.races.Bytes = 0, 0
	if !heisen.on || heisenFastTrack.Exhausted() {
		return // the connection is closed, or lost state may have ordered the accesses
	}
	a := &b.racing
	accessID := uint64(h.id)<<32 | uint64(heisenKindOps[a.kind])<<heisenPlaceBits
	news := false
	for i := range n {
		r := &b.races.At[i]
		if r.Entry == a.lastReported {
			continue // the same race in the word before
		}
		a.lastReported = r.Entry
		id, known := heisenFastTrack.Owner(r.Entry)
		if !known {
			id = heisenUnknownG
		}
		other := uint64(id)<<32 | uint64(heisenKindOps[r.Kind])<<heisenPlaceBits
		place, otherPlace := a.place, r.Entry&heisenFastTrackPlaceMask
		at := r.Addr + uint64(heisenAtomRaceLowestBit(r.Bytes))
		if heisen.mode == heisenModeFollow {
			heisenPrintKept()
		}
		if !heisenAlone.sawRace(accessID|place, other|otherPlace) {
			place = heisenNameLabels(b, heisenNameLocks(b, h.id, h.order.Epoch|place), heisenLabelsOf(getg().m.curg))
			otherPlace = heisenNameLabels(b, heisenNameLocks(b, id, r.Entry), heisenLabelsAt(id, r.Entry))
			if heisen.mode == heisenModeFollow && heisenNoteRace(heisenFoundRace{accessID | place, other | otherPlace, a.addr, uintptr(at)}) {
				continue
			}
			news = true
		} else if heisenAlone.on {
			continue
		}
		heisenPutOverlap(b, h, uint64(a.addr), accessID|place, other|otherPlace, uint64(min(a.size, 1<<16-1))<<48|at, heisenByOrder)
	}
	if news && heisen.mode == heisenModeFollow { // what was found is not lost if the program is killed now
		heisenFlush(b)
		heisenDrain()
	}
}

// heisenSendRaceStats sends what may have kept races from being found.
func heisenSendRaceStats() {
	words := [3]uint64{heisenFastTrack.SlotSharers.Load()}
	if heisenFastTrack.Exhausted() {
		words[1] |= heisenOutOfClocks
	}
	if heisenShadow.beyond {
		words[1] |= heisenBeyondShadow
	}
	words[2] = heisenFastTrack.ForgottenEpochs.Load()
	heisenSend(heisenMsgRaces, 0, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
}

// heisenKindOps has the ops of package heisen, by the kinds of package internal/core/fasttrack.
var heisenKindOps = [...]uint8{
	heisenFastTrackRead:         heisenRead,
	heisenFastTrackWrite:        heisenWrite,
	heisenFastTrackAtomicRead:   heisenAtomicRead,
	heisenFastTrackAtomicWrite:  heisenAtomicWrite,
	heisenFastTrackAtomicUpdate: heisenAtomicUpdate,
}
