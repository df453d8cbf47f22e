package syncp

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// acquirer is the acquisitions of a lock by a thread at a place, while it holds the same other locks (an abstract
// acquisition; Tunç, Mathur, Pavlogiannis and Viswanathan, PLDI 2023, section 4).
type acquirer struct {
	thread  number
	lock    *object
	shared  bool
	site    heisen.Site
	context heisen.Context // of the latest
	held    locksets.Held
	at      heisen.Object
	inside  []heldLock
	before  []uint32 // how many events of the thread come before each
	cycles  []*cycle
}

// heldLock is a lock that a thread holds while it acquires another one.
type heldLock struct {
	lock   *object
	shared bool
}

// holds reports whether the thread holds a lock in a mode that keeps others from acquiring it.
func (a *acquirer) holds(o *object, againstShared bool) bool {
	return slices.ContainsFunc(a.inside, func(h heldLock) bool { return h.lock == o && !(againstShared && h.shared) })
}

// acquirerKey is what the acquisitions of an acquirer have in common.
type acquirerKey struct {
	thread number
	lock   uint32
	shared bool
	site   heisen.Site
	held   locksets.Held
}

// cycle is a cycle of acquirers by different threads, each of which acquires a lock that the next one holds (an
// abstract deadlock pattern).
type cycle struct {
	of   []*acquirer
	next []int // by acquirer: the first of its acquisitions that may still deadlock
	done bool
}

const (
	// maxCycle bounds the number of threads of a cycle.
	maxCycle = 4
	// maxCycles bounds the cycles of the same places, in different threads and with different locks.
	maxCycles = 64
	// maxSteps bounds the search for the cycles of a new acquirer.
	maxSteps = 1 << 13
)

// expectDeadlock looks for deadlocks of an acquisition of t, which is next, with earlier ones.
func (d *Detector) expectDeadlock(t *thread, r *heisen.Record, o *object, shared bool) {
	if len(t.open) == 0 || r.Flags&heisen.NoWait != 0 {
		return
	}
	key := acquirerKey{t.number, o.number, shared, r.Site, d.held}
	a := d.acquirers[key]
	if a == nil {
		a = &acquirer{thread: t.number, lock: o, shared: shared, site: r.Site, held: d.held, at: r.Object}
		for _, i := range t.open {
			s := &t.sections[i]
			h := heldLock{d.objects.all[s.lock], s.shared}
			a.inside = append(a.inside, h)
			h.lock.waiting = append(h.lock.waiting, a)
		}
		d.acquirers[key] = a
		d.findCycles(a)
	}
	a.context = r.Context
	a.before = append(a.before, t.events)
	for _, c := range a.cycles {
		if !c.done {
			d.advance(c, t)
		}
	}
	a.cycles = slices.DeleteFunc(a.cycles, func(c *cycle) bool { return c.done })
}

// findCycles finds the cycles of a new acquirer with others, the shortest first.
func (d *Detector) findCycles(a *acquirer) {
	path := []*acquirer{a}
	steps := 0
	var extend func(length int)
	extend = func(length int) {
		last := path[len(path)-1]
		for _, b := range last.lock.waiting {
			if steps++; steps > maxSteps {
				return
			}
			closes := len(path)+1 == length
			if closes && !a.holds(b.lock, b.shared) || last.shared && !b.holds(last.lock, true) || slices.ContainsFunc(path, func(p *acquirer) bool {
				return p.thread == b.thread || excludes(d.table, p.held, b.held)
			}) {
				continue
			}
			if path = append(path, b); closes {
				d.addCycle(path)
			} else {
				extend(length)
			}
			path = path[:len(path)-1]
		}
	}
	for length := 2; length <= maxCycle; length++ {
		extend(length)
	}
	if steps > maxSteps {
		d.stats.LeftOut++
	}
}

// addCycle adds a cycle, unless a deadlock at its places is known, or there are too many.
func (d *Detector) addCycle(path []*acquirer) {
	key := placesOf(path)
	switch n := d.cycles[key]; {
	case n < 0:
		return
	case n == maxCycles:
		d.stats.LeftOut++
		return
	default:
		d.cycles[key] = n + 1
	}
	c := &cycle{of: slices.Clone(path), next: make([]int, len(path))}
	for _, a := range path {
		a.cycles = append(a.cycles, c)
	}
}

// placesOf returns the sorted places of a cycle.
func placesOf(path []*acquirer) (key [maxCycle]place) {
	for i, a := range path {
		op := heisen.Acquire
		if a.shared {
			op = heisen.AcquireShared
		}
		key[i] = placeOf(a.site, op)
	}
	slices.Sort(key[:len(path)])
	return key
}

// advance looks for acquisitions of a cycle that can wait for each other: the closure of what comes before them
// contains none of them (PLDI 2023, section 4: sync-preserving deadlocks). Closures grow with the acquisitions, so one that a closure contains is of no use
// to later ones of the other threads, and each is looked at once. t has the latest acquisition of all.
func (d *Detector) advance(y *cycle, t *thread) {
	if d.cycles[placesOf(y.of)] < 0 {
		y.done = true
		return
	}
	for {
		c := &d.closure
		c.reset()
		for i, a := range y.of {
			if y.next[i] == len(a.before) {
				return // until there are more
			}
			c.await(prefix{a.thread, a.before[y.next[i]]})
		}
		d.stats.Closures++
		ok := c.close()
		moved := false
		for i, a := range y.of {
			for y.next[i] < len(a.before) && c.upTo[a.thread] > a.before[y.next[i]] {
				y.next[i]++
				moved = true
			}
		}
		switch {
		case moved:
		case !ok:
			return // a section that has not ended: when it has, there will be more acquisitions
		default:
			d.reportDeadlock(y, t)
			y.done = true
			return
		}
	}
}
