package smtlib

import (
	"github.com/heisen-go/heisen"
)

// hold is a critical section: a thread holds a lock from one record to another, which are -1 if they
// are not in the window.
type hold struct {
	thread   heisen.Thread
	shared   bool
	from, to int
	times    int // acquisitions without a release
}

// lockWriter finds the critical sections of a window, and writes their constraints.
type lockWriter struct {
	*writer
	locks   []heisen.Object // by first record
	known   map[heisen.Object]bool
	all     map[heisen.Object][]*hold
	open    map[heisen.Object][]*hold
	unowned map[heisen.Object]*unownedLock
}

// unownedLock has the operations on a lock that any thread may release.
type unownedLock struct {
	held     bool  // exclusively, at the start of the window
	acquires []int // exclusive ones
	releases []int // of these
	shared   []int // shared acquisitions
}

// writeLocks writes that two critical sections of a lock do not overlap: if both begin before R, one
// ends before the other begins.
func (s *writer) writeLocks() {
	l := &lockWriter{writer: s, known: map[heisen.Object]bool{}, all: map[heisen.Object][]*hold{}, open: map[heisen.Object][]*hold{},
		unowned: map[heisen.Object]*unownedLock{}}
	for _, h := range s.Window.Held {
		if s.Unowned[h.Lock] && !h.Shared {
			l.unownedLock(h.Lock).held = true
			continue
		}
		l.acquire(h.Lock, h.Thread, h.Shared, -1)
	}
	for i := range s.Window.Records {
		l.apply(i)
	}
	for _, lock := range l.locks {
		if s.Mixed[lock] {
			continue
		}
		if u := l.unowned[lock]; u != nil {
			s.writeUnowned(u)
		}
		for k, x := range l.all[lock] {
			for _, y := range l.all[lock][:k] {
				if x.thread != y.thread && !(x.shared && y.shared) {
					s.writeExclusion(x, y)
				}
			}
		}
	}
}

// unownedLock returns the operations on an unowned lock.
func (l *lockWriter) unownedLock(lock heisen.Object) *unownedLock {
	if l.unowned[lock] == nil {
		l.unowned[lock] = &unownedLock{}
	}
	return l.unowned[lock]
}

// apply applies a record if it is a lock operation.
func (l *lockWriter) apply(i int) {
	r := &l.Window.Records[i]
	shared := r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
	if l.Unowned[r.Object] {
		switch r.Op {
		case heisen.Acquire:
			u := l.unownedLock(r.Object)
			u.acquires = append(u.acquires, i)
			// For shared holds, it is a section that ends at once. The rest is in writeUnowned.
			l.all[r.Object] = append(l.all[r.Object], &hold{r.Thread, false, i, i, 1})
		case heisen.Release:
			u := l.unownedLock(r.Object)
			u.releases = append(u.releases, i)
		case heisen.AcquireShared:
			u := l.unownedLock(r.Object)
			u.shared = append(u.shared, i)
		}
	}
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		if !l.Unowned[r.Object] || shared {
			l.acquire(r.Object, r.Thread, shared, i)
		}
	case heisen.Release, heisen.ReleaseShared:
		l.release(r.Object, shared, i)
	default:
		return
	}
	if !l.known[r.Object] {
		l.known[r.Object] = true
		l.locks = append(l.locks, r.Object)
	}
}

// acquire begins a hold, unless the thread holds the lock already.
func (l *lockWriter) acquire(lock heisen.Object, thread heisen.Thread, shared bool, at int) {
	for _, x := range l.open[lock] {
		if x.thread == thread && x.shared == shared {
			x.times++
			return
		}
	}
	x := &hold{thread, shared, at, -1, 1}
	l.open[lock] = append(l.open[lock], x)
	l.all[lock] = append(l.all[lock], x)
}

// release ends the hold of the owner, and writes that a release by another thread comes after the
// acquisition.
func (l *lockWriter) release(lock heisen.Object, shared bool, i int) {
	for k, x := range l.open[lock] {
		if x.thread != l.Owner[i] || x.shared != shared {
			continue
		}
		if x.times--; x.times == 0 {
			x.to = i
			if x.from >= 0 && l.Window.Records[i].Thread != x.thread && !l.Mixed[lock] {
				l.print("(assert (< O%d O%d))\n", x.from, i)
			}
			l.open[lock] = append(l.open[lock][:k:k], l.open[lock][k+1:]...)
		}
		return
	}
}

// writeExclusion writes that two holds do not overlap if both begin before R.
func (s *writer) writeExclusion(x, y *hold) {
	s.print("(assert (or")
	for _, p := range [2][2]*hold{{x, y}, {y, x}} {
		if p[0].to >= 0 && p[1].from >= 0 {
			s.print(" (< O%d O%d)", p[0].to, p[1].from)
		}
		if p[1].from >= 0 {
			s.print(" (< R O%d)", p[1].from)
		}
	}
	s.print(" false))\n")
}

// writeUnowned writes that exclusive acquisitions and releases of a lock alternate, and that shared
// acquisitions find it free: the last exclusive acquisition or release before an acquisition is a
// release, and the last one before a release is an acquisition.
func (s *writer) writeUnowned(u *unownedLock) {
	// follows writes that the last of choices and others before record i is one of choices, or, if
	// first is set, that there may be none.
	follows := func(i int, first bool, choices, others []int) {
		s.print("(assert (or (< R O%d)", i)
		choice := func(c int) {
			s.print(" (and true")
			if c >= 0 {
				s.print(" (< O%d O%d)", c, i)
			}
			for _, list := range [2][]int{choices, others} {
				for _, x := range list {
					if x != i && x != c {
						s.outside(x, c, i)
					}
				}
			}
			s.print(")")
		}
		if first {
			choice(-1)
		}
		for _, c := range choices {
			choice(c)
		}
		s.print("))\n")
	}
	for _, i := range u.acquires {
		follows(i, !u.held, u.releases, u.acquires)
	}
	for _, i := range u.shared {
		follows(i, !u.held, u.releases, u.acquires)
	}
	for _, i := range u.releases {
		follows(i, u.held, u.acquires, u.releases)
	}
}
