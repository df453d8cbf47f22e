package fasttrack

import "sync/atomic"

// stamp is what one or more threads published: the times of clock, second, and latest, the epoch
// that was published last, 0 if none was.
type stamp struct {
	// latest, with soleBit set if the stamp is exactly one thread's clock at the end of the epoch.
	// Who knows the epoch then knows it all.
	word   atomic.Uint64
	second uint64 // see peers.go
	clock  uint32
	turns  atomic.Uint32 // how often something was published, counted before the word is changed
}

// soleBit is a bit that no epoch has.
const soleBit = 1 << 63

// The ways to synchronise through an object.
const (
	Acquire       = iota // sees everything
	AcquireShared        // sees all but what ReleaseShared published
	See                  // is AcquireShared of what is no lock: a message, or an atomic variable that is read
	Release
	ReleaseShared
	Send     // publishes, besides what is there; so do atomic updates, after they have seen
	Store    // publishes instead of what is there
	Exchange // See and Send

	// What is done with locks, as bits.
	locking = 1<<Acquire | 1<<AcquireShared | 1<<Release | 1<<ReleaseShared
)

// Sync orders the thread as the operation on the object at addr says, in the word of the
// locked cell c with the given head. It returns the new one.
//
//go:nosplit
func (t *Table) Sync(th *Thread, head uint64, addr uint64, op uint32) uint64 {
	number := uint32(addr&7) + 1
	i := uint32(head >> headExtra)
	for i != 0 && extraAt(i).number() != number {
		i = extraAt(i).next
	}
	if i == 0 {
		if op <= See {
			return head // nothing was published
		}
		if head, i = t.newObject(head, number); i == 0 {
			return head
		}
	}
	x := extraAt(i)
	t.takeOut(x)
	t.settle(&x.published)
	t.settle(&x.readers)
	if locking>>op&1 != 0 {
		t.hide(th, x, i, op)
	} else if op > ReleaseShared {
		th.shows()
	}
	switch op {
	case Acquire:
		learnt := t.see(th, &x.published)
		if !x.readers.zero() {
			learnt = t.see(th, &x.readers) || learnt
		}
		if learnt {
			t.seen(x)
		}
	case AcquireShared:
		if t.see(th, &x.published) {
			t.seen(x)
		}
	case See:
		t.see(th, &x.published)
	case Release:
		if !x.published.by(t.present(th)) { // otherwise all is as it was
			t.merge(th, x, &x.published)
		}
		if !x.readers.zero() && t.upToDate(th, &x.readers) { // the writer publishes on their behalf
			t.reset(&x.readers)
		}
	case ReleaseShared:
		t.merge(th, x, &x.readers)
	case Send:
		t.merge(th, x, &x.published)
	case Store:
		t.replace(th, x, &x.published, t.present(th))
		t.reset(&x.readers)
		t.publish(th)
	case Exchange:
		t.see(th, &x.published)
		t.merge(th, x, &x.published)
	}
	return head
}

// SyncInPlace is Sync where that takes no memory, as when all that was published through the
// object is known to the thread, or clocks are short. It takes little stack. If it reports
// false, Sync is to be called all the same.
//
//go:nosplit
func (t *Table) SyncInPlace(th *Thread, head uint64, addr uint64, op uint32) bool {
	i := uint32(head >> headExtra)
	if i == 0 {
		return op <= See
	}
	x := extraAt(i)
	if x.number() != uint32(addr&7)+1 {
		return false // another byte's, or of none: there may be others
	}
	if locking>>op&1 != 0 {
		t.hide(th, x, i, op)
	} else if op > ReleaseShared {
		th.hidden.lock = 0
	}
	s, readers := &x.published, !x.readers.zero()
	switch {
	case op == ReleaseShared:
		s = &x.readers
	case readers && (op == Acquire || op == Release || op == Store):
		return false
	}
	switch {
	case op > See && (s.by(t.present(th)) || op == ReleaseShared && t.present(th) == th.said && t.stamped(s, th.said)):
		th.begins()
		return true // it says so already
	case t.knowsAll(th, s.word.Load()):
	case op <= See:
		if !t.seeInPlace(th, x, s) {
			return false
		}
		if op != See {
			t.seen(x)
		}
		return true
	case op == ReleaseShared || op == Send && s.sole():
		return t.another(th) && t.mergeInPlace(th, x, s)
	case op != Store:
		return false
	}
	return op <= See || t.another(th) && t.replaceInPlace(th, x, s)
}

// Known returns what Unchanged is to be called with, after the word of c was loaded with an
// atomic operation of thread th, for which the cell is not locked because there is nothing to learn from
// what was published; a head of 0 if that is not so. If the operation is not noted already, LoadAgain is
// to be called first.
//
//go:nosplit
func (t *Table) Known(th *Thread, c *Cell, addr uint64) (head uint64, turns uint32, noted bool) {
	head = c.head.Load()
	if head&headLock != 0 {
		return 0, 0, false
	}
	mask := uint64(1) << (addr & 7)
	if n, old, _ := c.own(th, head, mask|AtomicRead<<noteKind); n != nil {
		noted = th.unseen(old)
	} else if noted = t.notedLoad(th, c, head, mask); !noted {
		return 0, 0, false
	}
	i := uint32(head >> headExtra)
	if i == 0 {
		return head, 0, noted
	}
	x := extraAt(i)
	s := &x.published
	turns = s.turns.Load()
	// Who was publishing when the turn was counted has finished, or the cell is locked.
	if c.head.Load() != head || x.number() != uint32(addr&7)+1 {
		return 0, 0, false
	}
	if !t.knowsAll(th, s.word.Load()) {
		return 0, 0, false
	}
	return head, turns, noted
}

// SharedAgain reports whether it makes no difference that the thread has taken the lock at addr together with
// others: it knows all that was published for those who do that, and it is noted that it has taken the lock. As
// long as it has that, nobody publishes more for them; so the cell is not locked. If it reports false, SyncInPlace
// or Sync is to be called, to which what was done makes no difference.
//
//go:nosplit
func (t *Table) SharedAgain(th *Thread, c *Cell, addr uint64) bool {
	head := c.head.Load()
	i := uint32(head >> headExtra)
	if i == 0 || head&headLock != 0 || t.Stale(th) {
		return false
	}
	x := extraAt(i)
	if x.number() != uint32(addr&7)+1 || !t.knowsAll(th, x.published.word.Load()) {
		return false
	}
	t.hide(th, x, i, AcquireShared)
	return c.NotedAtomic(th, head, 1<<(addr&7), AtomicUpdate) && c.head.Load() == head
}

// notedLoad is NotedAtomic for loads, of a cell that is not locked, also of notes in a crowd.
//
//go:nosplit
func (t *Table) notedLoad(th *Thread, c *Cell, head, mask uint64) bool {
	return c.NotedAtomic(th, head, mask, AtomicRead) || notedInCrowd(th, head, mask, AtomicRead)
}

// Unchanged reports whether nothing was published since Known. Who changes the word of an atomic
// operation publishes before the cell is unlocked.
//
//go:nosplit
func (c *Cell) Unchanged(head uint64, turns uint32) bool {
	i := uint32(head >> headExtra)
	return c.head.Load() == head && (i == 0 || extraAt(i).published.turns.Load() == turns)
}

// seeInPlace is see, for a stamp of an extra of which the thread may not know all.
//
//go:nosplit
func (t *Table) seeInPlace(th *Thread, x *extra, s *stamp) bool {
	b := t.inPlace(th.clock)
	if b == nil {
		return false
	}
	e, known := s.latest(), t.fromPeer(th, b, s)
	more, rest := b.raise(e), false
	if !known {
		b.setTime(uint32(slotOf(th.Epoch)), th.time()-1) // it is out of date, but has all that others know of it
		rest = s.second != 0 && b.raise(s.second&epochMask)
		switch s.clock {
		case 0:
		case within:
			rest = b.raiseFew(&x.times) || rest
		default:
			rest = raiseAll(b, blockAt(vectorAt(s.clock).low), t.used(0)) || rest
		}
	}
	if rest {
		th.learntMuch()
	} else if more {
		th.learntOf(uint32(e >> timeBits))
	}
	th.said, th.through = unsaid, [throughs]uint64{}
	return true
}

// mergeInPlace is merge, likewise.
//
//go:nosplit
func (t *Table) mergeInPlace(th *Thread, x *extra, s *stamp) bool {
	e, second := t.present(th), uint64(0)
	switch {
	case t.suits(th, s):
		second = t.secondBeside(th, s)
	case s.clock == within:
		if !t.few() {
			return false
		}
		x.times.raise(s.latest())
		x.times.raise(s.second & epochMask)
		x.times.raiseAll(blockAt(th.low))
	default:
		b := t.inPlace(s.clock)
		if b == nil {
			return false
		}
		b.raise(s.latest())
		b.raise(s.second & epochMask)
		// What the thread has learnt may be there already.
		if th.said == unsaid || uint32(th.said&maxTime) > b.time(uint32(th.said>>timeBits)) {
			raiseAll(b, blockAt(th.low), t.used(0))
		}
	}
	s.say(e, second)
	t.published(th, e)
	return true
}

// replaceInPlace is replace, and publish.
//
//go:nosplit
func (t *Table) replaceInPlace(th *Thread, x *extra, s *stamp) bool {
	e := t.present(th)
	switch {
	case s.sole() && t.knows(th, s.latest()) && t.suits(th, s):
	case s.clock == within:
		if !t.few() {
			return false
		}
		x.times.set(blockAt(th.low))
	case s.clock != th.clock && !t.overwrite(s.clock, th.clock):
		return false
	}
	s.say(e|soleBit, t.secondOf(th, e))
	t.published(th, e)
	return true
}

// published is publish of epoch e for a thread that has another one.
//
//go:nosplit
func (t *Table) published(th *Thread, e uint64) {
	if th.Epoch>>placeBits != e {
		th.begins()
		return
	}
	th.said, th.told = e, e
	t.step(th)
}

// What a thread publishes through a lock nobody can see before it is taken again. If the same
// thread does that, having published nothing elsewhere, and nobody else did before, and as long
// as it has the lock, nobody else knows, or can learn, what the thread has done since it published
// anything that may have been seen: its epochs since then are as good as one. So who takes the
// same lock again and again notes what it does under it once.

const numberMask = 1<<8 - 1 // of what an extra says of its object

//go:nosplit
func (x *extra) number() uint32 { return x.object.Load() & numberMask }

// hide is told that the thread takes or releases a lock, before it learns or publishes.
//
//go:nosplit
func (t *Table) hide(th *Thread, x *extra, i, op uint32) {
	h := &th.hidden
	switch {
	case op <= AcquireShared:
		if h.lock == i && h.seen == x.object.Load() && (op == Acquire || h.shared) && t.foreign.Load() == 0 {
			th.since, th.span = h.since, th.Epoch-h.since+placeMask
		}
	case th.shared:
		th.shows()
	case h.lock == i && h.seen == x.object.Load() && h.shared == (op == ReleaseShared) && th.since == th.Epoch:
		// It was told already.
	default:
		// What is published for readers is not seen by those that take the lock like them.
		h.lock, h.seen, h.since, h.shared = i, x.object.Load(), th.since, op == ReleaseShared
		th.begins()
	}
}

// seen notes that somebody has learnt something by taking a lock.
//
//go:nosplit
func (t *Table) seen(x *extra) {
	object := x.object.Load() + numberMask + 1
	storeRelease32(&x.object, object)
	if object <= numberMask { // it is counted anew
		t.life.Add(1)
	}
}

// vacate notes that an extra has no object any more.
//
//go:nosplit
func (t *Table) vacate(x *extra) {
	storeRelease32(&x.object, x.object.Load()&^numberMask)
	t.seen(x)
}

// Foreign is told that a thread is about to release a lock that it has not taken, or has released:
// then others may get a lock that a thread takes for its own.
//
//go:nosplit
func (t *Table) Foreign() {
	if t.foreign.Load() == 0 {
		t.foreign.Store(1)
		t.life.Add(1)
	}
}

// newObject makes an object at a byte of a word. It returns the new head, and the number
// of the object's extra, 0 if there is no memory.
//
//go:nosplit
func (t *Table) newObject(head uint64, number uint32) (uint64, uint32) {
	first := uint32(head >> headExtra)
	for i := first; i != 0; i = extraAt(i).next {
		if x := extraAt(i); x.number() == 0 {
			storeRelease32(&x.object, x.object.Load()|number)
			return head, i
		}
	}
	fresh := t.newExtra()
	if fresh == 0 {
		return head, 0
	}
	x := extraAt(fresh)
	storeRelease32(&x.object, x.object.Load()|number)
	if first == 0 {
		return head | uint64(fresh)<<headExtra, fresh
	}
	extraAt(fresh).next = extraAt(first).next // the first has the crowd
	extraAt(first).next = fresh
	return head, fresh
}

//go:nosplit
func (s *stamp) zero() bool { return s.word.Load() == 0 }

//go:nosplit
func (s *stamp) latest() uint64 { return s.word.Load() &^ soleBit }

// exactly returns the epoch at the end of which the stamp is exactly its thread's clock, 0 if
// there is none.
//
//go:nosplit
func (s *stamp) exactly() uint64 {
	if w := s.word.Load(); w&soleBit != 0 {
		return w &^ soleBit
	}
	return 0
}

//go:nosplit
func (s *stamp) sole() bool { return s.word.Load()&soleBit != 0 }

// say changes the word, and second. The turn is counted before.
//
//go:nosplit
func (s *stamp) say(word, second uint64) {
	s.second = second
	storeRelease32(&s.turns, s.turns.Load()+1)
	storeRelease(&s.word, word)
}

// knowsAll reports whether the thread is sure to know all of a stamp, by its word.
//
//go:nosplit
func (t *Table) knowsAll(th *Thread, word uint64) bool {
	return word == 0 || word&soleBit != 0 && t.knows(th, word&^soleBit)
}

// by reports whether the stamp is exactly what its thread published at the end of epoch e.
//
//go:nosplit
func (s *stamp) by(e uint64) bool { return s.word.Load() == e|soleBit }

// stamped reports whether who sees the stamp covers an epoch.
//
//go:nosplit
func (t *Table) stamped(s *stamp, e uint64) bool {
	latest := s.latest()
	return e <= latest && e>>timeBits == latest>>timeBits ||
		uint32(e&maxTime) <= t.timeOf(s.clock, uint32(e>>timeBits))
}

// includes reports whether the stamp is sure to cover all that the thread has learnt.
//
//go:nosplit
func (t *Table) includes(s *stamp, th *Thread) bool {
	if th.said != unsaid && t.stamped(s, th.said) {
		return true
	}
	for i := range th.through {
		e := th.through[i]
		if e == 0 {
			return i > 0
		}
		if !t.stamped(s, e) || !t.same(e) {
			return false
		}
	}
	return true
}

// learnt notes what the thread has learnt, besides what it knew if rest is set, by seeing a stamp
// that is exactly a thread's clock at the end of epoch e, of 0 if it is not.
//
//go:nosplit
func (t *Table) learnt(th *Thread, e uint64, rest bool) {
	if !rest || e == 0 {
		th.through = [throughs]uint64{e}
		return
	}
	for i := 0; i < throughs && th.through[0] != 0; i++ {
		switch old := th.through[i]; {
		case old == 0:
			th.through[i] = e
			return
		case old>>timeBits == e>>timeBits && t.same(min(old, e)): // who knows the later one knows both
			th.through[i] = max(old, e)
			return
		}
	}
	th.through = [throughs]uint64{}
	if th.said != unsaid { // all before is known through the thread itself
		th.through = [throughs]uint64{th.said, e}
	}
}

//go:nosplit
func (t *Table) reset(s *stamp) {
	if s.clock != within {
		t.drop(s.clock)
	}
	s.clock = 0
	s.say(0, 0)
}

// present returns the epoch that the thread publishes next. While it has neither accessed
// nor learnt anything since it published last, that is once more the same: nobody can
// tell.
//
//go:nosplit
func (t *Table) present(th *Thread) uint64 {
	e := th.Epoch >> placeBits
	if th.said+1 == e && th.last != e {
		return th.said
	}
	return e
}

// publish ends the thread's epoch, which has just been published, unless it is an earlier
// one that has been.
//
//go:nosplit
func (t *Table) publish(th *Thread) {
	e := th.Epoch >> placeBits
	if t.present(th) != e {
		return
	}
	th.said, th.told = e, e
	if th.shared {
		th.said = unsaid
	}
	t.advance(th)
}

// see joins the thread's clock with a stamp, and reports whether there was anything to learn.
//
//go:nosplit
func (t *Table) see(th *Thread, s *stamp) bool {
	if t.knowsAll(th, s.word.Load()) {
		return false
	}
	all := t.includes(s, th)
	if all { // so it is when a lock comes back to the thread
		if !t.overwrite(th.clock, s.clock) {
			t.drop(th.clock)
			th.clock = share(s.clock)
		}
		t.learnt(th, s.exactly(), false)
	} else {
		clock, more, rest := t.join(th.clock, s.clock)
		th.clock = clock
		if !more && t.covers(th, s.latest()) {
			return false
		}
		t.learnt(th, s.exactly(), rest)
	}
	th.said = unsaid
	th.learn(t.raise(th.clock, s.latest()))
	if all && th.clock != s.clock && !t.short() { // who comes next need not raise it again
		t.drop(s.clock)
		s.clock = share(th.clock)
	}
	return true
}

// upToDate reports whether the thread covers all of a stamp.
//
//go:nosplit
func (t *Table) upToDate(th *Thread, s *stamp) bool {
	switch {
	case s.sole():
		return t.knows(th, s.latest())
	case !t.covers(th, s.latest()):
		return false
	case th.shared:
		return t.covered(s.clock, th.clock, maxSlots)
	}
	return t.covered(s.clock, th.clock, uint32(slotOf(th.Epoch)))
}

// merge publishes the thread's clock through a stamp of an extra, besides what is there.
//
//go:nosplit
func (t *Table) merge(th *Thread, x *extra, s *stamp) {
	e := t.present(th)
	if t.upToDate(th, s) {
		t.replace(th, x, s, e)
	} else {
		if !t.includes(s, th) {
			s.clock, _, _ = t.join(s.clock, th.clock)
		}
		s.clock = t.raise(s.clock, s.latest())
		s.clock = t.raise(s.clock, e)
		s.say(e, 0)
	}
	t.publish(th)
}

// replace makes the thread's clock, at the end of epoch e, all that the stamp holds.
//
//go:nosplit
func (t *Table) replace(th *Thread, x *extra, s *stamp, e uint64) {
	switch {
	case s == &x.published && t.few():
		t.drop(s.clock)
		s.clock = within
		x.times.set(blockAt(th.low))
	case s.clock != th.clock && !t.overwrite(s.clock, th.clock):
		again := s.clock != 0 && t.short()
		t.drop(s.clock)
		s.clock = share(th.clock)
		if again { // who comes next is to find what nobody else has, and can change it in place
			if s.clock = t.own(s.clock); s.clock != 0 {
				t.ownBlock(s.clock, 0)
			}
		}
	}
	if th.shared { // others have epochs of the slot who know other things
		s.clock = t.raise(s.clock, e)
		s.say(e, 0)
		return
	}
	s.say(e|soleBit, 0)
}
