package tree

import "github.com/heisen-go/heisen"

// lock is what is known of a lock.
//
// A lock about which the stream shows what locks do not do (it is released by
// who does not hold it, taken while it is held, its memory given away) ends
// there, and a new one begins at its address: detectors that compare locksets
// may see it so.
type lock struct {
	at        heisen.Object
	owner     *thread
	depth     int32 // of owner's holds
	readHolds int32 // holds for reading, of all threads

	release   pendingRelease // of the latest Release
	forwarded uint64         // release.by.version when that was handed on last
	deferred  int32          // where in Filter.wait its Acquire is, from 1; 0 if it is not

	// isMessage says that the address is used for messages too, or atomically.
	// Then what is released can be seen without taking the lock.
	isMessage bool

	epoch   uint64            // unlike that of any other lock
	readers []*pendingRelease // of ReleaseShared, one a thread

	next *lock // in the list of free objects
}

// maxReaders bounds the pledges of readers.
const maxReaders = 16

const (
	recentLockShift = 54
	numRecentLocks  = 1 << (64 - recentLockShift)
)

// lockAt returns what is known of the lock at o.
func (f *Filter) lockAt(o heisen.Object) *lock {
	lately := &f.recentLocks[o>>3*0x9e3779b97f4a7c15>>recentLockShift]
	if s := *lately; s != nil && s.at == o {
		return s
	}
	s := f.findLock(o)
	*lately = s
	return s
}

func (f *Filter) findLock(o heisen.Object) *lock {
	p := f.locks.At(o)
	s := *p
	if s != nil && s != &f.message {
		return s
	}
	mixed := s != nil
	if s = f.free; s != nil {
		f.free = s.next
		s.next = nil
	} else {
		s = new(lock)
	}
	f.epochs++
	f.liveLocks++
	s.at, s.epoch, s.isMessage = o, f.epochs, mixed
	*p = s
	return s
}

// recentLock returns the lock of r if it is at hand, and r's thread is the one that was
// there last; otherwise nil.
func (f *Filter) recentLock(r *heisen.Record) *lock {
	s := f.recentLocks[r.Object>>3*0x9e3779b97f4a7c15>>recentLockShift]
	if s == nil || s.at != r.Object || r.Flags&^neutralFlags != 0 || f.current == nil || f.current.id != r.Thread {
		return nil
	}
	return s
}

// isEmptySection takes the beginning and the end of a critical section of which the
// detector need not know, in the usual case. It reports false, and leaves all as
// it is, if r is not such.
func (f *Filter) isEmptySection(r *heisen.Record) bool {
	s := f.recentLock(r)
	if s == nil || f.contexts == nil {
		return false
	}
	t := f.current
	if r.Op == heisen.Acquire {
		if s.owner != nil || s.readHolds > 0 || !f.deferred.add(s, r) {
			return false
		}
		s.owner = t
		s.depth = 1
		f.pushHeld(t, s.epoch<<1)
		return true
	}
	if s.deferred == 0 || s.depth > 1 || s.owner != t {
		return false
	}
	f.deferred.remove(s)
	s.owner, s.depth = nil, 0
	f.removeHeld(t, s.epoch<<1)
	f.droppedLocks += 2
	return true
}

// isRepeatedLockOp takes operations by which a thread takes or releases a lock once more
// that nobody else has used since, and publishes nothing new. It reports false,
// and leaves all as it is, if r is not such.
func (f *Filter) isRepeatedLockOp(r *heisen.Record) bool {
	s := f.recentLock(r)
	if s == nil {
		return false
	}
	t := f.current
	p := &s.release
	if p.by != t || len(s.readers) > 0 {
		return false
	}
	if r.Op == heisen.Acquire {
		f.droppedLocks++
		s.owner = t
		s.depth++
		if p.pending {
			p.pending, p.reliance = false, t.reliance
			t.validFromStale = true
			if t.pending--; t.pending == 0 {
				t.validFrom, t.validFromStale = t.base, false
			}
		}
		return true
	}
	if s.forwarded != t.version || s.owner != t || p.pending || !p.listed {
		return false
	}
	f.droppedLocks++
	if s.depth--; s.depth == 0 {
		s.owner = nil
	}
	p.pending = true
	t.pending++
	t.validFrom = max(t.validFrom, p.time)
	return true
}

// acquire takes an Acquire, and reports whether the detector can do without it,
// at least for now.
func (f *Filter) acquire(t *thread, r *heisen.Record) bool {
	s := f.lockAt(r.Object)
	free := s.owner == nil && s.readHolds == 0
	if s.release.by == t && len(s.readers) == 0 { // then nobody else holds it
		s.owner = t
		s.depth++
		t.reacquire(&s.release)
		if f.lockUse == heisen.LocksAsOrder && r.Flags&^neutralFlags == 0 {
			f.droppedLocks++
			return true
		}
	} else if free && f.contexts != nil {
		s.owner = t
		s.depth = 1
		f.pushHeld(t, s.epoch<<1)
	} else {
		f.acquireAny(t, s)
	}
	if r.Flags&^neutralFlags != 0 {
		f.lockWord(t, r)
	} else if free && f.lockUse == heisen.LocksAsSets && f.deferred.add(s, r) {
		return true
	}
	t.version++
	return false
}

// lockWord takes an operation of a lock that is memory.
func (f *Filter) lockWord(t *thread, r *heisen.Record) {
	if r.Flags&heisen.LockWord != 0 {
		f.history.setShared(t, r)
	}
	f.flagged(r)
}

func (f *Filter) acquireAny(t *thread, s *lock) {
	if s.owner != t && s.owner != nil || s.readHolds > 0 && s.readHolds > t.reads(s) {
		f.retire(s)
	}
	s.owner = t
	s.depth++
	if f.contexts != nil {
		f.pushHeld(t, s.epoch<<1)
		return
	}
	if s.release.by == t {
		t.reacquire(&s.release)
	} else if s.release.by != nil {
		f.observed(&s.release)
	}
	if len(s.readers) > 0 {
		f.observeReaders(t, s)
	}
}

// observeReaders says that t has seen what readers of s have released.
func (f *Filter) observeReaders(t *thread, s *lock) {
	mine := s.readers[:0]
	for _, p := range s.readers {
		if p.by == t {
			t.reacquire(p)
			mine = append(mine, p)
			continue
		}
		if p.by != nil {
			f.observed(p)
		}
		f.freePending = append(f.freePending, p)
	}
	clear(s.readers[len(mine):])
	s.readers = mine
}

// observed says that somebody else has seen what p is of: the pledge is broken.
func (f *Filter) observed(p *pendingRelease) {
	t := p.by
	if p.pending {
		t.pending--
	} else if t.reliance != p.reliance {
		f.violations++
	}
	t.invalidate(p.time)
	p.by, p.pending = nil, false
}

// release takes a Release, and reports whether the detector can do without it.
func (f *Filter) release(t *thread, r *heisen.Record) bool {
	s := f.lockAt(r.Object)
	if s.owner != t {
		f.retire(s)
		f.publish(t)
		t.version++
		f.lockWord(t, r)
		return false
	}
	if s.depth--; s.depth == 0 {
		s.owner = nil
	}
	needless := false
	if s.deferred != 0 && s.depth == 0 && r.Flags&^neutralFlags == 0 {
		f.deferred.remove(s)
		f.droppedLocks += 2
		needless = true
	}
	if f.contexts != nil {
		f.removeHeld(t, s.epoch<<1)
	} else if s.release.by == t && s.forwarded == t.version && len(s.readers) == 0 && r.Flags&^neutralFlags == 0 {
		f.repeatPending(t, &s.release)
		if f.lockUse == heisen.LocksAsOrder {
			f.droppedLocks++
			return true
		}
	} else {
		f.releaseAny(t, s)
	}
	if needless {
		return true
	}
	if r.Flags&^neutralFlags != 0 {
		t.version++
		f.lockWord(t, r)
	}
	return false
}

func (f *Filter) releaseAny(t *thread, s *lock) {
	if s.isMessage {
		t.version++
		f.publish(t)
		return
	}
	if s.release.by != t && s.release.by != nil {
		f.observed(&s.release)
	}
	for i, p := range s.readers {
		if p.by == t { // now the release has it all
			f.dropPending(p)
			s.readers = remove(s.readers, i)
			break
		}
	}
	f.addPending(t, &s.release)
	s.forwarded = t.version
}

func (f *Filter) acquireShared(t *thread, o heisen.Object) {
	s := f.lockAt(o)
	if s.owner != t && s.owner != nil {
		f.retire(s)
	}
	s.readHolds++
	t.shared = append(t.shared, sharedHold{s, s.epoch})
	if f.contexts != nil {
		f.pushHeld(t, s.epoch<<1|1)
		return
	}
	// What was released before is seen; by t itself, it may still be seen by
	// another reader.
	if p := &s.release; p.by != t && p.by != nil {
		f.observed(p)
	}
	// What readers released is seen by who takes the lock exclusively.
	for _, p := range s.readers {
		if p.by == t {
			t.reacquire(p)
			break
		}
	}
}

func (f *Filter) releaseShared(t *thread, o heisen.Object) {
	s := f.lockAt(o)
	if !t.unshare(s) {
		// It may have taken the lock while the filter slept, and then those who
		// read as well are none the wiser.
		if !f.missedLocks || s.owner != nil || s.release.by != nil {
			f.retire(s)
		}
		f.publish(t)
		return
	}
	s.readHolds--
	if f.contexts != nil {
		f.removeHeld(t, s.epoch<<1|1)
		return
	}
	if s.isMessage {
		f.publish(t)
		return
	}
	for _, p := range s.readers {
		if p.by == t {
			f.addPending(t, p)
			return
		}
	}
	if len(s.readers) >= maxReaders && !f.dropReader(s) {
		f.publish(t)
		return
	}
	p := f.newPending()
	s.readers = append(s.readers, p)
	f.addPending(t, p)
}

// dropReader makes room for a reader's pledge in s, and reports whether it could.
func (f *Filter) dropReader(s *lock) bool {
	for i, p := range s.readers {
		if p.pending {
			f.observed(p)
			f.freePending = append(f.freePending, p)
			s.readers = remove(s.readers, i)
			return true
		}
	}
	return false
}

func (f *Filter) newPending() *pendingRelease {
	n := len(f.freePending)
	if n == 0 {
		return new(pendingRelease)
	}
	p := f.freePending[n-1]
	f.freePending = f.freePending[:n-1]
	return p
}

// dropPending lets p go without exposing anything.
func (f *Filter) dropPending(p *pendingRelease) {
	if p.pending {
		p.by.pending--
	}
	p.by, p.pending = nil, false
	f.freePending = append(f.freePending, p)
}

func remove(list []*pendingRelease, i int) []*pendingRelease {
	n := len(list) - 1
	list[i] = list[n]
	list[n] = nil
	return list[:n]
}

// useAsMessage notes that o is used for messages or atomically. Only what is published
// so needs an entry if there is none.
func (f *Filter) useAsMessage(o heisen.Object, publishes bool) {
	if f.contexts != nil {
		return // there locks publish nothing
	}
	var p **lock
	if publishes {
		p = f.locks.At(o)
	} else if p = f.locks.Peek(o); p == nil {
		return
	}
	switch s := *p; {
	case s == nil:
		*p = &f.message
	case s != &f.message:
		f.observeAll(s)
		s.isMessage = true
	}
}

// overwrite notes an atomic store to o, which ends the life of a lock there.
func (f *Filter) overwrite(o heisen.Object) {
	if p := f.locks.Peek(o); p != nil && *p != nil && *p != &f.message {
		f.retire(*p)
	}
	f.useAsMessage(o, true)
}

// observeAll breaks the pledges of s.
func (f *Filter) observeAll(s *lock) {
	if s.release.by != nil {
		f.observed(&s.release)
	}
	for _, p := range s.readers {
		if p.by != nil {
			f.observed(p)
		}
		f.freePending = append(f.freePending, p)
	}
	clear(s.readers)
	s.readers = s.readers[:0]
}

// retire ends the life of a lock. Who holds it, holds it no more.
func (f *Filter) retire(s *lock) {
	f.observeAll(s)
	if s.owner != nil {
		f.publish(s.owner)
	}
	if s.readHolds > 0 {
		f.publishAll() // who the readers are is not worth knowing
	}
	f.epochs++
	s.epoch, s.owner, s.depth, s.readHolds = f.epochs, nil, 0, 0
}

// forget ends the life of a lock whose memory is given away: what was published
// through it is lost.
func (f *Filter) forget(p **lock) {
	s := *p
	*p = nil
	if s == nil || s == &f.message {
		return
	}
	broken := f.violations
	f.retire(s)
	f.violations = broken
	f.recentLocks[s.at>>3*0x9e3779b97f4a7c15>>recentLockShift] = nil
	*s = lock{readers: s.readers, next: f.free}
	f.free = s
	f.liveLocks--
}

// reads counts t's holds of s for reading.
func (t *thread) reads(s *lock) (n int32) {
	for _, other := range t.shared {
		if other == (sharedHold{s, s.epoch}) {
			n++
		}
	}
	return n
}

// unshare takes away one of t's holds of s for reading, and reports whether
// there was one.
func (t *thread) unshare(s *lock) bool {
	for i := len(t.shared) - 1; i >= 0; i-- {
		if t.shared[i] == (sharedHold{s, s.epoch}) {
			t.shared = append(t.shared[:i], t.shared[i+1:]...)
			return true
		}
	}
	return false
}
