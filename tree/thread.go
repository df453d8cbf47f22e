package tree

import (
	"unsafe"

	"github.com/heisen-go/heisen"
)

// thread is the concurrency context of a thread. It decides whether an access in the history makes the
// thread's next access redundant.
type thread struct {
	id             heisen.Thread
	number         uint32 // dense among live threads; numbers are reused
	pending        int32  // number of pending releases
	validFromStale bool   // validFrom must be recomputed from releases
	keyStale       bool   // with WithMessageOrder, key must be recomputed from held
	holdsUnknown   bool   // with WithMessageOrder, it may hold locks that are not in held: none of its accesses is redundant

	// Spans are numbered by times, which are unique across threads. A span begins when its thread
	// starts or publishes something.
	now       uint64 // the present span
	base      uint64 // publications before this span cannot be reacquired
	validFrom uint64 // the first span whose entries are valid: no later publication is pending; at least base

	key      uint64 // with WithMessageOrder the number of the context, as in entries
	reliance uint64 // dropped accesses that rely on a reacquired release
	version  uint64 // forwarded events, except releases that are pending

	// The pending releases of the thread, by time, and some that were reacquired or became pending
	// again since.
	releases []listedRelease
	shared   []sharedHold // shared holds

	// With WithMessageOrder, the locks held, and their path in the trie of contexts.
	held queue
	path []step
}

// sharedHold is a shared hold of a lock.
type sharedHold struct {
	object *lock
	epoch  uint64
}

// pendingRelease is the release of a lock that no other thread has observed. If the same thread takes
// the lock again before another thread observes the release, it is reacquired: every thread that
// observes it later also observes what the thread does while it holds the lock.
type pendingRelease struct {
	by       *thread // nil if there is none
	time     uint64
	reliance uint64 // by.reliance when it was reacquired
	pending  bool   // not reacquired
	listed   bool   // it is in by.releases, with its time
}

// listedRelease is a pending release at a time.
type listedRelease struct {
	release *pendingRelease
	time    uint64
}

// invalidate makes all entries of spans before time obsolete.
func (t *thread) invalidate(time uint64) {
	if time > t.base {
		t.base, t.validFromStale = time, true
	}
}

// updateValidFrom sets validFrom to the time of the latest pending release, or base. Its cost is
// constant per release.
func (t *thread) updateValidFrom() {
	t.validFrom, t.validFromStale = t.base, false
	for n := len(t.releases); n > 0; n-- {
		if g := t.releases[n-1]; g.pending() {
			t.validFrom = max(t.base, g.time)
			t.releases = t.releases[:n]
			return
		} else {
			g.unlist()
		}
	}
	t.releases = t.releases[:0]
}

func (g listedRelease) pending() bool { return g.release.time == g.time && g.release.pending }

// unlist must be called when g is removed from its list.
func (g listedRelease) unlist() {
	if g.release.time == g.time {
		g.release.listed = false
	}
}

// addPending begins a span of t with a release that can be reacquired.
func (f *Filter) addPending(t *thread, p *pendingRelease) {
	f.time++
	if !p.pending {
		t.pending++
	}
	p.by, p.time, p.pending, p.listed = t, f.time, true, true
	if n := len(t.releases); n == cap(t.releases) {
		t.compactReleases()
	}
	t.releases = append(t.releases, listedRelease{p, f.time})
	t.now, t.validFrom, t.validFromStale = f.time, f.time, false
}

// repeatPending is addPending if t has created no entry since p was last pending. Then the old time
// serves again.
func (f *Filter) repeatPending(t *thread, p *pendingRelease) {
	if p.pending {
		return
	}
	if !p.listed {
		f.addPending(t, p)
		return
	}
	p.pending = true
	t.pending++
	t.validFrom = max(t.validFrom, p.time)
}

// compactReleases removes the releases that are not pending from t.releases, if they are at least half of
// it.
func (t *thread) compactReleases() {
	if 2*int(t.pending) > len(t.releases) {
		return
	}
	kept := t.releases[:0]
	for _, g := range t.releases {
		if g.pending() {
			kept = append(kept, g)
		} else {
			g.unlist()
		}
	}
	t.releases = kept
}

// reacquire records that t has taken p's lock again.
func (t *thread) reacquire(p *pendingRelease) {
	if p.pending {
		p.pending, p.reliance = false, t.reliance
		t.pending--
		t.validFromStale = true
		if t.pending == 0 {
			t.validFrom, t.validFromStale = t.base, false
		}
	}
}

// forked records that a running thread is ordered after another one's Fork of it.
func (f *Filter) forked(o heisen.Object) {
	if heisen.Object(o.Thread()) != o {
		return
	}
	if t := f.threads[o.Thread()]; t != nil {
		t.version++
	}
}

// bytes returns the size of t and its lists.
func (t *thread) bytes() uint64 {
	if t == nil {
		return 0
	}
	return uint64(unsafe.Sizeof(*t)) + uint64(cap(t.releases))*uint64(unsafe.Sizeof(listedRelease{})) +
		uint64(cap(t.shared))*uint64(unsafe.Sizeof(sharedHold{})) + uint64(cap(t.held.all))*8 + uint64(cap(t.path))*uint64(unsafe.Sizeof(step{}))
}

// thread returns the live thread id, or the stranger.
func (f *Filter) thread(id heisen.Thread) *thread {
	if t := f.recent[id%numRecent]; t != nil && t.id == id {
		return t
	}
	t := f.threads[id]
	if t == nil {
		if len(f.threads) >= f.maxThreads {
			f.stranger.id = id
			return &f.stranger
		}
		t = f.start(id)
	}
	f.recent[id%numRecent] = t
	return t
}

const numRecent = 64

func (f *Filter) start(id heisen.Thread) *thread {
	var t *thread
	if n := len(f.spare); n > 0 {
		t, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		t = new(thread)
	}
	t.id = id
	f.threads[id] = t
	f.mostThreads = max(f.mostThreads, len(f.threads))
	t.holdsUnknown = f.contexts != nil && f.missedLocks
	if n := len(f.unused); n > 0 {
		t.number = f.unused[n-1]
		f.unused = f.unused[:n-1]
		f.byNumber[t.number] = t
	} else {
		t.number = uint32(len(f.byNumber))
		f.byNumber = append(f.byNumber, t)
	}
	t.key = uint64(t.number) << contextShift
	t.keyStale = f.contexts != nil
	f.publish(t)
	return t
}

// end drops a thread. If it has further events, it is a new thread.
func (f *Filter) end(id heisen.Thread) {
	t := f.threads[id]
	if t == nil {
		return
	}
	for len(t.shared) > 0 {
		s := t.shared[len(t.shared)-1]
		t.shared = t.shared[:len(t.shared)-1]
		if s.object.epoch == s.epoch {
			f.retire(s.object) // a lock that is never released excludes nothing
		}
	}
	for _, g := range t.releases {
		if g.pending() {
			g.release.by, g.release.pending = nil, false
		}
	}
	f.byNumber[t.number] = nil
	f.unused = append(f.unused, t.number)
	f.recent[id%numRecent] = nil
	delete(f.threads, id)
	f.current = nil
}

// publish begins a span: any thread may observe what t has done so far.
func (f *Filter) publish(t *thread) {
	f.time++
	t.now, t.base, t.validFrom = f.time, f.time, f.time
}

// publishAll begins a span of every thread.
func (f *Filter) publishAll() {
	for _, t := range f.byNumber {
		if t != nil {
			f.publish(t)
		}
	}
}
