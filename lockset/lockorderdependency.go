package lockset

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// dependency is a lock that threads took at a site while they held a set of
// locks.
type dependency struct {
	lock  *lockNode
	set   *heldSet
	site  heisen.Site
	mode  mode
	after *heldSet // with the lock

	times   []moment // when, by age
	edges   []*edge
	kept    bool
	atLock  int // among those that want the lock
	atHolds int // among those that hold the set
}

type dependencyKey struct {
	lock *lockNode
	set  *heldSet
	site heisen.Site
	mode mode
}

// moment is one time at which a thread had a dependency.
type moment struct {
	thread  heisen.Thread
	ctx     heisen.Context
	epoch   vclock.Epoch
	version uint64       // of what the thread knew of others
	clock   vclock.Clock // what it knew of others
	index   uint64       // of the event
}

// maxTimes bounds the moments of one dependency.
const maxTimes = 8

// concurrent reports whether two moments are of different threads and not
// ordered.
func concurrent(x, y *moment) bool {
	return x.thread != y.thread && !x.clock.Covers(y.epoch) && !y.clock.Covers(x.epoch)
}

// dependency returns the one of that kind, which may be new.
func (d *LockOrder) dependency(l *lockNode, set *heldSet, site heisen.Site, m mode) *dependency {
	key := dependencyKey{l, set, site, m}
	if dep := d.known[key]; dep != nil {
		return dep
	}
	dep := &dependency{lock: l, set: set, site: site, mode: m, after: d.sets.with(set, l, m)}
	if d.count >= d.limit || !set.interned || !dep.after.interned {
		return dep
	}
	dep.kept = true
	d.known[key] = dep
	dep.atLock = len(l.wanted)
	l.wanted = append(l.wanted, dep)
	dep.atHolds = len(set.deps)
	set.deps = append(set.deps, dep)
	d.link(dep, false)
	if l.shared && m == writing {
		d.link(dep, true)
	}
	return dep
}

// target is what the dependency's thread waits for: first the gate, then, if it
// is a writer of a lock that has readers, the drain.
func (dep *dependency) target(drain bool) *vertex {
	if drain {
		return dep.lock.drain
	}
	return dep.lock.gate
}

// link adds the edges of one of the dependency's steps to the graph.
func (d *LockOrder) link(dep *dependency, drain bool) {
	l := dep.lock
	if len(dep.set.locks) == 0 && !drain {
		return
	}
	if l.gate == nil {
		l.gate = d.graph.newVertex()
	}
	to := dep.target(drain)
	for i := range dep.set.locks {
		h := &dep.set.locks[i]
		if h.mode&writing != 0 {
			if h.lock.gate == nil {
				h.lock.gate = d.graph.newVertex()
			}
			d.connect(h.lock.gate, to, dep)
		}
		if h.mode&reading != 0 {
			d.connect(h.lock.drain, to, dep)
		}
	}
	if drain {
		d.connect(l.gate, to, dep)
	}
}

func (d *LockOrder) connect(from, to *vertex, dep *dependency) {
	if from == to {
		return // a thread does not wait for itself
	}
	e := d.graph.connect(from, to)
	e.deps = append(e.deps, dep)
	dep.edges = append(dep.edges, e)
}

// share notes that l is a read-write lock.
func (d *LockOrder) share(l *lockNode) {
	l.shared = true
	l.drain = d.graph.newVertex()
	for _, dep := range l.wanted {
		if dep.mode == writing {
			d.link(dep, true)
		}
	}
}

// note takes a dependency of t at present: it looks for cycles, and remembers
// it.
func (d *LockOrder) note(dep *dependency, t *locker, r *heisen.Record) {
	now := moment{thread: t.id, ctx: r.Context, epoch: t.epoch, version: t.version, index: d.events}
	for i := range dep.times {
		m := &dep.times[i]
		if m.thread == t.id && m.version == t.version {
			// Later, and with the same knowledge, it is unordered with all that
			// the earlier moment was unordered with.
			if m.epoch != t.epoch {
				m.epoch, m.ctx, m.index = now.epoch, now.ctx, now.index
				d.look(dep, m, t)
			}
			return
		}
	}
	if m := d.remember(dep, t, now); m != nil {
		d.look(dep, m, t)
		return
	}
	d.look(dep, &now, t)
}

// remember keeps a moment of t and returns where, or nil.
func (d *LockOrder) remember(dep *dependency, t *locker, now moment) *moment {
	if !dep.kept {
		d.dropped++
		return nil
	}
	if len(dep.times) == maxTimes || len(dep.times) > 0 && d.count >= d.limit {
		old := d.dispensable(dep, t)
		if old < 0 {
			if len(dep.times) < maxTimes {
				d.dropped++
			}
			return nil
		}
		d.order.Recycle(&dep.times[old].clock)
		dep.times = slices.Delete(dep.times, old, old+1)
		d.count--
	}
	d.count++
	now.clock = t.knows(d).Copy()
	dep.times = append(dep.times, now)
	return &dep.times[len(dep.times)-1]
}

// dispensable returns which moment to forget for one of t at present: the first
// that happens before it or before another one, for what comes later and is
// unordered with the former is unordered with the latter, too. It returns -1 if
// there is none.
func (d *LockOrder) dispensable(dep *dependency, t *locker) int {
	for i := range dep.times {
		if d.order.Before(dep.times[i].epoch, t.id) {
			return i
		}
	}
	for i := range dep.times {
		for j := i + 1; j < len(dep.times); j++ {
			if dep.times[j].clock.Covers(dep.times[i].epoch) || dep.times[j].thread == dep.times[i].thread {
				return i
			}
		}
	}
	return -1
}

// look searches for cycles through a moment of t at present.
func (d *LockOrder) look(dep *dependency, m *moment, t *locker) {
	for _, drain := range [...]bool{false, true} {
		if drain && (dep.mode != writing || !dep.lock.shared) {
			return
		}
		// A dependency that is not kept has no edges, and its lock perhaps no
		// vertex.
		if to := dep.target(drain); to != nil && dep.onCycle(to, drain) {
			at := *m
			at.clock = *t.knows(d)
			d.search.from(step{dep, drain, at}, to)
		}
	}
}

// onCycle reports whether one of the edges to a target of the dependency can be
// on a cycle of the graph.
func (dep *dependency) onCycle(to *vertex, drain bool) bool {
	if !dep.kept {
		return true
	}
	for _, e := range dep.edges {
		if e.to == to && e.from.component == to.component {
			return true
		}
	}
	return false
}

// forget removes a dependency.
func (d *LockOrder) forget(dep *dependency) {
	delete(d.known, dependencyKey{dep.lock, dep.set, dep.site, dep.mode})
	for _, e := range dep.edges {
		i := slices.Index(e.deps, dep)
		last := len(e.deps) - 1
		e.deps[i] = e.deps[last]
		e.deps[last] = nil
		e.deps = e.deps[:last]
		if last == 0 {
			d.graph.disconnect(e)
		}
	}
	d.count -= len(dep.times)
	for i := range dep.times {
		d.order.Recycle(&dep.times[i].clock)
	}
	dep.lock.wanted = removeAt(dep.lock.wanted, dep.atLock, func(moved *dependency) { moved.atLock = dep.atLock })
	dep.set.deps = removeAt(dep.set.deps, dep.atHolds, func(moved *dependency) { moved.atHolds = dep.atHolds })
}

// removeAt takes an element out of a list by moving the last one there.
func removeAt[T any](list []*T, at int, moved func(*T)) []*T {
	last := len(list) - 1
	list[at] = list[last]
	moved(list[at])
	list[last] = nil
	return list[:last]
}
