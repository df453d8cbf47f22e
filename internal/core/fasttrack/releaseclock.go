package fasttrack

import "sync/atomic"

// releaseClock is what one or more threads have released: the maximum of the vector clock, the
// partner epoch and the last epoch. It is zero if nothing was released.
type releaseClock struct {
	// The last epoch, with exactBit set if the release clock equals one thread's clock at the end
	// of that epoch. Then a thread that covers the epoch usually covers the whole clock (see
	// transitive).
	word         atomic.Uint64
	partnerEpoch uint64 // see partner.go
	clock        uint32
	version      atomic.Uint32 // incremented before each change of word
}

// Bits that epochs do not use. noEpochBit says that something was released but the last epoch is
// not known: that of slot 0 and time 0, which everybody covers, takes its place.
const (
	exactBit   = 1 << 63
	noEpochBit = 1 << 62
)

// acquireInPlace is acquire without allocation, for a release clock of which the thread may not
// have learned all. It returns false if memory is needed.
//
//go:nosplit
func (t *Table) acquireInPlace(th *Thread, x *extension, s *releaseClock) bool {
	b := t.writableBlock(th.clock)
	if b == nil {
		return false
	}
	e, known := s.lastEpoch(), t.fromPartner(th, b, s)
	more, rest := b.raise(e), false
	if !known {
		if time := th.time(); time%(1<<lapBits) != 0 { // else the time before may be in a tail
			b.setTime(uint32(slotIndex(th.Epoch)), time-1) // out of date, but it has all that others know of the thread
		}
		rest = s.partnerEpoch != 0 && b.raise(s.partnerEpoch&epochMask)
		switch s.clock {
		case 0:
		case inlined:
			rest = b.joinInline(&x.inline) || rest
		default:
			rest = joinTimes(b, blockAt(vectorAt(s.clock).first), t.usedTimes(0)) || rest
		}
	}
	if rest {
		th.forgetPartner()
	} else if more {
		th.learnFrom(uint32(e >> timeBits))
	}
	th.unchangedSince, th.sources = noEpoch, [maxSources]uint64{}
	return true
}

// releaseJoinInPlace is releaseJoin without allocation.
//
//go:nosplit
func (t *Table) releaseJoinInPlace(th *Thread, x *extension, s *releaseClock) bool {
	e, second := t.epochToPublish(th), uint64(0)
	switch {
	case t.fitsPartner(th, s):
		second = t.joinedPartnerEpoch(th, s)
	case s.clock == inlined:
		if !t.fitsInline() {
			return false
		}
		x.inline.raise(s.lastEpoch())
		x.inline.raise(s.partnerEpoch & epochMask)
		x.inline.join(blockAt(th.firstBlock))
	default:
		b := t.writableBlock(s.clock)
		if b == nil {
			return false
		}
		b.raise(s.lastEpoch())
		b.raise(s.partnerEpoch & epochMask)
		// What the thread has learned may be there already.
		if th.unchangedSince == noEpoch || uint32(th.unchangedSince&maxTime) > b.time(uint32(th.unchangedSince>>timeBits)) {
			joinTimes(b, blockAt(th.firstBlock), t.usedTimes(0))
		}
	}
	s.set(e, second)
	t.endEpochInPlace(th, e)
	return true
}

// releaseStoreInPlace is releaseStore and endEpoch without allocation.
//
//go:nosplit
func (t *Table) releaseStoreInPlace(th *Thread, x *extension, s *releaseClock) bool {
	e := t.epochToPublish(th)
	switch {
	case s.exact() && t.knowsClock(th, s.lastEpoch()) && t.fitsPartner(th, s):
	case s.clock == inlined:
		if !t.fitsInline() {
			return false
		}
		x.inline.assign(blockAt(th.firstBlock))
	case s.clock != th.clock && !t.assignInPlace(s.clock, th.clock):
		return false
	}
	s.set(e|exactBit, t.partnerEpochAt(th, e))
	t.endEpochInPlace(th, e)
	return true
}

// endEpochInPlace is endEpoch after epoch e was published, for a thread that has a next epoch.
//
//go:nosplit
func (t *Table) endEpochInPlace(th *Thread, e uint64) {
	if th.Epoch>>placeBits != e {
		th.resetSameEpoch()
		return
	}
	th.unchangedSince, th.lastPublished = e, e
	t.nextEpoch(th)
}

// empty reports whether nothing was released.
//
//go:nosplit
func (s *releaseClock) empty() bool { return s.word.Load() == 0 }

// lastEpoch returns the last published epoch.
//
//go:nosplit
func (s *releaseClock) lastEpoch() uint64 { return s.word.Load() &^ (exactBit | noEpochBit) }

// exactEpoch returns the epoch at the end of which a thread's clock was the release clock, 0 if
// there is none.
//
//go:nosplit
func (s *releaseClock) exactEpoch() uint64 {
	if w := s.word.Load(); w&exactBit != 0 {
		return w &^ exactBit
	}
	return 0
}

// exact reports whether there is an exactEpoch.
//
//go:nosplit
func (s *releaseClock) exact() bool { return s.word.Load()&exactBit != 0 }

// set changes the word and the partner epoch, after it has incremented the version.
//
//go:nosplit
func (s *releaseClock) set(word, second uint64) {
	s.partnerEpoch = second
	storeRelease32(&s.version, s.version.Load()+1)
	storeRelease(&s.word, word)
}

// knowsRelease reports whether the thread surely covers the release clock with the given word.
//
//go:nosplit
func (t *Table) knowsRelease(th *Thread, word uint64) bool {
	return word == 0 || word&exactBit != 0 && t.knowsClock(th, word&^exactBit)
}

// isExactly reports whether the release clock equals its thread's clock at the end of epoch e.
//
//go:nosplit
func (s *releaseClock) isExactly(e uint64) bool { return s.word.Load() == e|exactBit }

// releaseCovers reports whether the release clock covers an epoch.
//
//go:nosplit
func (t *Table) releaseCovers(s *releaseClock, e uint64) bool {
	latest := s.lastEpoch()
	return e <= latest && e>>timeBits == latest>>timeBits ||
		uint32(e&maxTime) <= t.timeOf(s.clock, uint32(e>>timeBits))
}

// includesLearned reports whether the release clock surely covers all that the thread has learned.
//
//go:nosplit
func (t *Table) includesLearned(s *releaseClock, th *Thread) bool {
	if th.unchangedSince != noEpoch && t.releaseCovers(s, th.unchangedSince) {
		return true
	}
	for i := range th.sources {
		e := th.sources[i]
		if e == 0 {
			return i > 0
		}
		if !t.releaseCovers(s, e) || !t.transitive(e) {
			return false
		}
	}
	return true
}

// learned updates the thread's sources after it has acquired a release clock with exactEpoch e.
// rest reports whether the thread's clock had anything that the release clock does not have.
//
//go:nosplit
func (t *Table) learned(th *Thread, e uint64, rest bool) {
	if !rest || e == 0 {
		th.sources = [maxSources]uint64{e}
		return
	}
	for i := 0; i < maxSources && th.sources[0] != 0; i++ {
		switch old := th.sources[i]; {
		case old == 0:
			th.sources[i] = e
			return
		case old>>timeBits == e>>timeBits && t.transitive(min(old, e)): // the later one covers both
			th.sources[i] = max(old, e)
			return
		}
	}
	th.sources = [maxSources]uint64{}
	if th.unchangedSince != noEpoch { // the thread's own epoch covers all before
		th.sources = [maxSources]uint64{th.unchangedSince, e}
	}
}

// clearRelease makes a release clock zero.
//
//go:nosplit
func (t *Table) clearRelease(s *releaseClock) {
	if s.clock != inlined {
		t.unrefClock(s.clock)
	}
	s.clock = 0
	s.set(0, 0)
}

// epochToPublish returns the epoch that a release by the thread publishes: the current one, or the
// last published one if the thread has neither accessed memory nor learned anything since.
//
//go:nosplit
func (t *Table) epochToPublish(th *Thread) uint64 {
	e := th.Epoch >> placeBits
	if th.unchangedSince+1 == e && th.lastAccess != e {
		return th.unchangedSince
	}
	return e
}

// endEpoch ends the thread's current epoch after a release, if it has published that epoch.
//
//go:nosplit
func (t *Table) endEpoch(th *Thread) {
	e := th.Epoch >> placeBits
	if t.epochToPublish(th) != e {
		return
	}
	th.unchangedSince, th.lastPublished = e, e
	if th.sharesSlot {
		th.unchangedSince = noEpoch
	}
	t.advance(th)
}

// acquire joins the thread's clock with a release clock: C_t ⊔ L_m. It reports whether the thread
// may have learned anything.
//
//go:nosplit
func (t *Table) acquire(th *Thread, s *releaseClock) bool {
	if t.knowsRelease(th, s.word.Load()) {
		return false
	}
	all := t.includesLearned(s, th)
	if all { // as when a lock comes back to its thread
		if !t.assignInPlace(th.clock, s.clock) {
			t.unrefClock(th.clock)
			th.clock = ref(s.clock)
		}
		t.learned(th, s.exactEpoch(), false)
	} else {
		clock, more, rest := t.join(th.clock, s.clock)
		th.clock = clock
		if !more && t.covers(th, s.lastEpoch()) {
			return false
		}
		t.learned(th, s.exactEpoch(), rest)
	}
	th.unchangedSince = noEpoch
	th.setClock(t.raise(th.clock, s.lastEpoch()))
	if all && th.clock != s.clock && !t.oneBlock() { // the next acquire need not raise it again
		t.unrefClock(s.clock)
		s.clock = ref(th.clock)
	}
	return true
}

// coversRelease reports whether the thread covers the release clock.
//
//go:nosplit
func (t *Table) coversRelease(th *Thread, s *releaseClock) bool {
	switch {
	case s.exact():
		return t.knowsClock(th, s.lastEpoch())
	case !t.covers(th, s.lastEpoch()):
		return false
	case th.sharesSlot:
		return t.lessEqual(s.clock, th.clock, maxSlots)
	}
	return t.lessEqual(s.clock, th.clock, uint32(slotIndex(th.Epoch)))
}

// releaseJoin joins the thread's clock into a release clock of an extension.
//
//go:nosplit
func (t *Table) releaseJoin(th *Thread, x *extension, s *releaseClock) {
	e := t.epochToPublish(th)
	if t.coversRelease(th, s) {
		t.releaseStore(th, x, s, e)
	} else {
		if !t.includesLearned(s, th) {
			s.clock, _, _ = t.join(s.clock, th.clock)
		}
		s.clock = t.raise(s.clock, s.lastEpoch())
		s.clock = t.raise(s.clock, e)
		s.set(e, 0)
	}
	t.endEpoch(th)
}

// releaseStore sets a release clock to the thread's clock at the end of epoch e: RELEASE.
//
//go:nosplit
func (t *Table) releaseStore(th *Thread, x *extension, s *releaseClock, e uint64) {
	switch {
	case s == &x.release && t.fitsInline():
		t.unrefClock(s.clock)
		s.clock = inlined
		x.inline.assign(blockAt(th.firstBlock))
	case s.clock != th.clock && !t.assignInPlace(s.clock, th.clock):
		again := s.clock != 0 && t.oneBlock()
		t.unrefClock(s.clock)
		s.clock = ref(th.clock)
		if again { // give the release clock a vector of its own: the next release can change it in place
			if s.clock = t.unshare(s.clock); s.clock != 0 {
				t.unshareBlock(s.clock, 0)
			}
		}
	}
	if th.sharesSlot { // other threads of the slot have learned other things
		s.clock = t.raise(s.clock, e)
		s.set(e, 0)
		return
	}
	s.set(e|exactBit, 0)
}
