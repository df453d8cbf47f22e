package tree

import (
	"math"
	"slices"
	"time"

	"github.com/heisen-go/heisen"
)

// bypass decides when the filter steps aside because it does not pay.
//
// The filter examines a window of events, and then bypasses one. It measures how long batches take with the filter, and how long the
// detector takes without. Whichever is faster goes on for a number of windows, and then both are measured again. That number doubles
// as long as the same one is faster. What is forwarded depends on these times; the findings of the detector do not.
//
// There are two modes of a bypass.
//
// With bypassAccesses it forwards all accesses and still examines everything else. On resume it
// forgets all accesses, which it may do at any time.
//
// With bypassAll it forwards all events. On resume it also forgets all threads and locks, and treats
// the past of every thread as published. A lock that a thread holds without the filter's knowledge
// causes no loss: its release is then that of a lock that the thread does not hold, and publishes.
// The filter does not enter bypassAll while dropped accesses rely on a held lock, because it must see
// the next operation of that lock. Nor does it if the detector uses locks for more than order: then
// it must see when a thread takes a lock that another one holds, or frees its memory, because that
// ends the lock and all that it protected. Because seeing that has a price, it gives up for good then when the filter
// has not paid for the second time.
type bypass struct {
	mayBypassAll bool // whether bypassAll is permitted
	mode         bypassMode
	phase        bypassPhase
	window       uint64 // length of a window, in events
	length       uint64 // how long the present choice lasts, in windows
	chosen       bypassMode
	failures     int            // how often the filter did not pay
	nextDecision uint64         // number of the event before which decide is called
	since        uint64         // number of the event at which the bypass has begun
	left         uint64         // events dropped before the window that is measured
	with         samples        // of a window with the filter
	without      samples        // of the detector alone, in the window after it
	use          heisen.LockUse // the detector's lockUse; Filter.lockUse is LocksAsEvents with bypassAccesses
	alternates   bool           // for tests: bypasses every second window, whatever is faster
}

type bypassMode uint8

const (
	filtering bypassMode = iota
	bypassAccesses
	bypassAll
)

type bypassPhase uint8

const (
	warmUp bypassPhase = iota // the filter has forgotten the accesses before
	measureWith
	measureWithout
	hold
)

const (
	decisionWindow = 1 << 12
	firstLength    = 1 << 4 // in windows
	longestLength  = 1 << 10
	giveUpAfter    = 2 // failures

	fewest = 8  // the part of the events that must be dropped for the filter to pay
	margin = 16 // the part by which it must be faster, because times are not exact

	maxBatch    = 1 << 10 // events between two decisions
	minMeasured = 1 << 5  // events in a batch that is measured
	minSamples  = 3
)

// samples are the times of batches, in picoseconds per event.
type samples struct {
	times [decisionWindow / minMeasured]int64
	n     int
}

// add adds the time of a batch.
func (s *samples) add(took time.Duration, events int) {
	if events >= minMeasured && s.n < len(s.times) {
		s.times[s.n] = took.Nanoseconds() * 1000 / int64(events)
		s.n++
	}
}

// median returns the median and whether there are enough samples. Other programs on the machine disturb some of them.
func (s *samples) median() (int64, bool) {
	if s.n < minSamples {
		return 0, false
	}
	slices.Sort(s.times[:s.n])
	return s.times[s.n/2], true
}

// counters counts what the filter has done.
type counters struct {
	events, bypassed      uint64 // all events, and those that were not examined
	accesses              uint64 // examined
	dropped, droppedLocks uint64 // dropped accesses and lock operations
}

// enableBypass lets the filter step aside when it does not pay.
func (f *Filter) enableBypass() {
	f.bypass = bypass{
		mayBypassAll: f.lockUse == heisen.LocksAsOrder && f.contexts == nil,
		window:       decisionWindow, length: firstLength, nextDecision: decisionWindow,
	}
}

// disableBypass makes the filter examine all events.
func (f *Filter) disableBypass() { f.bypass = bypass{nextDecision: math.MaxUint64} }

// decide chooses what to do with the next window of events, or with several.
func (f *Filter) decide() {
	s := &f.bypass
	windows := uint64(1)
	switch {
	case s.alternates:
		if s.mode == filtering {
			f.stepAside()
		} else {
			f.resume()
		}
	case s.phase == warmUp, s.phase == hold && s.mode == filtering:
		s.phase, s.with.n, s.left = measureWith, 0, f.left()
	case s.phase == measureWith:
		_, known := s.with.median()
		switch few := (f.left()-s.left)*fewest < s.window; {
		case !known: // the events come one by one
			s.phase = hold
			windows = s.length
		case few:
			s.phase = hold
			f.stepAside()
			windows = f.choose(false)
		default:
			s.phase, s.without.n = measureWithout, 0
			f.stepAside()
		}
	case s.phase == measureWithout:
		s.phase = hold
		with, known := s.with.median()
		without, alsoKnown := s.without.median()
		windows = f.choose(!known || !alsoKnown || with < without-without/margin)
	default:
		f.resume()
		s.phase = warmUp
	}
	s.nextDecision = f.events + windows*s.window
	if windows == 0 {
		s.nextDecision = math.MaxUint64
	}
}

// left returns how many events were dropped.
func (f *Filter) left() uint64 { return f.dropped + f.droppedLocks }

// choose goes on with or without the filter, whichever is faster. It returns for how many windows, 0 for ever.
func (f *Filter) choose(pays bool) uint64 {
	s := &f.bypass
	chosen := filtering
	if !pays {
		chosen = s.mode
		s.failures++
	}
	if (chosen == filtering) == (s.chosen == filtering) {
		s.length = min(2*s.length, longestLength)
	} else {
		s.length = firstLength
	}
	s.chosen = chosen
	switch {
	case chosen == filtering:
		f.resume()
	case !s.mayBypassAll && s.failures >= giveUpAfter && f.canBypassAll():
		s.mode = bypassAll
		return 0
	}
	return s.length
}

// stepAside begins a bypass.
func (f *Filter) stepAside() {
	s := &f.bypass
	f.forwardDeferred()
	s.mode, s.use, s.since = bypassAccesses, f.lockUse, f.events
	if s.mayBypassAll && f.canBypassAll() {
		s.mode = bypassAll
	} else {
		f.lockUse = heisen.LocksAsEvents
	}
}

// canBypassAll reports whether no dropped access relies on a lock that is still held.
func (f *Filter) canBypassAll() bool {
	may := true
	f.locks.each(func(s *lock) {
		if s != &f.message {
			may = may && s.release.unused()
			for _, p := range s.readers {
				may = may && p.unused()
			}
		}
	})
	return may
}

// unused reports whether no dropped access relies on the reacquisition of p.
func (p *pendingRelease) unused() bool {
	return p.by == nil || p.pending || p.reliance == p.by.reliance
}

// resume ends a bypass. It forgets the state that the filter has not updated since its start.
func (f *Filter) resume() {
	f.bypassed += f.events - f.bypass.since
	if f.bypass.mode == bypassAll {
		f.forgetThreads()
		f.missedLocks = true
	}
	f.bypass.mode, f.lockUse = filtering, f.bypass.use
	f.publishAll()
	for _, t := range f.byNumber {
		if t != nil {
			t.version++ // for accesses that were forwarded
		}
	}
	if f.contexts != nil {
		f.rebuildHeld()
	}
}

// isSimpleLockOp handles the common case of a lock operation with bypassAccesses. It reports false, and
// changes nothing, in any other case.
func (f *Filter) isSimpleLockOp(r *heisen.Record) bool {
	s := f.recentLock(r)
	if s == nil || f.contexts == nil || s.readHolds > 0 {
		return false
	}
	t := f.current
	if r.Op == heisen.Acquire {
		if s.owner != nil {
			return false
		}
		s.owner, s.depth = t, 1
		return true
	}
	if s.owner != t || s.depth != 1 {
		return false
	}
	s.owner, s.depth = nil, 0
	return true
}

// isMessage reports whether an event needs no look with bypassAccesses: it only publishes, as all threads will on resume, and to a
// detector that orders by messages, locks have nothing to do with it.
func (f *Filter) isMessage(r *heisen.Record) bool {
	switch r.Op {
	case heisen.Send, heisen.Receive, heisen.AtomicRead, heisen.AtomicUpdate, heisen.Fork, heisen.Change, heisen.Observe:
		return f.contexts != nil && r.Flags&^neutralFlags == 0
	}
	return false
}

// rebuildHeld rebuilds the lists of held locks of all threads from the state of the locks, because the
// lists are not updated with bypassAccesses. Any order of the locks is right.
func (f *Filter) rebuildHeld() {
	for _, t := range f.byNumber {
		if t == nil {
			continue
		}
		t.held.clear()
		t.keyStale = true
		for _, s := range t.shared {
			if s.object.epoch == s.epoch {
				t.held.push(s.epoch<<1 | 1)
			}
		}
	}
	f.locks.each(func(s *lock) {
		if s != &f.message && s.owner != nil {
			for range s.depth {
				s.owner.held.push(s.epoch << 1)
			}
		}
	})
}

// forgetThreads forgets all threads and locks.
func (f *Filter) forgetThreads() {
	f.locks.each(func(s *lock) {
		if s == &f.message {
			return
		}
		for _, p := range s.readers {
			*p = pendingRelease{}
			f.freePending = append(f.freePending, p)
		}
		clear(s.readers)
		*s = lock{readers: s.readers[:0], next: f.free}
		f.free = s
	})
	f.locks.clear()
	clear(f.recentLocks[:])
	for _, t := range f.byNumber {
		if t != nil {
			*t = thread{releases: t.releases[:0], shared: t.shared[:0]}
			f.spare = append(f.spare, t)
		}
	}
	clear(f.byNumber)
	f.byNumber, f.unused = f.byNumber[:0], f.unused[:0]
	clear(f.threads)
	clear(f.recent[:])
	f.current = nil
}
