package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// hold is the hold of a lock by a thread, in one mode.
type hold struct {
	section    int32 // of the outermost acquisition
	thread     int32
	shared     bool
	times      int             // acquisitions without a release
	reacquired []order.Node    // the nested acquisitions without a release
	inner      CriticalSection // the latest nested section that has ended, if innerEnded
	innerEnded bool
}

// endedHold is a hold that another thread has ended, where that is ordered with the next hold by the
// same thread: a hold of a lock that is not unowned, or a shared hold.
type endedHold struct {
	thread  int32 // whose hold it was
	release order.Node
}

// checkLocks finds the locks whose events violate mutual exclusion or release a lock that is not
// held. Such a lock keeps the order of all its events. checkLocks also finds unowned locks: those
// with an exclusive hold that another thread ends, unless a thread acquires the lock again while it
// holds it, which no lock of Go allows.
func (b *builder) checkLocks() {
	for _, h := range b.Window.Held {
		s := b.sync(h.Lock)
		s.reacquired = s.reacquired || s.reacquires(b.threadIndex(h.Thread), h.Shared)
		if !s.addHold(b.threadIndex(h.Thread), h.Shared) {
			s.ordered = true
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		if !window.IsLockOp(r.Op) {
			continue
		}
		s, shared := b.sync(r.Object), r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			s.reacquired = s.reacquired || s.reacquires(b.thread[i], shared)
			if !s.addHold(b.thread[i], shared) {
				s.ordered = true
			}
		default:
			h := s.holdEndedBy(b.thread[i], shared)
			s.foreign = s.foreign || h >= 0 && s.holds[h].thread != b.thread[i] && !shared
			if h < 0 || s.holds[h].thread != b.thread[i] && s.holds[h].times > 1 {
				s.ordered = true
			}
			if h >= 0 {
				s.endHold(h)
			}
		}
	}
	for _, s := range b.syncs {
		s.holds = s.holds[:0]
		if s.foreign && !s.reacquired && !s.ordered && !b.Literal {
			s.unowned, b.hasUnowned = new(unownedLock), true
		}
	}
}

// addHold adds a hold of the lock by a thread. It reports false, and adds nothing, if another thread
// holds the lock in a mode that excludes it.
func (s *syncUse) addHold(thread int32, shared bool) bool {
	own := -1
	for i, h := range s.holds {
		if h.thread != thread && !(shared && h.shared) {
			return false
		}
		if h.thread == thread && h.shared == shared {
			own = i
		}
	}
	if own >= 0 {
		s.holds[own].times++
	} else {
		s.holds = append(s.holds, hold{section: -1, thread: thread, shared: shared, times: 1})
	}
	return true
}

// holdEndedBy returns the hold that a release by a thread ends: its own, or else the first one in
// this mode, since any thread may release a lock of Go. It returns -1 if there is none.
func (s *syncUse) holdEndedBy(thread int32, shared bool) int {
	at := -1
	for i, h := range s.holds {
		if h.shared == shared && (at < 0 || h.thread == thread) {
			at = i
			if h.thread == thread {
				break
			}
		}
	}
	return at
}

// endHold undoes one acquisition of a hold, and reports whether that ends the hold.
func (s *syncUse) endHold(at int) bool {
	if s.holds[at].times--; s.holds[at].times > 0 {
		return false
	}
	s.holds = slices.Delete(s.holds, at, at+1)
	return true
}

// holdAtStart begins the section of a lock that is held at the start of the window.
func (b *builder) holdAtStart(h window.HeldLock) {
	s := b.syncs[h.Lock]
	if s == nil || !s.shared || s.use.ordered || s.unowned != nil && !h.Shared {
		return
	}
	b.acquire(s, h.Lock, b.threadOf[h.Thread], h.Shared, None)
}

// acquire begins a section, unless the thread holds the lock already.
func (b *builder) acquire(s *syncUse, object heisen.Object, t int32, shared bool, n order.Node) {
	for _, e := range s.ended {
		if e.thread == t && n != None {
			b.readsFrom(e.release, n)
		}
	}
	for i := range s.holds {
		if h := &s.holds[i]; h.thread == t && h.shared == shared {
			h.times++
			h.reacquired = append(h.reacquired, n)
			return
		}
	}
	if s.index == 0 {
		b.Locks = append(b.Locks, lock{object: object})
		s.index = int32(len(b.Locks))
	}
	id := int32(len(b.Sections))
	chain := int32(-1)
	if n != None {
		chain = b.Chain[n]
		b.Begins[n] = id
	} else if at := slices.Index(b.threads, b.present[t]); at >= 0 {
		chain = int32(at)
	}
	b.Sections = append(b.Sections, CriticalSection{Lock: s.index - 1, Chain: chain, Shared: shared, Acquire: n, Release: None})
	l := &b.Locks[s.index-1]
	l.Sections = append(l.Sections, id)
	s.holds = append(s.holds, hold{section: id, thread: t, shared: shared, times: 1})
}

// release ends the section of the hold that a release by thread t ends, or a nested section.
func (b *builder) release(s *syncUse, t int32, shared bool, n order.Node) {
	at := s.holdEndedBy(t, shared)
	if at < 0 {
		return // checkLocks has found that the lock is not used as one
	}
	h := s.holds[at] // a copy, because endHold may delete it
	id, holder := h.section, h.thread
	if !s.endHold(at) {
		outer := &s.holds[at]
		last := len(outer.reacquired) - 1
		outer.inner, outer.innerEnded = b.Sections[id], true
		outer.inner.Acquire, outer.inner.Release = outer.reacquired[last], n
		outer.reacquired = outer.reacquired[:last]
		return
	}
	x := &b.Sections[id]
	x.Release = n
	b.Ends[n] = id
	if h.innerEnded && !b.Before(h.inner.Release, n) {
		// Another thread ends the hold. That release may move before the release of the nested
		// section, and then the lock is held until both have happened. So the nested section
		// becomes a section of its own.
		inner := int32(len(b.Sections))
		b.Sections = append(b.Sections, h.inner)
		b.Locks[h.inner.Lock].Sections = append(b.Locks[h.inner.Lock].Sections, inner)
		b.Ends[h.inner.Release] = inner
		if a := h.inner.Acquire; a != None {
			b.Begins[a] = inner
		}
		x = &b.Sections[id]
	}
	if x.Chain != b.Chain[n] { // another thread releases the lock
		if x.Acquire != None {
			b.readsFrom(x.Acquire, n)
		}
		s.ended = append(s.ended, endedHold{holder, n})
	}
}
