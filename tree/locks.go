package tree

import "github.com/heisen-go/heisen"

// lock is the state of a lock.
//
// If the stream shows that a lock did not exclude (a thread releases it that does not hold it, a thread
// takes it while it is held, or its memory is freed), the lock ends and a new one begins at its
// address, as in detectors that compare locksets.
type lock struct {
	at        heisen.Object
	owner     *thread
	depth     int32 // number of the owner's holds
	readHolds int32 // number of shared holds by all threads

	release   pendingRelease // of the latest Release
	forwarded uint64         // release.by.version when a Release was last forwarded
	deferred  int32          // index of its Acquire in Filter.deferred, from 1; 0 if it is not deferred

	// isMessage means that the address is also used for messages or atomically. Then a release
	// can be observed without taking the lock.
	isMessage bool

	epoch   uint64            // unique
	readers []*pendingRelease // by ReleaseShared, one per thread

	next *lock // in the list of free objects
}

// defaultReaders bounds the pending releases by readers.
const defaultReaders = 16

const (
	recentLockShift = 54
	numRecentLocks  = 1 << (64 - recentLockShift)
)

// lockAt returns the lock at o, a new one if there is none. It returns nil if there is no room for another one: then every release of
// the lock publishes.
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
	s := f.locks.get(o)
	if s != nil && s != &f.message {
		return s
	}
	mixed := s != nil
	if !mixed && !f.makeRoom() {
		return nil
	}
	if s = f.free; s != nil {
		f.free = s.next
		s.next = nil
	} else {
		s = new(lock)
		f.allLocks++
	}
	f.epochs++
	s.at, s.epoch, s.isMessage = o, f.epochs, mixed
	f.locks.put(o, s)
	return s
}

// knownLock returns the lock at o if there is one.
func (f *Filter) knownLock(o heisen.Object) *lock {
	if s := f.locks.get(o); s != &f.message {
		return s
	}
	return nil
}

// makeRoom makes room for another lock or message. It reports whether there is room.
func (f *Filter) makeRoom() bool {
	if f.locks.count < f.maxLocks {
		return true
	}
	o, found := f.locks.evictable(f.isForgettable)
	if found {
		f.forget(o)
	}
	return found
}

// isForgettable reports whether nothing depends on a lock that nobody holds, apart from its pending releases, of which one may suppose
// that they are observed.
func (f *Filter) isForgettable(s *lock) bool {
	return s.owner == nil && s.readHolds == 0 && s.deferred == 0
}

// recentLock returns the lock of r if it was used recently and r is by the current thread. Otherwise it
// returns nil.
func (f *Filter) recentLock(r *heisen.Record) *lock {
	s := f.recentLocks[r.Object>>3*0x9e3779b97f4a7c15>>recentLockShift]
	if s == nil || s.at != r.Object || r.Flags&^neutralFlags != 0 || f.current == nil || f.current.id != r.Thread {
		return nil
	}
	return s
}

// isEmptySection handles the common case of the Acquire or Release of a critical section that does not
// matter to the detector. It reports false, and changes nothing, in any other case.
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

// isRepeatedLockOp handles the common case of an Acquire or Release of a lock that no other thread has
// used since the thread's last Release, and that publishes nothing new. It reports false, and changes
// nothing, in any other case.
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

// acquire handles an Acquire. It reports whether the event is dropped or deferred.
func (f *Filter) acquire(t *thread, r *heisen.Record) bool {
	s := f.lockAt(r.Object)
	if s == nil {
		t.holdsUnknown = f.contexts != nil
		f.flagged(r)
		t.version++
		return false
	}
	free := s.owner == nil && s.readHolds == 0
	if s.release.by == t && len(s.readers) == 0 { // then no other thread holds it
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
		f.flagged(r)
	} else if free && f.lockUse == heisen.LocksAsSets && f.deferred.add(s, r) {
		return true
	}
	t.version++
	return false
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

// observeReaders records that t has observed the releases by readers of s.
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

// observed records that another thread has observed p.
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

// release handles a Release. It reports whether the event is dropped.
func (f *Filter) release(t *thread, r *heisen.Record) bool {
	s := f.lockAt(r.Object)
	if s == nil || s.owner != t {
		if s != nil {
			f.retire(s)
		}
		f.publish(t)
		t.version++
		f.flagged(r)
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
		f.flagged(r)
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
		if p.by == t { // the release includes it
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
	if s == nil {
		t.holdsUnknown = f.contexts != nil
		return
	}
	if s.owner != t && s.owner != nil {
		f.retire(s)
	}
	s.readHolds++
	t.shared = append(t.shared, sharedHold{s, s.epoch})
	if f.contexts != nil {
		f.pushHeld(t, s.epoch<<1|1)
		return
	}
	// t observes the last release by another thread. Its own last release may still be observed
	// by another reader.
	if p := &s.release; p.by != t && p.by != nil {
		f.observed(p)
	}
	// A thread that takes the lock exclusively observes the releases by readers.
	for _, p := range s.readers {
		if p.by == t {
			t.reacquire(p)
			break
		}
	}
}

func (f *Filter) releaseShared(t *thread, o heisen.Object) {
	s := f.lockAt(o)
	if s == nil || !t.unshare(s) {
		// It may have taken the lock while that was unknown. Then other readers have observed nothing.
		if s != nil && (!f.missedLocks || s.owner != nil || s.release.by != nil) {
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
	if len(s.readers) >= f.maxReaders && !f.dropReader(s) {
		f.publish(t)
		return
	}
	p := f.newPending()
	s.readers = append(s.readers, p)
	f.addPending(t, p)
}

// dropReader makes room for a reader's pending release in s. It reports whether it could.
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
		f.pendings++
		return new(pendingRelease)
	}
	p := f.freePending[n-1]
	f.freePending = f.freePending[:n-1]
	return p
}

// dropPending drops p without publishing anything.
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

// useAsMessage records that o is used for messages or atomically. If there is no lock at o, only a
// publication needs an entry.
func (f *Filter) useAsMessage(o heisen.Object, publishes bool) {
	if f.contexts != nil {
		return // with WithMessageOrder locks publish nothing
	}
	switch s := f.locks.get(o); {
	case s == nil:
		if publishes && f.makeRoom() {
			f.locks.put(o, &f.message)
		}
	case s != &f.message:
		f.observeAll(s)
		s.isMessage = true
	}
}

// overwrite handles an atomic store to o, which ends a lock there.
func (f *Filter) overwrite(o heisen.Object) {
	if s := f.knownLock(o); s != nil {
		f.retire(s)
	}
	f.useAsMessage(o, true)
}

// observeAll records that other threads have observed all pending releases of s.
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

// retire ends a lock and begins a new one at its address, which no thread holds.
func (f *Filter) retire(s *lock) {
	f.observeAll(s)
	if s.owner != nil {
		f.publish(s.owner)
	}
	if s.readHolds > 0 {
		f.publishAll() // the readers are not listed
	}
	f.epochs++
	s.epoch, s.owner, s.depth, s.readHolds = f.epochs, nil, 0, 0
}

// forget ends a lock whose memory is allocated or freed, or that nobody holds. No thread has observed its pending releases.
func (f *Filter) forget(o heisen.Object) {
	s := f.locks.get(o)
	f.locks.remove(o)
	if s == nil || s == &f.message {
		return
	}
	broken := f.violations
	f.retire(s)
	f.violations = broken
	f.recentLocks[s.at>>3*0x9e3779b97f4a7c15>>recentLockShift] = nil
	*s = lock{readers: s.readers, next: f.free}
	f.free = s
}

// byStranger handles an event of a thread about which nothing is known, because there are too many. All its events are forwarded.
func (f *Filter) byStranger(r *heisen.Record) {
	f.missedLocks = true
	switch r.Op {
	case heisen.Read, heisen.Write:
	case heisen.Acquire, heisen.AcquireShared:
		if s := f.knownLock(r.Object); s != nil {
			if s.owner != nil {
				f.retire(s)
			}
			switch {
			case r.Op == heisen.Acquire:
				f.observeAll(s)
			case s.release.by != nil: // readers do not observe the releases of readers, who may hold the lock again
				f.observed(&s.release)
			}
		}
		f.flagged(r)
	case heisen.Release, heisen.ReleaseShared:
		if s := f.knownLock(r.Object); s != nil && s.owner != nil {
			f.retire(s)
		}
		f.flagged(r)
	default:
		f.synchronize(&f.stranger, r)
	}
}

// reads returns the number of t's shared holds of s.
func (t *thread) reads(s *lock) (n int32) {
	for _, other := range t.shared {
		if other == (sharedHold{s, s.epoch}) {
			n++
		}
	}
	return n
}

// unshare removes one of t's shared holds of s. It reports whether there was one.
func (t *thread) unshare(s *lock) bool {
	for i := len(t.shared) - 1; i >= 0; i-- {
		if t.shared[i] == (sharedHold{s, s.epoch}) {
			t.shared = append(t.shared[:i], t.shared[i+1:]...)
			return true
		}
	}
	return false
}
