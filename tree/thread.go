package tree

import "github.com/heisen-go/heisen"

// thread is the concurrency context of a thread: what decides whether an access
// that is in the history stands for the thread's next one.
type thread struct {
	id             heisen.Thread
	number         uint32 // dense among live threads; a number is used again
	pending        int32  // pledges that it has given and not called back
	validFromStale bool   // exposed is not that of given
	keyStale       bool   // with MessageOrder, who is not that of held

	// The spans of a thread are numbered by times that never repeat, across
	// threads: a span begins when the thread starts or publishes something.
	now       uint64 // the present span
	base      uint64 // what was published before this span cannot be called back
	validFrom uint64 // the first span that nothing published has left since; at least base

	key      uint64 // with MessageOrder the number of the context, as entries have it
	reliance uint64 // accesses dropped that a pledge which was called back allows
	version  uint64 // events handed on, but for releases with a pledge

	// The pledges that the thread has given, by time, with some that it has
	// called back or given again since.
	releases []listedRelease
	shared   []sharedHold // holds for reading

	// With MessageOrder, the locks held, and the path that they make.
	held queue
	path []step
}

// sharedHold is a hold for reading: of an object in its life.
type sharedHold struct {
	object *lock
	epoch  uint64
}

// pendingRelease is a publication through a lock that nobody has seen: the thread's
// release of the lock. If the same thread takes the lock again before anybody
// else has seen it, then whoever sees it later sees also what the thread does
// while it holds the lock: the thread has called it back.
type pendingRelease struct {
	by       *thread // nil if the pledge is none
	time     uint64
	reliance uint64 // by.across when it was called back
	pending  bool   // given and not called back
	listed   bool   // by.given has it, at its time
}

// listedRelease is a pledge as it was at a time.
type listedRelease struct {
	release *pendingRelease
	time    uint64
}

// invalidate says that nothing from before the span that begins at time stands for
// what the thread does next.
func (t *thread) invalidate(time uint64) {
	if time > t.base {
		t.base, t.validFromStale = time, true
	}
}

// updateValidFrom makes exposed what it should be: the time of the latest pending pledge,
// or base. Each pledge is passed over once.
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

// unlist notes that g is taken out of its list.
func (g listedRelease) unlist() {
	if g.release.time == g.time {
		g.release.listed = false
	}
}

// addPending begins a span of t with a release that can be called back.
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

// repeatPending is pledge where t has made no entry since it gave p last: then the old
// time does as well as a new one.
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

// compactReleases takes out of t.given what is not pending, if that is half of it or more.
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

// reacquire says that t has taken p's lock again.
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

// forked notes that a running thread may have learnt something by what another
// one did.
func (f *Filter) forked(o heisen.Object) {
	if heisen.Object(o.Thread()) != o {
		return
	}
	if p := f.threads.Peek(entryOf(o.Thread())); p != nil && *p != nil {
		(*p).version++
	}
}

// thread returns the live thread id.
func (f *Filter) thread(id heisen.Thread) *thread {
	if t := f.recent[id%numRecent]; t != nil && t.id == id {
		return t
	}
	p := f.threads.At(entryOf(id))
	if *p == nil {
		*p = f.start(id)
	}
	f.recent[id%numRecent] = *p
	return *p
}

// entryOf is where the table of threads has a thread: at a word of its own.
func entryOf(id heisen.Thread) heisen.Object { return 8 * heisen.Object(id) }

const numRecent = 64

func (f *Filter) start(id heisen.Thread) *thread {
	var t *thread
	if n := len(f.spare); n > 0 {
		t, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		t = new(thread)
	}
	t.id = id
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

// end forgets a thread. If it goes on all the same, it is a new one.
func (f *Filter) end(id heisen.Thread) {
	p := f.threads.Peek(entryOf(id))
	if p == nil || *p == nil {
		return
	}
	t := *p
	for len(t.shared) > 0 {
		s := t.shared[len(t.shared)-1]
		t.shared = t.shared[:len(t.shared)-1]
		if s.object.epoch == s.epoch {
			f.retire(s.object) // a lock that is never released guards nothing
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
	f.threads.Clear(entryOf(id), 8)
	f.current = nil
}

// publish begins a span: what t did so far may become known to anybody.
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
