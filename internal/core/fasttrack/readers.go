package fasttrack

import "sync/atomic"

// A table that is filled once is read by all threads, so each of its words has many readers, and most
// words have those of their neighbors. So a cell can have one entry for several reads of the same
// bytes: it refers to a set of readers, which other words share. A set never changes. It is a
// reader and the set without it, as a list; the same reader after the same set makes the same set, as
// far as a cache for each processor knows.
//
// The reads are those of threads that have just begun, and compare as entries of their own would.
// Only AccessLocked looks at them: for all others, a set is not ordered before anything. Threads that live for long read a word in many epochs,
// and refresh entries of their own instead.
//
// Sets are not freed one by one. A reclamation moves those that are in use to the other half of their
// memory, each once, and takes what it drops out of them.

// reader is the latest reader of a set, and the set without it.
type reader struct {
	entry uint64
	sum   uint64 // of all readers of the set, see random: sets with the same are the same
	rest  uint32
	count uint32 // of readers
	left  uint32 // so many readers before those that are ordered before a new one are looked for
	moved uint32 // in a reclamation: where the set is now, or the set from which the search came here
}

const (
	readersTag   = (firstOrphanSlot + 1) << 1 // of entries for sets, above the number of the set; no entry of an orphan has it
	maxReaders   = 1 << (orphanBits - 1)      // in each half
	minReaders   = 16                         // a set is not searched before it has so many
	manySlots    = 48                         // sets are made by threads whose slots are not among the first: overflow sets do for few slots
	dueReaders   = 1 << 18                    // a reclamation does not begin for fewer
	readerBatch  = 32
	readerSteps  = 64
	readerSlots  = 256
	knownReaders = 1 << 14
	youngEpochs  = 16 // of a thread that has just begun
	movedReader  = 1 << 31
	readerTries  = 64 // a reclamation looks for a reader among so many
)

// readerSets is the state of all sets.
type readerSets struct {
	made       atomic.Uint32               // in this half
	known      [knownReaders]atomic.Uint64 // some sets, below the upper half of their sums
	base       uint32                      // where the half begins
	generation uint32                      // the number of reclamations
	due        uint32                      // a reclamation should begin if so many have been made, and dueReaders
	before     uint32                      // during a reclamation, how many there were in the other half
}

// readerCache has what a processor knows of sets.
type readerCache struct {
	generation, next, end uint32
	steps                 [readerSteps]readerStep
	seen                  [readerSlots]uint64 // by pruneReaders: the latest readers of some slots
}

// readerStep says that a set with a reader is another set.
type readerStep struct {
	entry    uint64
	from, to uint32
}

// isReaders reports whether an entry stands for a set of readers.
//
//go:nosplit
func isReaders(entry uint64) bool { return entry>>(orphanBits+placeBits) == readersTag }

// readersOf returns the set of an entry.
//
//go:nosplit
func readersOf(entry uint64) uint32 { return uint32(entry >> placeBits & (1<<orphanBits - 1)) }

// readersEntry returns the entry for a set.
//
//go:nosplit
func readersEntry(set uint32) uint64 {
	return readersTag<<(orphanBits+placeBits) | uint64(set)<<placeBits
}

// hasReaders reports whether a cell with the given head may have a set of readers. The bit stays until
// a reclamation, or until the word is cleared.
//
//go:nosplit
func hasReaders(head uint64) bool { return head&headReaders != 0 }

// young reports whether the thread has just begun.
//
//go:nosplit
func (th *Thread) young() bool { return th.Epoch-th.begun < youngEpochs<<placeBits }

// readersFor returns the entry of a locked cell with the given head for a set of readers that a plain
// read may be added to: by a thread that has just begun, of the bytes that the set's readers have read,
// if it races with nothing. It returns nil if there is none.
//
//go:nosplit
func (t *Table) readersFor(th *Thread, c *Cell, head, entry, mask uint64) (at *atomic.Uint64) {
	beside, side := head>>(headEntries+descBits), uint32(0)
	if beside&descMask != mask || !isReaders(sideEntry(c, 0).Load()) {
		side = 1
	}
	at = sideEntry(c, side)
	if !th.young() || beside>>(side*descBits)&descMask != mask || !isReaders(at.Load()) ||
		head&headOverflow != 0 && extensionAt(uint32(head>>headExtension)).mayConflict(Read, uint32(mask)) {
		return nil
	}
	for i := range uint32(cellEntries) {
		d := head >> ((headEntries + i*descBits) & 63) & descMask
		if d&mask == 0 || conflicts>>((d>>kindShift<<3+Read)&63)&1 == 0 {
			continue
		}
		if n := c.entryAt(i).Load(); slotOf(n^entry) != 0 && !t.covers(th, n>>placeBits) {
			return nil
		}
	}
	return at
}

// addKnownReader handles plain reads of a locked cell with the given head that can be added to a set of
// readers, if the processor knows which set that makes: READ SHARED. It reports whether there is such a
// set, and whether the read was added.
//
//go:nosplit
func (t *Table) addKnownReader(th *Thread, c *Cell, head, place, mask uint64) (set, done bool) {
	entry := th.Epoch | place
	at := t.readersFor(th, c, head, entry, mask)
	if at == nil {
		return false, false
	}
	s := localFreeCache()
	if s == nil || s.readers.generation != t.readers.generation {
		return true, false
	}
	step, known := s.readers.step(readersOf(at.Load()), entry)
	if known {
		storeRelease(at, readersEntry(step.to))
		th.lastAccess = entry >> placeBits
	}
	return true, known
}

// addReader is addKnownReader for all sets. It returns false if there is none, or if memory runs out. It
// needs more stack.
//
//go:nosplit
func (t *Table) addReader(th *Thread, c *Cell, head, entry, mask uint64) bool {
	at := t.readersFor(th, c, head, entry, mask)
	if at == nil {
		return false
	}
	set := t.withReader(th, readersOf(at.Load()), entry)
	if set == 0 {
		return false
	}
	storeRelease(at, readersEntry(set))
	th.lastAccess = entry >> placeBits
	return true
}

// gatherReaders makes a set of the reads of the bytes in mask that a locked cell and its overflow set
// have, and adds the reader th to it. It returns the new head, or 0, and has changed nothing, if that is
// not possible, or if the threads have few slots.
//
//go:nosplit
func (t *Table) gatherReaders(th *Thread, c *Cell, head, entry, mask uint64) uint64 {
	if head&headOverflow == 0 || !th.young() || slotIndex(entry) < manySlots && !t.gatherAlways {
		return 0
	}
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	beside, side := head>>(headEntries+descBits), uint32(0)
	if beside&descMask != mask {
		side = 1
	}
	at := sideEntry(c, side)
	if beside>>(side*descBits)&descMask != mask || isReaders(at.Load()) {
		return 0
	}
	k := (*readerCache)(nil)
	if s := localFreeCache(); s != nil {
		k = &s.readers
		k.update(t)
	}
	set := t.newReader(k, 0, at.Load(), minReaders)
	for i := range size {
		if m := overflowAt(first + i); m.desc.Load() == mask && set != 0 && !isReaders(m.entry.Load()) {
			set = t.newReader(k, set, m.entry.Load(), minReaders)
		}
	}
	if set != 0 {
		set = t.newReader(k, set, entry, minReaders)
	}
	if set == 0 {
		return 0
	}
	storeRelease(at, readersEntry(set))
	th.lastAccess = entry >> placeBits
	left := false
	for i := range size {
		m := overflowAt(first + i)
		if d := m.desc.Load(); d == mask && !isReaders(m.entry.Load()) {
			storeRelease(&m.desc, 0)
			x.count(Read, -1)
		} else {
			left = left || d != 0
		}
	}
	if !left {
		t.releaseOverflow(x)
		head &^= headOverflow
	}
	return head | headReaders
}

// update makes what a processor knows void after a reclamation.
//
//go:nosplit
func (k *readerCache) update(t *Table) {
	if k.generation != t.readers.generation {
		k.generation, k.next, k.end = t.readers.generation, 0, 0
		k.steps = [readerSteps]readerStep{}
	}
}

// step returns where a processor keeps which set another one becomes with a further reader, and whether
// it knows that.
//
//go:nosplit
func (k *readerCache) step(from uint32, entry uint64) (step *readerStep, known bool) {
	step = &k.steps[(entry+uint64(from))*0x9E3779B97F4A7C15>>40%readerSteps]
	return step, step.from == from && step.entry == entry && step.to != 0
}

// withReader returns a set with a further reader, th. It returns 0 if memory runs out.
//
//go:nosplit
func (t *Table) withReader(th *Thread, from uint32, entry uint64) (set uint32) {
	s := localFreeCache()
	if s == nil {
		return t.extendReaders(th, nil, from, entry)
	}
	k := &s.readers
	k.update(t)
	step, known := k.step(from, entry)
	if !known {
		step.from, step.entry, step.to = from, entry, t.extendReaders(th, k, from, entry)
	}
	return step.to
}

// extendReaders is withReader without the cache. A set that has the reader already is returned as it is.
//
//go:nosplit
func (t *Table) extendReaders(th *Thread, k *readerCache, from uint32, entry uint64) (set uint32) {
	n := readerAt(from)
	left := n.left - 1
	switch {
	case th.sameEpoch(n.entry):
		return from
	case n.left == 0:
		if from, left = t.pruneReaders(th, k, from); left == 0 {
			return 0
		}
	}
	return t.newReader(k, from, entry, left)
}

// pruneReaders returns the set without readers that are ordered before others, or before what th does
// next: a read of th is to take their place. It also returns how many readers may be added before the
// next search, 0 if memory runs out.
//
//go:nosplit
func (t *Table) pruneReaders(th *Thread, k *readerCache, from uint32) (set, left uint32) {
	if k == nil {
		return from, minReaders
	}
	kept := uint32(0)
	for i := k.firstNeeded(t, th, from, true); i != 0; i = k.firstNeeded(t, th, readerAt(i).rest, false) {
		kept++
	}
	if left = max(minReaders, kept); kept > readerAt(from).count/4*3 {
		return from, left
	}
	last, sum := uint32(0), uint64(0)
	for i := k.firstNeeded(t, th, from, true); i != 0; i = k.firstNeeded(t, th, readerAt(i).rest, false) {
		sum += random(readerAt(i).entry)
	}
	if set = t.knownReaders(sum); set != 0 {
		return set, left
	}
	for i := k.firstNeeded(t, th, from, true); i != 0; i = k.firstNeeded(t, th, readerAt(i).rest, false) {
		next := t.makeReader(k)
		if next == 0 {
			return 0, 0
		}
		n := readerAt(i).entry
		*readerAt(next) = reader{entry: n, sum: sum, count: kept}
		sum -= random(n)
		kept--
		if last == 0 {
			set = next
		} else {
			readerAt(last).rest = next
		}
		last = next
	}
	if set != 0 {
		readerAt(set).left = left
		t.knowReaders(set)
	}
	return set, left
}

// firstNeeded returns the latest reader of a set that pruneReaders keeps, with the set without those
// after it. first is set at the beginning of a search.
//
//go:nosplit
func (k *readerCache) firstNeeded(t *Table, th *Thread, from uint32, first bool) uint32 {
	if first {
		k.seen = [readerSlots]uint64{}
	}
	for ; from != 0; from = readerAt(from).rest {
		n := readerAt(from).entry
		// Of the readers of a slot and lap, each is ordered before those with a later time.
		seen := &k.seen[slotIndex(n)%readerSlots]
		if later := *seen; later >= n && slotOf(later^n) == 0 || t.covers(th, n>>placeBits) {
			continue
		}
		*seen = n
		break
	}
	return from
}

// newReader returns the set of the readers of rest and a further one, 0 if memory runs out.
//
//go:nosplit
func (t *Table) newReader(k *readerCache, rest uint32, entry uint64, left uint32) (set uint32) {
	n := reader{entry: entry, sum: random(entry), rest: rest, count: 1, left: left}
	if rest != 0 {
		n.sum += readerAt(rest).sum
		n.count += readerAt(rest).count
	}
	if set = t.knownReaders(n.sum); set != 0 {
		return set
	}
	if set = t.makeReader(k); set != 0 {
		*readerAt(set) = n
		t.knowReaders(set)
	}
	return set
}

// knownReaders returns the set with a sum, 0 if it is not known.
//
//go:nosplit
func (t *Table) knownReaders(sum uint64) (set uint32) {
	known := t.readers.known[sum%knownReaders].Load()
	if set = uint32(known); (known^sum)>>32 != 0 || set == 0 || readerAt(set).sum != sum {
		return 0
	}
	return set
}

// knowReaders makes a new set known.
//
//go:nosplit
func (t *Table) knowReaders(set uint32) {
	sum := readerAt(set).sum
	storeRelease(&t.readers.known[sum%knownReaders], sum>>32<<32|uint64(set))
}

// makeReader returns a set that was never used, 0 if memory runs out.
//
//go:nosplit
func (t *Table) makeReader(k *readerCache) (set uint32) {
	r := &t.readers
	most := uint32(maxReaders) >> t.memory.smaller
	switch {
	case k == nil:
		set = r.made.Add(1)
	case k.next < k.end:
		set = k.next
		k.next++
	default:
		k.end = r.made.Add(readerBatch) + 1
		set = k.end - readerBatch
		k.next = set + 1
	}
	if set >= most-readerBatch {
		if k != nil {
			k.next = k.end
		}
		r.made.Store(most)
		return 0
	}
	if set >= max(r.due, dueReaders) {
		t.slotsLow.CompareAndSwap(SlotsPlenty, ClocksLong)
	}
	return r.base + set
}

// compareReaders compares what th does next with the readers of the sets that are among races. The entry of
// a reader that is not ordered before takes the place of that of the set. If there is none, it is no race.
//
//go:nosplit
func (t *Table) compareReaders(th *Thread, races *Races) {
	left := uint32(0)
	for i := range races.Count {
		a := &races.At[i%maxRaces]
		if isReaders(a.Entry) {
			if a.Entry = t.racingReader(th, readersOf(a.Entry)); a.Entry == 0 {
				continue
			}
			races.Bytes |= a.Bytes
		}
		races.At[left%maxRaces] = *a
		left++
	}
	races.Count = left
}

// racingReader returns the latest reader of a set that is not ordered before what th does next, 0 if
// there is none.
//
//go:nosplit
func (t *Table) racingReader(th *Thread, set uint32) (entry uint64) {
	for ; set != 0; set = readerAt(set).rest {
		if n := readerAt(set).entry; !t.covers(th, n>>placeBits) {
			return n
		}
	}
	return 0
}

// forgetReaders returns the head of a locked cell that may have had a set of readers.
//
//go:nosplit
func (c *Cell) forgetReaders(head uint64) uint64 {
	for side := range uint32(cellEntries - 1) {
		if head>>(headEntries+(1+side)*descBits)&descMask != 0 && isReaders(sideEntry(c, side).Load()) {
			return head
		}
	}
	return head &^ headReaders
}

// beginReaders begins to move the sets that are in use to the other half.
func (t *Table) beginReaders() {
	r := &t.readers
	most := uint32(maxReaders) >> t.memory.smaller
	r.before = min(r.made.Load(), most-1)
	r.made.Store(0)
	r.base = most - r.base
	for i := range r.known {
		r.known[i].Store(0)
	}
}

// finishReaders makes the half that the sets were in free.
func (t *Table) finishReaders() {
	r := &t.readers
	releaseReaders(uint32(maxReaders)>>t.memory.smaller-r.base, r.before+1)
	r.generation++
	r.due = 2 * r.made.Load()
}

// replaceReaders returns the entry that takes the place of one for a set, 0 if none need be left.
func (t *Table) replaceReaders(entry uint64) uint64 {
	i, from := readersOf(entry), uint32(0)
	for i != 0 && readerAt(i).moved&movedReader == 0 { // down to what was moved, and back
		readerAt(i).moved, from, i = from, i, readerAt(i).rest
	}
	set := uint32(0)
	if i != 0 {
		set = readerAt(i).moved &^ movedReader
	}
	for from != 0 {
		n := readerAt(from)
		if to := t.replaceEntry(n.entry); to != 0 && !hasReader(set, to) {
			count := uint32(1)
			if set != 0 {
				count += readerAt(set).count
			}
			set = t.newReader(nil, set, to, max(minReaders, count))
		}
		from, n.moved = n.moved, movedReader|set
	}
	switch {
	case set == 0:
		return 0
	case readerAt(set).rest == 0:
		return readerAt(set).entry
	}
	return readersEntry(set)
}

// hasReader reports whether one of the latest readers of a set suffices for another.
func hasReader(set uint32, entry uint64) bool {
	for range readerTries {
		if set == 0 {
			break
		}
		if sameClass(readerAt(set).entry, entry) {
			return true
		}
		set = readerAt(set).rest
	}
	return false
}
