package tree

import "github.com/heisen-go/heisen"

// object is what is known of a lock.
//
// A lock about which the stream shows what locks do not do (it is released by
// who does not hold it, taken while it is held, its memory given away) ends
// there, and a new one begins at its address: detectors that compare locksets
// may see it so.
type object struct {
	at    heisen.Object
	owner *thread
	depth int32 // of owner's holds
	reads int32 // holds for reading, of all threads

	release pledge // of the latest Release
	told    uint64 // release.by.version when that was handed on last
	waits   int32  // where in Filter.wait its Acquire is, from 1; 0 if it is not

	// mixed says that the address is used for messages too, or atomically.
	// Then what is released can be seen without taking the lock.
	mixed bool

	life    uint64    // unlike that of any other lock
	readers []*pledge // of ReleaseShared, one a thread

	next *object // in the list of free objects
}

// maxReaders bounds the pledges of readers.
const maxReaders = 16

const (
	latelyShift = 54
	numLately   = 1 << (64 - latelyShift)
)

// object returns what is known of the lock at o.
func (f *Filter) object(o heisen.Object) *object {
	lately := &f.lately[o>>3*0x9e3779b97f4a7c15>>latelyShift]
	if s := *lately; s != nil && s.at == o {
		return s
	}
	s := f.find(o)
	*lately = s
	return s
}

func (f *Filter) find(o heisen.Object) *object {
	p := f.objects.At(o)
	s := *p
	if s != nil && s != &f.mixed {
		return s
	}
	mixed := s != nil
	if s = f.free; s != nil {
		f.free = s.next
		s.next = nil
	} else {
		s = new(object)
	}
	f.lives++
	f.known++
	s.at, s.life, s.mixed = o, f.lives, mixed
	*p = s
	return s
}

// near returns the lock of r if it is at hand, and r's thread is the one that was
// there last; otherwise nil.
func (f *Filter) near(r *heisen.Record) *object {
	s := f.lately[r.Object>>3*0x9e3779b97f4a7c15>>latelyShift]
	if s == nil || s.at != r.Object || r.Flags&^ordinary != 0 || f.current == nil || f.current.id != r.Thread {
		return nil
	}
	return s
}

// isSection takes the beginning and the end of a critical section of which the
// detector need not know, in the usual case. It reports false, and leaves all as
// it is, if r is not such.
func (f *Filter) isSection(r *heisen.Record) bool {
	s := f.near(r)
	if s == nil || f.contexts == nil {
		return false
	}
	t := f.current
	if r.Op == heisen.Acquire {
		if s.owner != nil || s.reads > 0 || !f.wait.add(s, r) {
			return false
		}
		s.owner = t
		s.depth = 1
		f.take(t, s.life<<1)
		return true
	}
	if s.waits == 0 || s.depth > 1 || s.owner != t {
		return false
	}
	f.wait.remove(s)
	s.owner, s.depth = nil, 0
	f.drop(t, s.life<<1)
	f.locks += 2
	return true
}

// isAgain takes operations by which a thread takes or releases a lock once more
// that nobody else has used since, and publishes nothing new. It reports false,
// and leaves all as it is, if r is not such.
func (f *Filter) isAgain(r *heisen.Record) bool {
	s := f.near(r)
	if s == nil {
		return false
	}
	t := f.current
	p := &s.release
	if p.by != t || len(s.readers) > 0 {
		return false
	}
	if r.Op == heisen.Acquire {
		f.locks++
		s.owner = t
		s.depth++
		if p.pending {
			p.pending, p.across = false, t.across
			t.unsure = true
			if t.pending--; t.pending == 0 {
				t.exposed, t.unsure = t.base, false
			}
		}
		return true
	}
	if s.told != t.version || s.owner != t || p.pending || !p.listed {
		return false
	}
	f.locks++
	if s.depth--; s.depth == 0 {
		s.owner = nil
	}
	p.pending = true
	t.pending++
	t.exposed = max(t.exposed, p.time)
	return true
}

// acquire takes an Acquire, and reports whether the detector can do without it,
// at least for now.
func (f *Filter) acquire(t *thread, r *heisen.Record) bool {
	s := f.object(r.Object)
	free := s.owner == nil && s.reads == 0
	if s.release.by == t && len(s.readers) == 0 { // then nobody else holds it
		s.owner = t
		s.depth++
		t.callBack(&s.release)
		if f.use == heisen.LocksAsOrder && r.Flags&^ordinary == 0 {
			f.locks++
			return true
		}
	} else if free && f.contexts != nil {
		s.owner = t
		s.depth = 1
		f.take(t, s.life<<1)
	} else {
		f.acquireAny(t, s)
	}
	if r.Flags&^ordinary != 0 {
		f.lockWord(t, r)
	} else if free && f.use == heisen.LocksAsSets && f.wait.add(s, r) {
		return true
	}
	t.version++
	return false
}

// lockWord takes an operation of a lock that is memory.
func (f *Filter) lockWord(t *thread, r *heisen.Record) {
	if r.Flags&heisen.LockWord != 0 {
		f.history.share(t, r)
	}
	f.flagged(r)
}

func (f *Filter) acquireAny(t *thread, s *object) {
	if s.owner != t && s.owner != nil || s.reads > 0 && s.reads > t.reads(s) {
		f.retire(s)
	}
	s.owner = t
	s.depth++
	if f.contexts != nil {
		f.take(t, s.life<<1)
		return
	}
	if s.release.by == t {
		t.callBack(&s.release)
	} else if s.release.by != nil {
		f.seen(&s.release)
	}
	if len(s.readers) > 0 {
		f.seeReaders(t, s)
	}
}

// seeReaders says that t has seen what readers of s have released.
func (f *Filter) seeReaders(t *thread, s *object) {
	mine := s.readers[:0]
	for _, p := range s.readers {
		if p.by == t {
			t.callBack(p)
			mine = append(mine, p)
			continue
		}
		if p.by != nil {
			f.seen(p)
		}
		f.freePledges = append(f.freePledges, p)
	}
	clear(s.readers[len(mine):])
	s.readers = mine
}

// seen says that somebody else has seen what p is of: the pledge is broken.
func (f *Filter) seen(p *pledge) {
	t := p.by
	if p.pending {
		t.pending--
	} else if t.across != p.across {
		f.broken++
	}
	t.expose(p.time)
	p.by, p.pending = nil, false
}

// release takes a Release, and reports whether the detector can do without it.
func (f *Filter) release(t *thread, r *heisen.Record) bool {
	s := f.object(r.Object)
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
	if s.waits != 0 && s.depth == 0 && r.Flags&^ordinary == 0 {
		f.wait.remove(s)
		f.locks += 2
		needless = true
	}
	if f.contexts != nil {
		f.drop(t, s.life<<1)
	} else if s.release.by == t && s.told == t.version && len(s.readers) == 0 && r.Flags&^ordinary == 0 {
		f.again(t, &s.release)
		if f.use == heisen.LocksAsOrder {
			f.locks++
			return true
		}
	} else {
		f.releaseAny(t, s)
	}
	if needless {
		return true
	}
	if r.Flags&^ordinary != 0 {
		t.version++
		f.lockWord(t, r)
	}
	return false
}

func (f *Filter) releaseAny(t *thread, s *object) {
	if s.mixed {
		t.version++
		f.publish(t)
		return
	}
	if s.release.by != t && s.release.by != nil {
		f.seen(&s.release)
	}
	for i, p := range s.readers {
		if p.by == t { // now the release has it all
			f.dropPledge(p)
			s.readers = remove(s.readers, i)
			break
		}
	}
	f.pledge(t, &s.release)
	s.told = t.version
}

func (f *Filter) acquireShared(t *thread, o heisen.Object) {
	s := f.object(o)
	if s.owner != t && s.owner != nil {
		f.retire(s)
	}
	s.reads++
	t.shared = append(t.shared, share{s, s.life})
	if f.contexts != nil {
		f.take(t, s.life<<1|1)
		return
	}
	// What was released before is seen; by t itself, it may still be seen by
	// another reader.
	if p := &s.release; p.by != t && p.by != nil {
		f.seen(p)
	}
	// What readers released is seen by who takes the lock exclusively.
	for _, p := range s.readers {
		if p.by == t {
			t.callBack(p)
			break
		}
	}
}

func (f *Filter) releaseShared(t *thread, o heisen.Object) {
	s := f.object(o)
	if !t.unshare(s) {
		// It may have taken the lock while the filter slept, and then those who
		// read as well are none the wiser.
		if !f.slept || s.owner != nil || s.release.by != nil {
			f.retire(s)
		}
		f.publish(t)
		return
	}
	s.reads--
	if f.contexts != nil {
		f.drop(t, s.life<<1|1)
		return
	}
	if s.mixed {
		f.publish(t)
		return
	}
	for _, p := range s.readers {
		if p.by == t {
			f.pledge(t, p)
			return
		}
	}
	if len(s.readers) >= maxReaders && !f.dropReader(s) {
		f.publish(t)
		return
	}
	p := f.newPledge()
	s.readers = append(s.readers, p)
	f.pledge(t, p)
}

// dropReader makes room for a reader's pledge in s, and reports whether it could.
func (f *Filter) dropReader(s *object) bool {
	for i, p := range s.readers {
		if p.pending {
			f.seen(p)
			f.freePledges = append(f.freePledges, p)
			s.readers = remove(s.readers, i)
			return true
		}
	}
	return false
}

func (f *Filter) newPledge() *pledge {
	n := len(f.freePledges)
	if n == 0 {
		return new(pledge)
	}
	p := f.freePledges[n-1]
	f.freePledges = f.freePledges[:n-1]
	return p
}

// dropPledge lets p go without exposing anything.
func (f *Filter) dropPledge(p *pledge) {
	if p.pending {
		p.by.pending--
	}
	p.by, p.pending = nil, false
	f.freePledges = append(f.freePledges, p)
}

func remove(list []*pledge, i int) []*pledge {
	n := len(list) - 1
	list[i] = list[n]
	list[n] = nil
	return list[:n]
}

// mix notes that o is used for messages or atomically. Only what is published
// so needs an entry if there is none.
func (f *Filter) mix(o heisen.Object, publishes bool) {
	if f.contexts != nil {
		return // there locks publish nothing
	}
	var p **object
	if publishes {
		p = f.objects.At(o)
	} else if p = f.objects.Peek(o); p == nil {
		return
	}
	switch s := *p; {
	case s == nil:
		*p = &f.mixed
	case s != &f.mixed:
		f.breakAll(s)
		s.mixed = true
	}
}

// overwrite notes an atomic store to o, which ends the life of a lock there.
func (f *Filter) overwrite(o heisen.Object) {
	if p := f.objects.Peek(o); p != nil && *p != nil && *p != &f.mixed {
		f.retire(*p)
	}
	f.mix(o, true)
}

// breakAll breaks the pledges of s.
func (f *Filter) breakAll(s *object) {
	if s.release.by != nil {
		f.seen(&s.release)
	}
	for _, p := range s.readers {
		if p.by != nil {
			f.seen(p)
		}
		f.freePledges = append(f.freePledges, p)
	}
	clear(s.readers)
	s.readers = s.readers[:0]
}

// retire ends the life of a lock. Who holds it, holds it no more.
func (f *Filter) retire(s *object) {
	f.breakAll(s)
	if s.owner != nil {
		f.publish(s.owner)
	}
	if s.reads > 0 {
		f.publishAll() // who the readers are is not worth knowing
	}
	f.lives++
	s.life, s.owner, s.depth, s.reads = f.lives, nil, 0, 0
}

// forget ends the life of a lock whose memory is given away: what was published
// through it is lost.
func (f *Filter) forget(p **object) {
	s := *p
	*p = nil
	if s == nil || s == &f.mixed {
		return
	}
	broken := f.broken
	f.retire(s)
	f.broken = broken
	f.lately[s.at>>3*0x9e3779b97f4a7c15>>latelyShift] = nil
	*s = object{readers: s.readers, next: f.free}
	f.free = s
	f.known--
}

// reads counts t's holds of s for reading.
func (t *thread) reads(s *object) (n int32) {
	for _, other := range t.shared {
		if other == (share{s, s.life}) {
			n++
		}
	}
	return n
}

// unshare takes away one of t's holds of s for reading, and reports whether
// there was one.
func (t *thread) unshare(s *object) bool {
	for i := len(t.shared) - 1; i >= 0; i-- {
		if t.shared[i] == (share{s, s.life}) {
			t.shared = append(t.shared[:i], t.shared[i+1:]...)
			return true
		}
	}
	return false
}
