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

// search finds cycles of waiters, by depth-first search. The targets are the vertices that the first waiter's
// thread holds and that can be on a cycle with the vertex that it waits for.
type search struct {
	d      *LockOrder
	number uint64    // of the search; it marks the targets and the locks that the first waiter's thread holds
	path   []waiter  // each waits for the next one
	held   []*vertex // the targets

	reported      map[string]bool                 // cycles of sites, by siteCycle
	reportedPairs map[[2]heisen.Site]bool         // those of two
	reportedSites map[heisen.Site][][]heisen.Site // the sites of each, by the least of them
	sites         []heisen.Site                   // scratch
	effort        uint64                          // steps so far
	effortOnPairs uint64
	unfinished    uint64 // searches that ran out of budget
	stop          bool
}

const (
	// The budget of all searches for cycles of more than two waiters, in steps.
	effortBase           = 1 << 20
	effortPerAcquisition = 64

	// The budget of all searches for cycles of two waiters. Only where hundreds of locks are held at the
	// same time, a search for pairs takes many steps.
	pairsBase           = 1 << 27
	pairsPerAcquisition = 1 << 9
)

func (s *search) init(d *LockOrder) {
	s.d = d
	s.reported = map[string]bool{}
	s.reportedPairs = map[[2]heisen.Site]bool{}
	s.reportedSites = map[heisen.Site][][]heisen.Site{}
}

// cyclesThrough reports the cycles through a waiter that waits for to.
func (s *search) cyclesThrough(first waiter, to *vertex) {
	s.stop = false
	if !s.spendOnPairs(uint64(first.dep.path.depth)) {
		return
	}
	s.number++
	s.path = append(s.path[:0], first)
	s.held = s.held[:0]
	if first.forReaders {
		s.addTarget(first.dep.path.lock.writeVertex, to)
	}
	for p := first.dep.path.before; p != nil; p = p.before {
		s.addTarget(p.vertex(), to)
		if p.lock.search != s.number {
			p.lock.search, p.lock.mode = s.number, 0
		}
		p.lock.mode |= p.mode
	}
	s.pairs(to)
	s.stop = false
	s.extend(to)
	clear(s.path)
}

func (s *search) addTarget(v, to *vertex) {
	if v != nil && v.target != s.number && (v.component == to.component || !s.path[0].dep.stored) {
		v.target = s.number
		s.held = append(s.held, v)
	}
}

// pairs reports the cycles of the first waiter and another one, which holds to and waits for a target. It
// looks at those that wait for a target, or at those that hold to, whichever are fewer.
func (s *search) pairs(to *vertex) {
	waiting := uint64(0)
	for _, v := range s.held {
		waiting += uint64(len(v.lock.paths))
	}
	if s.path[0].dep.stored && s.pairsHolding(to, waiting) {
		return
	}
	for _, v := range s.held {
		forReaders := v == v.lock.readVertex
		for _, p := range v.lock.paths {
			if !s.spendOnPairs(1 + uint64(p.depth)) {
				return
			}
			if forReaders && p.mode != writing || !(forReaders && to == v.lock.writeVertex || p.before.hasVertex(to)) {
				continue
			}
			for dep := p.deps; dep != nil; dep = dep.next {
				s.pair(dep, forReaders)
			}
		}
	}
}

// pairsHolding is pairs by those that hold to. It gives up after a number of steps and then returns false.
func (s *search) pairsHolding(to *vertex, steps uint64) bool {
	limit := s.effortOnPairs + steps
	return s.holding(to, func() bool {
		return s.effortOnPairs < limit && s.spendOnPairs(1)
	}, func(dep *dependency, forReaders bool, waitsFor *vertex) {
		if waitsFor.target == s.number {
			s.effortOnPairs += uint64(dep.path.depth)
			s.pair(dep, forReaders)
		}
	})
}

// hasVertex reports whether a thread with the path holds v.
func (p *path) hasVertex(v *vertex) bool {
	if p == nil || p.sign&(1<<(v.lock.id%64)) == 0 {
		return false
	}
	for ; p != nil; p = p.before {
		if p.lock == v.lock && p.vertex() == v {
			return true
		}
	}
	return false
}

// pair reports the cycles of the first waiter and one with a dependency, which closes them.
func (s *search) pair(dep *dependency, forReaders bool) {
	a, b := s.path[0].dep.site, dep.site
	if s.reportedPairs[[2]heisen.Site{min(a, b), max(a, b)}] {
		return
	}
	next := waiter{dep: dep, forReaders: forReaders}
	if s.excluded(&next) {
		return
	}
	for i := range dep.occurrences {
		next.at = dep.occurrences[i]
		s.effortOnPairs++
		if concurrent(&s.path[0].at, &next.at) {
			s.path = append(s.path, next)
			s.report()
			s.path = s.path[:1]
			return // all others have the same sites
		}
	}
}

// holding calls visit with each dependency whose thread holds v and waits for a vertex of v's component. It
// stops, and returns false, if spend does, which is called for each path.
func (s *search) holding(v *vertex, spend func() bool, visit func(dep *dependency, forReaders bool, waitsFor *vertex)) (done bool) {
	waits := func(p *path, forReaders bool) {
		to := p.lock.writeVertex
		if forReaders {
			to = p.lock.readVertex
		}
		if to == nil || to.component != v.component {
			return
		}
		for dep := p.deps; dep != nil; dep = dep.next {
			visit(dep, forReaders, to)
		}
	}
	for _, p := range v.lock.paths {
		if !spend() {
			return false
		}
		if p.vertex() != v {
			continue
		}
		if v.lock.readWrite && p.mode == writing { // it holds v while it waits for readers
			waits(p, true)
		}
		if !p.below(func(q *path) (deeper, goOn bool) {
			if !spend() {
				return false, false
			}
			waits(q, false)
			if q.mode == writing && q.lock.readWrite {
				waits(q, true)
			}
			to := q.vertex()
			return to != nil && to.component == v.component, true
		}) {
			return false
		}
	}
	return true
}

// extend reports the cycles of more than two waiters that start with the path, whose last waiter waits
// for v.
func (s *search) extend(v *vertex) {
	s.holding(v, s.spend, func(dep *dependency, forReaders bool, to *vertex) {
		next := waiter{dep: dep, forReaders: forReaders}
		s.effort += uint64(dep.path.depth / 16) // a step per lock costs less than the others
		if s.stop || s.excluded(&next) {
			return
		}
		s.path = append(s.path, next)
		if !s.isCovered() {
			s.extendOccurrences(to)
		}
		s.path = s.path[:len(s.path)-1]
	})
}

// extendOccurrences extends the path with each occurrence of its last waiter, which waits for to.
func (s *search) extendOccurrences(to *vertex) {
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
		if n > 2 && to.target == s.number {
			s.report()
		}
		s.extend(to)
		if s.stop {
			return
		}
	}
}

// spend counts a step. It reports whether the budget permits another one.
func (s *search) spend() bool {
	s.effort++
	return s.within(s.effort <= effortBase+effortPerAcquisition*s.d.acquisitions)
}

// spendOnPairs is spend for steps of a search for pairs.
func (s *search) spendOnPairs(steps uint64) bool {
	s.effortOnPairs += steps
	return s.within(s.effortOnPairs <= pairsBase+pairsPerAcquisition*s.d.acquisitions)
}

func (s *search) within(budget bool) bool {
	if !s.stop && !budget {
		s.stop = true
		s.unfinished++
	}
	return !s.stop
}

// excluded reports whether a guard excludes a waiter and one of the path.
func (s *search) excluded(next *waiter) bool {
	for p := next.dep.path.before; p != nil; p = p.before {
		if p.lock.search == s.number && (p.lock.mode|p.mode)&writing != 0 {
			return true
		}
	}
	for i := range s.path {
		if i > 0 && s.path[i].dep.path.before.excludes(next.dep.path.before) || excludeReaders(&s.path[i], next) {
			return true
		}
	}
	return false
}

// excludeReaders reports whether two waiters cannot wait at the same time because one of them waits for
// readers of a lock that the other one holds for writing, or because both wait for the same readers.
func excludeReaders(a, b *waiter) bool {
	return a.forReaders && (b.dep.path.before.holds(a.dep.path.lock)&writing != 0 || b.forReaders && a.dep.path.lock == b.dep.path.lock) ||
		b.forReaders && a.dep.path.before.holds(b.dep.path.lock)&writing != 0
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
	if len(s.path) == 2 {
		a, b := s.path[0].dep.site, s.path[1].dep.site
		s.reportedPairs[[2]heisen.Site{min(a, b), max(a, b)}] = true
	}
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
		Object:   s.path[0].dep.path.lock.object,
		Message:  s.message(),
	}
	for _, p := range append(s.path[1:len(s.path):len(s.path)], s.path[0]) {
		f.Accesses = append(f.Accesses, heisen.Access{
			Op: p.dep.path.mode.op(), Thread: p.at.thread, Object: p.dep.path.lock.object,
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
		if s.path[i].dep.path.mode == reading && next.forReaders && next.dep.path.lock == s.path[i].dep.path.lock {
			return text + "; a writer that waits keeps new readers out"
		}
	}
	return text
}
