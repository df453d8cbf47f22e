package fasttrack

// Two threads that hand objects to each other by turns know the same of all others, and of each other what
// they have published last. So, as long as all clocks are a block long, who gets an object from the other one
// learns no more than an epoch, and publishes no more than two: these are in the stamp itself, and its clock is
// neither read nor written. What threads exchange most often are then the lines of cells and stamps only.
//
// A stamp has the latest epoch, and a second one: what its thread then knew of its peer, the thread of which it
// has learnt last, and above that, how many epochs before the latest it last learnt of somebody else.

// peers is what a thread knows of what it has learnt.
type peers struct {
	slot  uint32 // since then it has learnt of the thread in this one only; maxSlots if that is not so
	apart uint32 // the time of its own when it last learnt of another one
	last  uint32 // and when it last learnt anything
}

const (
	epochMask   = 1<<(slotBits+timeBits) - 1
	behindShift = slotBits + timeBits
	longBehind  = 1<<(64-behindShift) - 1 // or that is not known
)

// time returns the thread's own.
//
//go:nosplit
func (th *Thread) time() uint32 { return uint32(th.Epoch>>placeBits) & maxTime }

// learntOf says that the thread has learnt an epoch of a slot, and nothing else.
//
//go:nosplit
func (th *Thread) learntOf(slot uint32) {
	p := &th.peers
	if p.slot != slot {
		p.slot, p.apart = slot, p.last
	}
	p.last = th.time()
}

// learntMuch says that it has learnt anything.
//
//go:nosplit
func (th *Thread) learntMuch() { th.peers.slot, th.peers.last = maxSlots, th.time() }

// secondOf returns what stands beside epoch e in a stamp that is exactly the thread's clock.
//
//go:nosplit
func (t *Table) secondOf(th *Thread, e uint64) uint64 {
	p := &th.peers
	if p.slot >= blockSlots || th.low == 0 {
		return 0
	}
	behind := min(uint64(uint32(e&maxTime)-p.apart), longBehind)
	return behind<<behindShift | uint64(p.slot)<<timeBits | uint64(blockAt(th.low).time(p.slot))
}

// fromPeer reports whether the thread, of which x is the clock, knows all of a stamp but the latest epoch: it is
// exactly what a thread knew that has learnt of this one only, since this one has learnt of it.
//
//go:nosplit
func (t *Table) fromPeer(th *Thread, x *block, s *stamp) bool {
	e, behind := s.exactly(), s.second>>behindShift
	if e == 0 || s.second == 0 || behind == longBehind || s.second&epochMask>>timeBits != slotOf(th.Epoch) {
		return false
	}
	e -= behind
	return x.time(uint32(e>>timeBits)) >= uint32(e&maxTime) && t.same(e)
}

// timeBeside returns the time of a slot in a stamp, if it is not that of the clock; 0 otherwise.
//
//go:nosplit
func (s *stamp) timeBeside(slot uint32) uint32 {
	if e := s.latest(); uint32(e>>timeBits) == slot {
		return uint32(e & maxTime)
	}
	if e := s.second & epochMask; uint32(e>>timeBits) == slot {
		return uint32(e & maxTime)
	}
	return 0
}

// suits reports whether the thread's clock differs from that of a stamp in nothing that is less there, but for
// times of itself and its peer, and the epochs that stand there are of these.
//
//go:nosplit
func (t *Table) suits(th *Thread, s *stamp) bool {
	p, own := &th.peers, uint32(slotOf(th.Epoch))
	if p.slot >= blockSlots || s.zero() || !t.short() {
		return false
	}
	latest, second := uint32(s.latest()>>timeBits), uint32(s.second&epochMask>>timeBits)
	if latest != own && latest != p.slot || s.second != 0 && second != own && second != p.slot {
		return false
	}
	// Who had published this knew all that the thread had learnt of others.
	return s.timeBeside(own) >= p.apart
}

// secondBeside returns what stands beside the thread's epoch in a stamp that suits it.
//
//go:nosplit
func (t *Table) secondBeside(th *Thread, s *stamp) uint64 {
	slot := th.peers.slot
	return longBehind<<behindShift | uint64(slot)<<timeBits | uint64(max(s.timeBeside(slot), blockAt(th.low).time(slot)))
}

// settle makes the clock of a stamp cover the second epoch, too.
//
//go:nosplit
func (t *Table) settle(s *stamp) {
	if e := s.second & epochMask; e != 0 {
		s.clock = t.raise(s.clock, e)
	}
	s.second = 0
}
