package fasttrack

// Two threads that pass objects to each other have learned the same about all other threads. Their
// clocks differ only in the last published epochs of the two. The thread that a thread has last
// learned from is its partner. As long as clocks have one block, a thread that acquires from its
// partner learns one epoch, and its release adds at most two. These are in the release clock
// itself, whose vector is neither read nor written. So the two threads exchange only the cache
// lines of cells and release clocks.
//
// Beside its last epoch, a release clock has a partner epoch: the last epoch that the releasing
// thread knew of its partner, and, above that, the age: the number of epochs since the thread last
// learned from any other thread.

// partner is what a thread keeps of its partner.
type partner struct {
	slot      uint32 // the thread has learned only from this slot since otherTime; maxSlots if it has no partner
	otherTime uint32 // the thread's own time when it last learned from another slot
	lastTime  uint32 // the thread's own time when it last learned anything
}

const (
	epochMask  = 1<<(slotBits+timeBits) - 1
	ageShift   = slotBits + timeBits
	unknownAge = 1<<(64-ageShift) - 1 // at least so many, or unknown
)

// time returns the thread's own time.
//
//go:nosplit
func (th *Thread) time() uint32 { return uint32(th.Epoch>>placeBits) & maxTime }

// learnFrom records that the thread has learned an epoch of a slot and nothing else.
//
//go:nosplit
func (th *Thread) learnFrom(slot uint32) {
	p := &th.partner
	if p.slot != slot {
		p.slot, p.otherTime = slot, p.lastTime
	}
	p.lastTime = th.time()
}

// forgetPartner records that the thread may have learned from several others.
//
//go:nosplit
func (th *Thread) forgetPartner() { th.partner.slot, th.partner.lastTime = maxSlots, th.time() }

// partnerEpochAt returns the partner epoch of a release clock that equals the thread's clock at the
// end of epoch e.
//
//go:nosplit
func (t *Table) partnerEpochAt(th *Thread, e uint64) uint64 {
	p := &th.partner
	if p.slot >= blockSlots || th.firstBlock == 0 {
		return 0
	}
	behind := min(uint64(uint32(e&maxTime)-p.otherTime), unknownAge)
	return behind<<ageShift | uint64(p.slot)<<timeBits | uint64(blockAt(th.firstBlock).time(p.slot))
}

// fromPartner reports whether the thread, whose clock is x, knows all of a release clock but its
// last epoch: the releasing thread has learned only from this thread since this thread learned from
// it.
//
//go:nosplit
func (t *Table) fromPartner(th *Thread, x *block, s *releaseClock) bool {
	e, behind := s.exactEpoch(), s.partnerEpoch>>ageShift
	if e == 0 || s.partnerEpoch == 0 || behind == unknownAge || s.partnerEpoch&epochMask>>timeBits != slotIndex(th.Epoch) {
		return false
	}
	e -= behind
	return x.time(uint32(e>>timeBits)) >= uint32(e&maxTime) && t.transitive(e)
}

// explicitTime returns the time of a slot if the last epoch or the partner epoch has it, 0
// otherwise.
//
//go:nosplit
func (s *releaseClock) explicitTime(slot uint32) uint32 {
	if e := s.lastEpoch(); uint32(e>>timeBits) == slot && e != 0 {
		return uint32(e & maxTime)
	}
	if e := s.partnerEpoch & epochMask; uint32(e>>timeBits) == slot {
		return uint32(e & maxTime)
	}
	return 0
}

// fitsPartner reports whether the release clock lacks nothing of the thread's clock but times of
// the thread and its partner, and the epochs in it are of these two.
//
//go:nosplit
func (t *Table) fitsPartner(th *Thread, s *releaseClock) bool {
	p, own := &th.partner, uint32(slotIndex(th.Epoch))
	if p.slot >= blockSlots || s.empty() || !t.oneBlock() {
		return false
	}
	latest, second := uint32(s.lastEpoch()>>timeBits), uint32(s.partnerEpoch&epochMask>>timeBits)
	if latest != own && latest != p.slot || s.partnerEpoch != 0 && second != own && second != p.slot {
		return false
	}
	// The releasing thread had learned all that this thread had learned from others.
	return s.explicitTime(own) >= p.otherTime
}

// joinedPartnerEpoch returns the partner epoch of a release clock for which fitsPartner holds, once
// the thread has joined its own clock with it.
//
//go:nosplit
func (t *Table) joinedPartnerEpoch(th *Thread, s *releaseClock) uint64 {
	slot := th.partner.slot
	return unknownAge<<ageShift | uint64(slot)<<timeBits | uint64(max(s.explicitTime(slot), blockAt(th.firstBlock).time(slot)))
}

// foldPartnerEpoch moves the partner epoch of a release clock to its vector.
//
//go:nosplit
func (t *Table) foldPartnerEpoch(s *releaseClock) {
	if e := s.partnerEpoch & epochMask; e != 0 {
		s.clock = t.raise(s.clock, e)
	}
	s.partnerEpoch = 0
}
