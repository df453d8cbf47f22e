//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The order of locks. A program that sends only findings also sends what a detector of potential
// deadlocks needs (package lockset, LockOrder), if the receiver asks for that. What makes no difference
// to its findings is left out:
//
//   - An acquisition tells something if the goroutine holds other locks, or if it is of a read-write lock
//     for writing, since such a writer keeps new readers out while it waits for the others. The locks that
//     are held then are sent before it, with an op that says that nobody had to wait for them. An
//     acquisition is not repeated if the goroutine has made the same one at the same place with the same
//     locks, and no message has since told others of it, or the goroutine of others.
//   - A message tells something if the receiver learns of acquisitions that were sent. What a goroutine
//     or an object knows of them has a number, the news. A number always stands for the same acquisitions.
//     Whether all in one are also in another is known of some numbers. If it is not known, the message is
//     sent, which does no harm.
//   - Memory is allocated anew if something in it has synchronized, and the receiver knows it.
//
// A goroutine that begins knows what its creator knows. That is a message by an object of its own, which
// only goroutines read that send something themselves. The hooks run as those of syncorder.go do.

const (
	heisenNewsBits  = 12 // of the tables of numbers
	heisenNewsParts = 7  // of a number that is known to be several

	// heisenNewsObject, and above it a number, is the object that passes on the news with that number to
	// goroutines that begin. No address has this value.
	heisenNewsObject = 1 << 54

	// heisenLocksRoom is how many words a hook writes that holds the lock of a cell.
	heisenLocksRoom = 8 * (heisenMaxHeld + 8)
)

// heisenNews is the state of the news.
var heisenNews struct {
	numbers  uint32 // that were given
	sent     uint32 // 1 if an acquisition was sent
	beside   uint32 // 1 if a message was sent through memory without cells
	renewals uint32 // of memory, and collections, that the receiver knows
	lock     uint32 // guards sets and contents

	sets     [1 << heisenNewsBits]heisenNewsSet // by number
	contents [1 << heisenNewsBits]uint32        // numbers of sets, by their parts
	// part<<32 | whole: all acquisitions in the number part are in whole. Threads overwrite each other's.
	within    [1 << heisenNewsBits]uint64
	published [1 << heisenNewsBits]uint32 // numbers that objects pass on
	// Hashes of acquisitions that were sent; see heisenAcquisitionKey.
	seen [1 << heisenNewsBits]uint64
}

// heisenNewsSet says of which numbers a number consists, in order. The rest is 0.
type heisenNewsSet struct {
	number uint32
	parts  [heisenNewsParts]uint32
}

// heisenSyncLocks is heisenSyncOrder, as far as races are looked for, and sends what the order of locks
// needs.
//
//go:nosplit
func heisenSyncLocks(h *heisenG, op uint64, obj, fp uintptr) {
	switch {
	case heisenAcquireOps>>op&1 != 0:
		heisenAcquiredInOrder(h, op, obj, fp)
	case heisenLockOps>>op&1 != 0:
		heisenReleaseInOrder(h, op, obj, fp)
	case op == heisenOpSend || op == heisenOpReceive:
		heisenMessageInOrder(h, op, obj, fp)
	default:
		if heisen.races {
			heisenSyncOrder(h, op, obj, fp)
		}
		if op == heisenOpCollected {
			heisenCollectedInOrder(h)
		}
	}
}

// heisenAcquiredInOrder is called after h, which is the current goroutine, has acquired a lock.
//
//go:nosplit
//go:noinline
func heisenAcquiredInOrder(h *heisenG, op uint64, lock, fp uintptr) {
	readWrite := h.readWrite && op == heisenOpAcquire
	h.readWrite = false
	before := h.heldLocks()
	if heisen.races {
		heisenSyncOrder(h, op, lock, fp)
	} else {
		heisenFollowLock(h, op, lock, fp)
	}
	k := h.locksHeld
	if k == nil {
		return
	}
	known := k.count > before
	waits := op == heisenOpAcquire || op == heisenOpAcquireShared
	if known && (!waits || k.count == 1 && !readWrite) {
		return
	}
	pc := heisenPC(heisenCaller(fp))
	if known {
		key := heisenAcquisitionKey(h, k, op, pc)
		at := &heisenNews.seen[key>>(64-heisenNewsBits)]
		if atomic.Load64(at) == key {
			return
		}
		atomic.Store64(at, key)
	}
	systemstack(func() { heisenSendAcquisition(h, op, lock, pc, known) })
}

// heldLocks returns the number of locks that h is known to hold.
//
//go:nosplit
func (h *heisenG) heldLocks() uint32 {
	if h.handed.Load() != 0 {
		heisenForgetHanded(h)
	}
	if h.locksHeld == nil {
		return 0
	}
	return h.locksHeld.count
}

// heisenAcquisitionKey returns a hash of the acquisition of the latest of the locks that h holds, and of the
// moment. Two have the same with a probability of 2^-64.
//
//go:nosplit
func heisenAcquisitionKey(h *heisenG, k *heisenLocksHeld, op, pc uint64) uint64 {
	key := heisenMixed(uint64(h.id)<<32|uint64(h.moment), uint64(atomic.Load(&heisenNews.renewals)))
	key = heisenMixed(key, pc<<8|op)
	for i := range min(k.count, heisenMaxHeld) {
		l := &k.held[i]
		what := uint64(l.lock) << 1
		if l.shared {
			what |= 1
		}
		key = heisenMixed(key, what)
	}
	return key
}

// heisenMixed adds a number to a hash.
//
//go:nosplit
func heisenMixed(hash, x uint64) uint64 {
	hash = (hash ^ x) * 0x9E3779B97F4A7C15
	return hash ^ hash>>29
}

// heisenSendAcquisition sends an acquisition by h, and before it those of the other locks that h holds. known
// means that h is known to hold the lock, as the latest. It must run on the system stack.
func heisenSendAcquisition(h *heisenG, op uint64, lock uintptr, pc uint64, known bool) {
	k := h.locksHeld
	n := min(k.count, heisenMaxHeld)
	if known {
		n--
	}
	for i := range n {
		l := &k.held[i]
		if l.sent {
			continue
		}
		l.sent = true
		taken := uint64(heisenOpTryAcquire)
		if l.shared {
			taken = heisenOpTryAcquireShared
		}
		heisenNoteLock(l.lock)
		if b := heisenBufOfP(); b != nil {
			heisenSendInOrder(h, taken, l.lock, uint64(b.placeAt(0, l.pc)))
		}
	}
	if known {
		k.held[n%heisenMaxHeld].sent = true
	}
	heisenNoteLock(lock)
	if b := heisenBufOfP(); b != nil {
		heisenSendInOrder(h, op, lock, heisenPlace(b, h, pc))
	}
	atomic.Store(&heisenNews.sent, 1)
	if op == heisenOpAcquire || op == heisenOpAcquireShared {
		earlier := h.news
		h.news = heisenNewNumber()
		heisenNoteWithin(earlier, h.news)
	}
}

// heisenNoteLock notes that the receiver knows a lock.
func heisenNoteLock(lock uintptr) {
	c := heisenCellAt(lock)
	if c == &heisenNoCell {
		return
	}
	t, head := &heisenFastTrack, c.Lock()
	if t.Note(head, uint64(lock)) == 0 {
		if head == 0 {
			heisenMarkUsed(lock)
		}
		head = t.SetNote(head, uint64(lock), heisenNewNumber())
	}
	c.Unlock(head)
}

// heisenReleaseInOrder is called before h, which is the current goroutine, releases a lock.
//
//go:nosplit
//go:noinline
func heisenReleaseInOrder(h *heisenG, op uint64, lock, fp uintptr) {
	shared := op == heisenOpReleaseShared
	sent := false
	if held := h.findLock(lock, shared); held != 0 {
		sent = h.locksHeld.held[(held-1)%heisenMaxHeld].sent
	} else if atomic.Load(&heisenNews.sent) != 0 {
		systemstack(func() { sent = heisenHolderSent(lock, shared) })
	}
	if sent {
		systemstack(func() { heisenSendInOrder(h, op, lock, 0) })
	}
	if heisen.races {
		heisenSyncOrder(h, op, lock, fp)
	} else {
		heisenFollowLock(h, op, lock, fp)
	}
}

// heisenHolderSent reports whether the acquisition of a lock was sent that another goroutine holds, or that
// its holder has not been known to hold.
func heisenHolderSent(lock uintptr, shared bool) bool {
	heisenLock(&heisenHandOvers)
	known, sent := false, false
	for other := heisen.allG; other != nil; other = other.link {
		if k := other.locksHeld; k != nil && k.holds(lock, shared) {
			known = true
			for i := range min(atomic.Load(&k.count), heisenMaxHeld) {
				l := &k.held[i]
				sent = sent || l.lock == lock && l.shared == shared && l.sent
			}
		}
	}
	heisenUnlock(&heisenHandOvers)
	return sent || !known
}

// heisenMessageInOrder is a message of h, which is the current goroutine or parked, through obj.
//
//go:nosplit
//go:noinline
func heisenMessageInOrder(h *heisenG, op uint64, obj, fp uintptr) {
	c := heisenCellAt(obj)
	if c == &heisenNoCell {
		if heisen.races {
			heisenSyncElsewhere(h, op, obj, fp)
		}
		systemstack(func() { heisenMessageBeside(h, op, obj) })
		return
	}
	heisenMakeRoomInOrder()
	t, head := &heisenFastTrack, c.Lock()
	done := !heisen.races || !t.Stale(&h.order) && t.SyncInPlace(&h.order, head, uint64(obj), heisenSyncOps[op])
	if done && !heisenTells(h, op, t.Note(head, uint64(obj))) {
		c.Unlock(head)
		return
	}
	systemstack(func() {
		if head == 0 {
			heisenMarkUsed(obj)
		}
		if !done {
			if t.Stale(&h.order) {
				t.BeginEpoch(&h.order, h.id)
			}
			head = t.Sync(&h.order, head, uint64(obj), heisenSyncOps[op])
		}
		c.Unlock(heisenTell(h, op, obj, head))
	})
}

// heisenTellLocks is a message of the current goroutine that adds nothing to what races depend on.
//
//go:nosplit
func heisenTellLocks(op uint64, obj uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.on || h == nil || gp.raceignore != 0 || heisenOnStack(obj) {
		return
	}
	systemstack(func() {
		c := heisenCellAt(obj)
		if c == &heisenNoCell {
			heisenMessageBeside(h, op, obj)
			return
		}
		heisenMakeRoomInOrder()
		head := c.Lock()
		if head == 0 && h.news != 0 {
			heisenMarkUsed(obj)
		}
		c.Unlock(heisenTell(h, op, obj, head))
	})
}

// heisenMakeRoomInOrder makes room for what a hook sends while it holds the lock of a cell.
//
//go:nosplit
func heisenMakeRoomInOrder() {
	if b := heisenBufOfP(); b != nil && b.pos+heisenLocksRoom > heisenBufWords {
		heisenFlush(b)
	}
}

// heisenTells reports whether a message of h, through an object with news, may tell something.
//
//go:nosplit
func heisenTells(h *heisenG, op uint64, news uint32) bool {
	told := h.news
	if op == heisenOpReceive {
		told = news
	}
	return told != 0 && h.news != news
}

// heisenTell sends a message of h through the object at obj, if it tells something. The object's cell is
// locked and has the given head; heisenTell returns the new one. It must run on the system stack.
func heisenTell(h *heisenG, op uint64, obj uintptr, head uint64) uint64 {
	t := &heisenFastTrack
	news := t.Note(head, uint64(obj))
	switch {
	case !heisenTells(h, op, news):
	case op == heisenOpReceive:
		if !heisenWithin(news, h.news) {
			heisenSendInOrder(h, op, obj, 0)
			h.news = heisenUnion(h.news, news)
			h.moment++
		}
	case !heisenWithin(h.news, news):
		heisenSendInOrder(h, op, obj, 0)
		head = t.SetNote(head, uint64(obj), heisenUnion(news, h.news))
		h.moment++
	}
	return head
}

// heisenMessageBeside is heisenTell for an object without a cell. What it knows is not known.
func heisenMessageBeside(h *heisenG, op uint64, obj uintptr) {
	switch {
	case op == heisenOpReceive && atomic.Load(&heisenNews.beside) == 0 && !heisenShadow.beyond, op == heisenOpSend && h.news == 0:
		return
	case op == heisenOpSend:
		heisenSendInOrder(h, op, obj, 0)
		atomic.Store(&heisenNews.beside, 1)
	default:
		heisenSendInOrder(h, op, obj, 0)
		h.news = heisenNewNumber()
	}
	h.moment++
}

// heisenCollectedInOrder is called before h runs finalizers: everything so far happened before.
//
//go:nosplit
//go:noinline
func heisenCollectedInOrder(h *heisenG) {
	if atomic.Load(&heisenNews.sent) == 0 {
		return
	}
	systemstack(func() {
		heisenSendInOrder(h, heisenOpCollected, 0, 0)
		h.news = heisenNewNumber()
		atomic.Xadd(&heisenNews.renewals, 1) // what was sent may be told again: it was before
	})
}

// heisenForkLocks makes a child know what its parent knows.
//
//go:nosplit
//go:noinline
func heisenForkLocks(parent, child *heisenG) {
	child.news, child.inherited = parent.news, parent.news
	at := &heisenNews.published[parent.news%uint32(len(heisenNews.published))]
	if atomic.Load(at) == parent.news {
		return
	}
	systemstack(func() { heisenSendInOrder(parent, heisenOpSend, heisenNewsObject+uintptr(parent.news), 0) })
	parent.moment++
	atomic.Store(at, parent.news)
}

// heisenRenewed is called before the cell of a word is cleared that has an object that the receiver may know.
// It must run on the system stack.
func heisenRenewed(addr uintptr) {
	gp := getg().m.curg
	if gp == nil || !heisen.on {
		return
	}
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		atomic.Xadd(&heisenNews.renewals, 1)
		heisenSendInOrder(h, heisenOpRenew, addr&^7, 0)
	}
}

// heisenSendInOrder sends a synchronization of h at a place, and before its first one what it has inherited.
// It must run on the system stack.
func heisenSendInOrder(h *heisenG, op uint64, obj uintptr, place uint64) {
	if h.words == 0 {
		heisenSetGoid(h, heisenGoid(h))
		heisenSendAncestry(h.id)
	}
	if from := h.inherited; from != 0 {
		h.inherited = 0
		heisenPutInOrder(h, heisenOpReceive, heisenNewsObject+uintptr(from), 0)
	}
	heisenPutInOrder(h, op, obj, place)
}

// heisenPutInOrder writes the record of a synchronization.
func heisenPutInOrder(h *heisenG, op uint64, obj uintptr, place uint64) {
	b := heisenOpen(h, 3)
	if b == nil {
		return
	}
	p := b.pos
	heisenWords2(b.word(p), op<<heisenOpShift|uint64(obj), heisenStamp())
	*(*uint64)(b.word(p + 2)) = place
	h.words += 3
	b.commit(p + 3)
	b.wrote()
}

// heisenNewNumber returns a number that stands for nothing yet.
func heisenNewNumber() uint32 {
	n := atomic.Xadd(&heisenNews.numbers, 1)
	if n >= 1<<32-1<<16 && heisen.locks {
		heisen.locks = false
		print("heisen: there are too many acquisitions of locks; their order is not followed in the rest of this run\n")
	}
	return n
}

// heisenNoteWithin notes that all acquisitions in one number are in another.
func heisenNoteWithin(part, whole uint32) {
	if fact := uint64(part)<<32 | uint64(whole); part != 0 {
		atomic.Store64(&heisenNews.within[heisenMixed(0, fact)>>(64-heisenNewsBits)], fact)
	}
}

// heisenWithin reports whether all acquisitions in one number are known to be in another.
func heisenWithin(part, whole uint32) bool {
	if part == 0 || part == whole {
		return true
	}
	fact := uint64(part)<<32 | uint64(whole)
	if atomic.Load64(&heisenNews.within[heisenMixed(0, fact)>>(64-heisenNewsBits)]) == fact {
		return true
	}
	var of, in heisenNewsSet
	heisenLock(&heisenNews.lock)
	of, in = heisenPartsOf(part), heisenPartsOf(whole)
	heisenUnlock(&heisenNews.lock)
	for _, p := range of.parts {
		if p != 0 && !in.has(p) {
			return false
		}
	}
	heisenNoteWithin(part, whole)
	return true
}

// has reports whether a number is a part of a set.
func (s *heisenNewsSet) has(part uint32) bool {
	for _, p := range s.parts {
		if p == part {
			return true
		}
	}
	return false
}

// heisenPartsOf returns the parts of a number, which is its only one if none are known. heisenNews.lock is
// held.
func heisenPartsOf(number uint32) heisenNewsSet {
	if s := &heisenNews.sets[number%uint32(len(heisenNews.sets))]; s.number == number {
		return *s
	}
	return heisenNewsSet{number, [heisenNewsParts]uint32{number}}
}

// heisenUnion returns a number for all acquisitions in two.
func heisenUnion(x, y uint32) uint32 {
	switch {
	case heisenWithin(x, y):
		return y
	case heisenWithin(y, x):
		return x
	}
	heisenLock(&heisenNews.lock)
	all, second := heisenPartsOf(x), heisenPartsOf(y)
	fits := true
	for _, p := range second.parts {
		fits = fits && (p == 0 || all.add(p))
	}
	if fits {
		all.number = heisenNumberOf(&all)
	} else {
		all.number = heisenNewNumber()
	}
	heisenUnlock(&heisenNews.lock)
	heisenNoteWithin(x, all.number)
	heisenNoteWithin(y, all.number)
	return all.number
}

// add adds a part to a set, and reports whether there was room.
func (s *heisenNewsSet) add(part uint32) bool {
	at := 0
	for at < len(s.parts) && s.parts[at] != 0 && s.parts[at] < part {
		at++
	}
	switch {
	case at < len(s.parts) && s.parts[at] == part:
		return true
	case s.parts[len(s.parts)-1] != 0:
		return false
	}
	copy(s.parts[at+1:], s.parts[at:])
	s.parts[at] = part
	return true
}

// heisenNumberOf returns the number of the parts of a set, a new one if none is known. heisenNews.lock is held.
func heisenNumberOf(s *heisenNewsSet) uint32 {
	hash := uint64(0)
	for _, p := range s.parts {
		hash = heisenMixed(hash, uint64(p))
	}
	at := &heisenNews.contents[hash>>(64-heisenNewsBits)]
	if known := &heisenNews.sets[*at%uint32(len(heisenNews.sets))]; *at != 0 && known.number == *at && known.parts == s.parts {
		return *at
	}
	*at = heisenNewNumber()
	heisenNews.sets[*at%uint32(len(heisenNews.sets))] = heisenNewsSet{*at, s.parts}
	return *at
}
