package fasttrack

// Two threads that hand objects to each other by turns know the same of all others, and of each other what
// they have published last. So, as long as all clocks are a block long, who gets an object from the other one
// learns no more than an epoch, and publishes no more than two: these are in the stamp itself, and its clock is
// neither read nor written. What threads exchange most often are then the lines of cells and stamps only.
//
// A stamp has the latest epoch, and a second one: what its thread then knew of its peer, the thread of which it
// has learnt last, and above that, how many epochs before the latest it last learnt of somebody else.

// partner is what a thread knows of what it has learnt.
type partner struct {
	slot      uint32 // since then it has learnt of the thread in this one only; maxSlots if that is not so
	otherTime uint32 // the time of its own when it last learnt of another one
	lastTime  uint32 // and when it last learnt anything
}

const (
	epochMask  = 1<<(slotBits+timeBits) - 1
	ageShift   = slotBits + timeBits
	unknownAge = 1<<(64-ageShift) - 1 // or that is not known
)

// time returns the thread's own.
//
//go:nosplit
func (th *Thread) time() uint32 { return uint32(th.Epoch>>placeBits) & maxTime }

// learnFrom says that the thread has learnt an epoch of a slot, and nothing else.
//
//go:nosplit
func (th *Thread) learnFrom(slot uint32) {
	p := &th.partner
	if p.slot != slot {
		p.slot, p.otherTime = slot, p.lastTime
	}
	p.lastTime = th.time()
}

// forgetPartner says that it has learnt anything.
//
//go:nosplit
func (th *Thread) forgetPartner() { th.partner.slot, th.partner.lastTime = maxSlots, th.time() }

// partnerEpochAt returns what stands beside epoch e in a stamp that is exactly the thread's clock.
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

// fromPartner reports whether the thread, of which x is the clock, knows all of a stamp but the latest epoch: it is
// exactly what a thread knew that has learnt of this one only, since this one has learnt of it.
//
//go:nosplit
func (t *Table) fromPartner(th *Thread, x *block, s *releaseClock) bool {
	e, behind := s.exactEpoch(), s.partnerEpoch>>ageShift
	if e == 0 || s.partnerEpoch == 0 || behind == unknownAge || s.partnerEpoch&epochMask>>timeBits != slotOf(th.Epoch) {
		return false
	}
	e -= behind
	return x.time(uint32(e>>timeBits)) >= uint32(e&maxTime) && t.transitive(e)
}

// explicitTime returns the time of a slot in a stamp, if it is not that of the clock; 0 otherwise.
//
//go:nosplit
func (s *releaseClock) explicitTime(slot uint32) uint32 {
	if e := s.lastEpoch(); uint32(e>>timeBits) == slot {
		return uint32(e & maxTime)
	}
	if e := s.partnerEpoch & epochMask; uint32(e>>timeBits) == slot {
		return uint32(e & maxTime)
	}
	return 0
}

// fitsPartner reports whether the thread's clock differs from that of a stamp in nothing that is less there, but for
// times of itself and its peer, and the epochs that stand there are of these.
//
//go:nosplit
func (t *Table) fitsPartner(th *Thread, s *releaseClock) bool {
	p, own := &th.partner, uint32(slotOf(th.Epoch))
	if p.slot >= blockSlots || s.empty() || !t.oneBlock() {
		return false
	}
	latest, second := uint32(s.lastEpoch()>>timeBits), uint32(s.partnerEpoch&epochMask>>timeBits)
	if latest != own && latest != p.slot || s.partnerEpoch != 0 && second != own && second != p.slot {
		return false
	}
	// Who had published this knew all that the thread had learnt of others.
	return s.explicitTime(own) >= p.otherTime
}

// joinedPartnerEpoch returns what stands beside the thread's epoch in a stamp that suits it.
//
//go:nosplit
func (t *Table) joinedPartnerEpoch(th *Thread, s *releaseClock) uint64 {
	slot := th.partner.slot
	return unknownAge<<ageShift | uint64(slot)<<timeBits | uint64(max(s.explicitTime(slot), blockAt(th.firstBlock).time(slot)))
}

// foldPartnerEpoch makes the clock of a stamp cover the second epoch, too.
//
//go:nosplit
func (t *Table) foldPartnerEpoch(s *releaseClock) {
	if e := s.partnerEpoch & epochMask; e != 0 {
		s.clock = t.raise(s.clock, e)
	}
	s.partnerEpoch = 0
}
