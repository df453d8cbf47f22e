package fasttrack

// The end of a reclamation: no clock has times of the reclaimed slots any more, and new threads may
// take them.

// wordSlots is the number of slots that are kept for release clocks only, by the number of slots.
const wordSlots = 128

// FinishReclaim makes slots of ended threads available to new ones, after all cells were visited.
func (t *Table) FinishReclaim() {
	most := t.reclaim.kept + t.ownSlots()/wordSlots
	for i := uint32(1); i <= t.memory.made[extensions]; i++ {
		x := extensionAt(i)
		t.keepExact(&x.release, most)
		t.keepExact(&x.sharedRelease, most)
	}
	for i := uint32(1); i <= t.memory.made[extensions]; i++ {
		x := extensionAt(i)
		t.clearReclaimed(x, &x.release)
		t.clearReclaimed(x, &x.sharedRelease)
	}
	t.orphaned, t.orphansForgotten = t.collections, false
	nodes := t.usedNodes()
	t.clearBlocks()
	t.freeReclaimed()
	t.cutVectors(nodes)
	t.finishReaders()
	releaseScratch()
}

// reclaimed reports whether the slot of an epoch is reclaimed.
func (r *reclaimer) reclaimed(e uint64) bool { return r.state[e>>timeBits%maxSlots] == slotEnded }

// covered returns the coverage of the epoch of an exact release clock, and the number of threads.
// A thread that covers an epoch of the same coverage has learned all of the release clock. It
// returns 0 if covering the epoch does not imply that.
func (t *Table) covered(s *releaseClock) (coverage uint64, threads uint32) {
	e := s.exactEpoch()
	if e == 0 || !t.transitive(e) {
		return 0, 0
	}
	return t.reclaim.coverage(uint32(e>>timeBits), uint32(e&maxTime))
}

// keepExact finds an epoch for an exact release clock that a live thread has learned, so that
// others still see at once whether they have.
func (t *Table) keepExact(s *releaseClock, most uint32) {
	if !s.empty() && t.reclaim.reclaimed(s.lastEpoch()) {
		if coverage, threads := t.covered(s); threads != 0 && coverage != 0 {
			t.representative(coverage, s.lastEpoch(), most)
		}
	}
}

// clearReclaimed removes the times of reclaimed slots from a release clock, except its vector.
func (t *Table) clearReclaimed(x *extension, s *releaseClock) {
	if s.empty() {
		return
	}
	if s.clock == inlined {
		for slot := range uint32(inlineSlots) {
			if t.reclaim.state[slot] == slotEnded {
				x.inline.clear(slot)
			}
		}
	}
	word, second := s.word.Load(), s.partnerEpoch
	if second&epochMask != 0 && t.reclaim.reclaimed(second&epochMask) {
		second = 0
	}
	if word&noEpochBit == 0 && t.reclaim.reclaimed(s.lastEpoch()) {
		e := uint64(0)
		if coverage, _ := t.covered(s); coverage != 0 {
			e = findClass(coverage)
		}
		if word = noEpochBit; e != 0 {
			word = e | exactBit
		}
		if second != 0 { // its age is that in the epoch before
			second = second&epochMask | unknownAge<<ageShift
		}
	}
	if word != s.word.Load() || second != s.partnerEpoch {
		s.set(word, second)
	}
}

// clear makes the time of a slot 0.
func (f *inlineClock) clear(slot uint32) { f.times[slot/2] &^= (1<<32 - 1) << (slot & 1 * 32) }

// clearBlocks removes the times of reclaimed slots from the blocks of all clocks, and blocks that
// have no other times from their nodes.
func (t *Table) clearBlocks() {
	r := &t.reclaim
	for s := range t.collected {
		if r.state[s] == slotEnded {
			t.collected[s] = 0
		}
	}
	for i := uint32(1); i <= t.memory.made[blocks]; i++ {
		w := t.blockWeight(i)
		if w.sum == 0 {
			continue
		}
		left := uint64(0)
		for k := range uint32(blockSlots / 2) {
			times := &blockAt(i).times[k]
			if *times == 0 {
				continue
			}
			s := w.at*blockSlots + 2*k
			if r.state[s%maxSlots] == slotEnded {
				*times &^= 1<<32 - 1
			}
			if r.state[(s+1)%maxSlots] == slotEnded {
				*times &= 1<<32 - 1
			}
			left |= *times
		}
		if left == 0 {
			w.threads = emptyBlock
		}
	}
	for i := uint32(1); i <= t.memory.made[nodes]; i++ {
		if t.nodeWeight(i).sum == 0 {
			continue
		}
		for k, b := range nodeAt(i).blocks {
			if b != 0 && t.blockWeight(b).threads == emptyBlock {
				nodeAt(i).blocks[k] = 0
				t.unrefBlock(b)
			}
		}
	}
}

// emptyBlock is a number of threads that stands for a block without times.
const emptyBlock = 1<<32 - 1

// cutVectors removes the nodes of all clocks that are beyond the slots in use. nodes is the number
// of nodes that were in use before.
func (t *Table) cutVectors(nodes uint32) {
	for i := uint32(1); i <= t.memory.made[vectors]; i++ {
		if weightAt(i).sum == 0 {
			continue
		}
		for k := t.usedNodes(); k < nodes; k++ {
			if n := nodeIndexAt(i, k); *n != 0 {
				t.unrefNode(*n)
				*n = 0
			}
		}
	}
}

// freeReclaimed makes the lists of ended and of free slots anew.
func (t *Table) freeReclaimed() {
	r, l := &t.reclaim, &t.ended
	t.clearTails()
	used := uint32(0)
	for s := range uint32(ownedSlots) {
		if r.state[s] >= slotLive && r.state[s] != slotEnded {
			used = s + 1
		}
	}
	l.count, l.hand, l.free = 0, 0, 0
	for i := range t.slots.Load() {
		s := (t.slots.Load() - 1 - i) % maxSlots // the first slots are to be taken first
		h := &t.perSlot[s]
		switch r.state[s] {
		case slotKept:
			if h.lastAccess = 0; r.last[s] != 0 {
				h.lastAccess = uint64(s)<<timeBits | uint64(r.last[s])
			}
			if h.time.Load() < maxTime-1 {
				l.slots[l.count%maxEnded] = s
				l.count++
			}
		case slotEnded, slotUnused:
			h.clear()
			if s < used {
				l.freeSlots[l.free%maxEnded] = s
				l.free++
			}
		}
	}
	storeRelease32(&t.slots, used)
	if t.sharing.Load() != 0 {
		t.freeShared()
	}
	// The cost of a reclamation that does not help is to be shared by ever more threads.
	limit := t.ownSlots()
	l.left, l.taken = l.free+limit-used, 0
	l.used = limit - l.left
	if l.left >= limit/8 {
		l.wait = 0
	} else {
		l.wait = min(max(2*l.wait, limit/8), 1<<24)
	}
	storeRelease32(&t.slotsLow, 0)
}

// freeShared forgets the shared slots that no thread has.
func (t *Table) freeShared() {
	sharing := uint32(0)
	for s := uint32(ownedSlots); s < firstOrphanSlot; s++ {
		if t.reclaim.state[s] == slotEnded {
			t.perSlot[s].clear()
		} else {
			sharing = 1
		}
	}
	t.sharing.Store(sharing)
}

// clear makes a slot one that nobody has had.
func (h *slot) clear() {
	storeRelease32(&h.time, 0)
	storeRelease32(&h.starts, 0)
	storeRelease32(&h.transitiveFrom, 0)
	storeRelease32(&h.transitiveBelow, 0)
	h.lastAccess, h.lastPublished = 0, 0
}

// ForgetReclaimed makes a thread forget what it knows of reclaimed slots.
func (t *Table) ForgetReclaimed(th *Thread) {
	if th.Epoch == 0 {
		return
	}
	for _, e := range th.sources {
		if e != 0 && t.reclaim.reclaimed(e) {
			th.sources = [maxSources]uint64{}
		}
	}
	if p := th.partner.slot; p < maxSlots && t.reclaim.state[p] == slotEnded {
		th.forgetPartner()
	}
}
