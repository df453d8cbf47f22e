package syncp

import (
	"slices"
	"sort"

	"github.com/heisen-go/heisen"
)

// number is the index of a thread in threads.all.
type number int32

// A prefix is the first n events of a thread. As a dependency it stands for the n-th event: a thread's event
// happens only after all earlier ones of the thread.
type prefix struct {
	thread number
	n      uint32
}

// thread is what is stored of a thread. Counts of events include only those that the log has.
type thread struct {
	id      heisen.Thread
	number  number
	events  uint32 // so far
	span    uint32 // grows with each event that makes later ones depend on more than the thread's own events
	learned []learning
	place   []int32          // by thread below denseThreads: one more than the index in learned
	places  map[number]int32 // likewise, by other threads

	sections []section // in the order of their acquisitions
	open     []int32   // the sections that are open
	blocks   []blockStart
	calls    []hiddenCall // that have not returned
	bytes    int          // that its learnings and sections take, about
	barrier  uint32       // the number of the latest barrier that the thread has learned of
}

// hiddenCall is a call of hidden code.
type hiddenCall struct {
	object heisen.Object
	unseen bool // its synchronization is not in the stream
}

// learning is what a thread has learned of another one.
type learning struct {
	of      number
	changes []change
}

// change says that the thread's first at events, and more of them, depend on n events of another thread.
type change struct{ at, n uint32 }

// upTo returns how many events the first at events of the thread depend on.
func (l *learning) upTo(at uint32) uint32 {
	c := l.changes
	if last := len(c) - 1; c[last].at <= at {
		return c[last].n
	}
	if i := sort.Search(len(c), func(i int) bool { return c[i].at > at }); i > 0 {
		return c[i-1].n
	}
	return 0
}

// denseThreads bounds the threads whose place is found by index.
const denseThreads = 1 << 12

func (t *thread) find(u number) *learning {
	i := int32(0)
	if u < denseThreads {
		if int(u) < len(t.place) {
			i = t.place[u]
		}
	} else {
		i = t.places[u]
	}
	if i == 0 {
		return nil
	}
	return &t.learned[i-1]
}

// meet adds the first learning of another thread.
func (t *thread) meet(u number, c change) {
	t.learned = append(t.learned, learning{of: u, changes: []change{c}})
	t.bytes += 32 + changeBytes
	i := int32(len(t.learned))
	if u >= denseThreads {
		if t.places == nil {
			t.places = map[number]int32{}
		}
		t.places[u] = i
		return
	}
	if n := int(u) + 1 - len(t.place); n > 0 {
		t.place = append(t.place, make([]int32, n)...)
	}
	t.place[u] = i
}

// knows reports whether all that the thread does from now on depends on a prefix.
func (t *thread) knows(p prefix) bool {
	if p.thread == t.number || p.n == 0 {
		return true
	}
	l := t.find(p.thread)
	return l != nil && l.changes[len(l.changes)-1].n >= p.n
}

// raise makes the thread's first at events depend on n events of another thread. It reports whether that is new.
func (t *thread) raise(u number, n, at uint32) bool {
	l := t.find(u)
	if l == nil {
		t.meet(u, change{at, n})
		return true
	}
	last := &l.changes[len(l.changes)-1]
	switch {
	case last.n >= n:
		return false
	case last.at >= at:
		last.n = n
	default:
		l.changes = append(l.changes, change{at, n})
		t.bytes += changeBytes
	}
	return true
}

// threads has all threads.
type threads struct {
	all  []*thread
	byID map[heisen.Thread]*thread
	last *thread // of the latest look-up
}

func (h *threads) of(id heisen.Thread) *thread {
	if h.last != nil && h.last.id == id {
		return h.last
	}
	t := h.byID[id]
	if t == nil {
		t = &thread{id: id, number: number(len(h.all))}
		h.all = append(h.all, t)
		h.byID[id] = t
	}
	h.last = t
	return t
}

// learn makes the first at events of t, which are all so far or one more, depend on a prefix, and on all that
// this depends on. So what a thread has learned is always closed under dependency.
func (h *threads) learn(t *thread, p prefix, at uint32) {
	if p.thread == t.number || p.n == 0 {
		return
	}
	known := uint32(0)
	if l := t.find(p.thread); l != nil {
		if known = l.changes[len(l.changes)-1].n; known >= p.n {
			return
		}
	}
	t.span++
	t.raise(p.thread, p.n, at)
	learned := h.all[p.thread].learned
	for i := range learned {
		l := &learned[i]
		if l.of == t.number || l.changes[len(l.changes)-1].at < known {
			continue // t knows that already
		}
		if n := l.upTo(p.n); n > 0 {
			t.raise(l.of, n, at)
		}
	}
}

// learnAll makes the first at events of t depend on everything before.
func (h *threads) learnAll(t *thread, at uint32) {
	for _, u := range h.all {
		if u != t && u.events > 0 && t.raise(u.number, u.events, at) {
			t.span++
		}
	}
}

// A section is a critical section: the hold of a lock by a thread, in one mode.
type section struct {
	lock      uint32 // the index of its object
	acquire   uint32 // how many events the thread has made up to the acquisition, and with it
	release   uint32 // likewise; 0 while the section is open
	rank      uint32 // among all sections of the lock, by acquisition, from 1
	exclusive uint32 // the rank of the thread's latest exclusive section of the lock, up to this one; 0 if there is none
	outer     int32  // the latest section that was open at the acquisition, or -1
	opened    int32  // how many were open then, with this one
	times     uint32 // acquisitions by the same thread that are not released
	shared    bool
	free      bool // its lock keeps the order of all its operations, so the section excludes nothing
}

// openAt reports whether the section is open after n events of its thread, which has acquired it.
func (s *section) openAt(n uint32) bool { return s.release == 0 || s.release > n }

// eachOpen calls visit with the sections that are open after n events of the thread, the latest first, as long
// as it returns true. Any section that was open when a section was acquired is reached by outer: the latest one
// directly, and the others were open when that one was acquired.
func (t *thread) eachOpen(n uint32, visit func(*section) bool) bool {
	i := int32(sort.Search(len(t.sections), func(i int) bool { return t.sections[i].acquire > n })) - 1
	if i < 0 {
		return true
	}
	at := t.sections[i].acquire
	for left := t.sections[i].opened; left > 0 && i >= 0; i = t.sections[i].outer {
		s := &t.sections[i]
		if !s.openAt(at) {
			continue
		}
		left--
		if !s.free && s.openAt(n) && !visit(s) {
			return false
		}
	}
	return true
}

// enter opens a section.
func (t *thread) enter(s section) (index int32) {
	s.outer, s.opened, s.times = -1, int32(len(t.open)+1), 1
	if last := len(t.open) - 1; last >= 0 {
		s.outer = t.open[last]
	}
	index = int32(len(t.sections))
	t.sections = append(t.sections, s)
	t.bytes += sectionBytes
	t.open = append(t.open, index)
	t.span++
	return index
}

// leave closes a section.
func (t *thread) leave(index int32, release uint32) {
	t.sections[index].release = release
	i := slices.Index(t.open, index)
	t.open = slices.Delete(t.open, i, i+1)
}
