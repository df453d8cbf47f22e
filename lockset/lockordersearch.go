package lockset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// waiter is a thread that waits: an occurrence of a dependency, and which of its two waits.
type waiter struct {
	dep        *dependency
	forReaders bool
	at         occurrence
}

// search finds cycles of waiters, by depth-first search.
type search struct {
	d    *LockOrder
	path []waiter // each waits for the next one
	// targets are the vertices that the first waiter's thread holds and that can be on a cycle with
	// the vertex that it waits for.
	targets []*vertex

	reported      map[string]bool                 // cycles of sites, by siteCycle
	reportedSites map[heisen.Site][][]heisen.Site // the sites of each, by the least of them
	sites         []heisen.Site                   // scratch
	effort        uint64                          // steps so far
	unfinished    uint64                          // searches that ran out of budget
	stop          bool
}

const (
	// The budget of all searches for cycles of more than two waiters, in steps.
	effortBase           = 1 << 20
	effortPerAcquisition = 64
)

func (s *search) init(d *LockOrder) {
	s.d = d
	s.reported = map[string]bool{}
	s.reportedSites = map[heisen.Site][][]heisen.Site{}
}

// cyclesThrough reports the cycles through a waiter that waits for to.
func (s *search) cyclesThrough(first waiter, to *vertex) {
	s.path = append(s.path[:0], first)
	s.targets = s.targets[:0]
	for i := range first.dep.set.locks {
		h := &first.dep.set.locks[i]
		if h.mode&writing != 0 {
			s.addTarget(h.lock.writeVertex, to)
		}
		if h.mode&reading != 0 {
			s.addTarget(h.lock.readVertex, to)
		}
	}
	if first.forReaders {
		s.addTarget(first.dep.lock.writeVertex, to)
	}
	for _, v := range s.targets {
		if e := s.d.graph.edges[edgeKey{to, v}]; e != nil {
			s.pairs(e)
		}
	}
	s.stop = false
	s.extend(to)
	clear(s.path)
}

func (s *search) addTarget(v, to *vertex) {
	if v != nil && (v.component == to.component || !s.path[0].dep.stored) {
		s.targets = append(s.targets, v)
	}
}

// pairs reports the cycles of the first waiter and one of e, an edge that closes a cycle of two.
func (s *search) pairs(e *edge) {
	for _, dep := range e.deps {
		next := waiter{dep: dep, forReaders: e.to == dep.lock.readVertex}
		if s.excluded(&next) {
			continue
		}
		for i := range dep.occurrences {
			next.at = dep.occurrences[i]
			s.effort++
			if concurrent(&s.path[0].at, &next.at) {
				s.path = append(s.path, next)
				s.report()
				s.path = s.path[:1]
			}
		}
	}
}

// extend reports the cycles of more than two waiters that start with the path, whose last waiter waits
// for v.
func (s *search) extend(v *vertex) {
	for _, e := range v.out {
		if e.to.component != v.component {
			continue
		}
		forReaders := false
		for _, dep := range e.deps {
			forReaders = e.to == dep.lock.readVertex
			next := waiter{dep: dep, forReaders: forReaders}
			if !s.spend() {
				return
			}
			if s.excluded(&next) {
				continue
			}
			s.path = append(s.path, next)
			if !s.isCovered() {
				s.extendOccurrences(e)
			}
			s.path = s.path[:len(s.path)-1]
			if s.stop {
				return
			}
		}
	}
}

// extendOccurrences extends the path with each occurrence of its last waiter, whose edge is e.
func (s *search) extendOccurrences(e *edge) {
	n := len(s.path)
	for i := range s.path[n-1].dep.occurrences {
		if !s.spend() {
			return
		}
		at := s.path[n-1].dep.occurrences[i]
		if slices.ContainsFunc(s.path[:n-1], func(other waiter) bool { return !concurrent(&other.at, &at) }) {
			continue
		}
		s.path[n-1].at = at
		if n > 2 && slices.Contains(s.targets, e.to) {
			s.report()
		}
		s.extend(e.to)
		if s.stop {
			return
		}
	}
}

// spend counts a step. It reports whether the budget permits another one.
func (s *search) spend() bool {
	s.effort++
	if !s.stop && s.effort > effortBase+effortPerAcquisition*s.d.acquisitions {
		s.stop = true
		s.unfinished++
	}
	return !s.stop
}

// excluded reports whether a guard excludes a waiter and one of the path.
func (s *search) excluded(next *waiter) bool {
	for i := range s.path {
		if excludes(&s.path[i], next) {
			return true
		}
	}
	return false
}

// excludes reports whether two waiters cannot wait at the same time because of the locks that they
// hold: a common lock that one of them holds for writing, or whose readers both wait for.
func excludes(a, b *waiter) bool {
	x, y := a.dep.set.locks, b.dep.set.locks
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].lock.id < y[0].lock.id:
			x = x[1:]
		case x[0].lock.id > y[0].lock.id:
			y = y[1:]
		case (x[0].mode|y[0].mode)&writing != 0:
			return true
		default:
			x, y = x[1:], y[1:]
		}
	}
	return a.forReaders && (b.dep.set.writes(a.dep.lock) || b.forReaders && a.dep.lock == b.dep.lock) ||
		b.forReaders && a.dep.set.writes(b.dep.lock)
}

// writes reports whether the set contains l for writing.
func (set *heldSet) writes(l *lockNode) bool {
	return slices.ContainsFunc(set.locks, func(h heldLock) bool { return h.lock == l && h.mode&writing != 0 })
}

// isCovered reports whether the path passes a site twice and a cycle of a subset of its sites has been
// reported.
func (s *search) isCovered() bool {
	s.sites = s.sites[:0]
	for i := range s.path {
		s.sites = append(s.sites, s.path[i].dep.site)
	}
	slices.Sort(s.sites)
	distinct := slices.Compact(s.sites)
	if len(distinct) == len(s.path) {
		return false
	}
	for i, site := range distinct {
		for _, reported := range s.reportedSites[site] {
			if subset(reported, distinct[i:]) {
				return true
			}
		}
	}
	return false
}

// subset reports whether the sorted set a is a subset of the sorted set b.
func subset(a, b []heisen.Site) bool {
	for _, site := range a {
		i, ok := slices.BinarySearch(b, site)
		if !ok {
			return false
		}
		b = b[i:]
	}
	return true
}

// report reports the path, which is a cycle, unless its cycle of sites has been reported.
func (s *search) report() {
	if s.isCovered() {
		return
	}
	word := s.siteCycle()
	if s.reported[word] {
		return
	}
	s.reported[word] = true
	s.sites = s.sites[:0]
	for i := range s.path {
		s.sites = append(s.sites, s.path[i].dep.site)
	}
	slices.Sort(s.sites)
	distinct := slices.Clone(slices.Compact(s.sites))
	s.reportedSites[distinct[0]] = append(s.reportedSites[distinct[0]], distinct)

	f := heisen.Finding{
		Detector: "lockorder",
		Kind:     heisen.Deadlock,
		Object:   s.path[0].dep.lock.object,
		Message:  s.message(),
	}
	for _, p := range append(s.path[1:len(s.path):len(s.path)], s.path[0]) {
		f.Accesses = append(f.Accesses, heisen.Access{
			Op: p.dep.mode.op(), Thread: p.at.thread, Object: p.dep.lock.object,
			Site: p.dep.site, Context: p.at.ctx, Index: p.at.index,
		})
	}
	s.d.sink(f)
}

func (m mode) op() heisen.Op {
	if m == reading {
		return heisen.AcquireShared
	}
	return heisen.Acquire
}

// siteCycle returns the path's cycle of sites as a string that does not depend on where the path
// begins.
func (s *search) siteCycle() string {
	n := len(s.path)
	at := func(start, i int) heisen.Site { return s.path[(start+i)%n].dep.site }
	best := 0
	for start := 1; start < n; start++ {
		for i := range n {
			if a, b := at(start, i), at(best, i); a != b {
				if a < b {
					best = start
				}
				break
			}
		}
	}
	var word strings.Builder
	for i := range n {
		fmt.Fprintf(&word, "%d ", at(best, i))
	}
	return word.String()
}

func (s *search) message() string {
	text := "two threads can wait for each other's locks"
	if n := len(s.path); n > 2 {
		text = fmt.Sprintf("%d threads can wait in a circle for each other's locks", n)
	}
	for i := range s.path {
		next := &s.path[(i+1)%len(s.path)]
		if s.path[i].dep.mode == reading && next.forReaders && next.dep.lock == s.path[i].dep.lock {
			return text + "; a writer that waits keeps new readers out"
		}
	}
	return text
}
