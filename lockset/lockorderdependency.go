package lockset

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// dependency is a lock that threads took at a site while they held a set of
// locks.
type dependency struct {
	lock     *lockNode
	set      *heldSet
	site     heisen.Site
	mode     mode
	withLock *heldSet // with the lock

	occurrences []occurrence // when, by age
	edges       []*edge
	stored      bool
	atLock      int // among those that want the lock
	atSet       int // among those that hold the set
}

type dependencyKey struct {
	lock *lockNode
	set  *heldSet
	site heisen.Site
	mode mode
}

// occurrence is one time at which a thread had a dependency.
type occurrence struct {
	thread  heisen.Thread
	ctx     heisen.Context
	epoch   vclock.Epoch
	version uint64       // of what the thread knew of others
	clock   vclock.Clock // what it knew of others
	index   uint64       // of the event
}

// maxOccurrences bounds the moments of one dependency.
const maxOccurrences = 8

// concurrent reports whether two moments are of different threads and not
// ordered.
func concurrent(x, y *occurrence) bool {
	return x.thread != y.thread && !x.clock.Covers(y.epoch) && !y.clock.Covers(x.epoch)
}

// dependency returns the one of that kind, which may be new.
func (d *LockOrder) dependency(l *lockNode, set *heldSet, site heisen.Site, m mode) *dependency {
	key := dependencyKey{l, set, site, m}
	if dep := d.dependencies[key]; dep != nil {
		return dep
	}
	dep := &dependency{lock: l, set: set, site: site, mode: m, withLock: d.sets.with(set, l, m)}
	if d.stored >= d.limit || !set.interned || !dep.withLock.interned {
		return dep
	}
	dep.stored = true
	d.dependencies[key] = dep
	dep.atLock = len(l.deps)
	l.deps = append(l.deps, dep)
	dep.atSet = len(set.deps)
	set.deps = append(set.deps, dep)
	d.link(dep, false)
	if l.readWrite && m == writing {
		d.link(dep, true)
	}
	return dep
}

// target is what the dependency's thread waits for: first the gate, then, if it
// is a writer of a lock that has readers, the drain.
func (dep *dependency) target(drain bool) *vertex {
	if drain {
		return dep.lock.readVertex
	}
	return dep.lock.writeVertex
}

// link adds the edges of one of the dependency's steps to the graph.
func (d *LockOrder) link(dep *dependency, drain bool) {
	l := dep.lock
	if len(dep.set.locks) == 0 && !drain {
		return
	}
	if l.writeVertex == nil {
		l.writeVertex = d.graph.newVertex()
	}
	to := dep.target(drain)
	for i := range dep.set.locks {
		h := &dep.set.locks[i]
		if h.mode&writing != 0 {
			if h.lock.writeVertex == nil {
				h.lock.writeVertex = d.graph.newVertex()
			}
			d.connect(h.lock.writeVertex, to, dep)
		}
		if h.mode&reading != 0 {
			d.connect(h.lock.readVertex, to, dep)
		}
	}
	if drain {
		d.connect(l.writeVertex, to, dep)
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

// setReadWrite notes that l is a read-write lock.
func (d *LockOrder) setReadWrite(l *lockNode) {
	l.readWrite = true
	l.readVertex = d.graph.newVertex()
	for _, dep := range l.deps {
		if dep.mode == writing {
			d.link(dep, true)
		}
	}
}

// recordDependency takes a dependency of t at present: it looks for cycles, and remembers
// it.
func (d *LockOrder) recordDependency(dep *dependency, t *lockThread, r *heisen.Record) {
	now := occurrence{thread: t.id, ctx: r.Context, epoch: t.epoch, version: t.version, index: d.events}
	for i := range dep.occurrences {
		m := &dep.occurrences[i]
		if m.thread == t.id && m.version == t.version {
			// Later, and with the same knowledge, it is unordered with all that
			// the earlier moment was unordered with.
			if m.epoch != t.epoch {
				m.epoch, m.ctx, m.index = now.epoch, now.ctx, now.index
				d.findCycles(dep, m, t)
			}
			return
		}
	}
	if m := d.store(dep, t, now); m != nil {
		d.findCycles(dep, m, t)
		return
	}
	d.findCycles(dep, &now, t)
}

// store keeps a moment of t and returns where, or nil.
func (d *LockOrder) store(dep *dependency, t *lockThread, now occurrence) *occurrence {
	if !dep.stored {
		d.dropped++
		return nil
	}
	if len(dep.occurrences) == maxOccurrences || len(dep.occurrences) > 0 && d.stored >= d.limit {
		old := d.dispensable(dep, t)
		if old < 0 {
			if len(dep.occurrences) < maxOccurrences {
				d.dropped++
			}
			return nil
		}
		d.order.Recycle(&dep.occurrences[old].clock)
		dep.occurrences = slices.Delete(dep.occurrences, old, old+1)
		d.stored--
	}
	d.stored++
	now.clock = t.observed(d).Copy()
	dep.occurrences = append(dep.occurrences, now)
	return &dep.occurrences[len(dep.occurrences)-1]
}

// dispensable returns which moment to forget for one of t at present: the first
// that happens before it or before another one, for what comes later and is
// unordered with the former is unordered with the latter, too. It returns -1 if
// there is none.
func (d *LockOrder) dispensable(dep *dependency, t *lockThread) int {
	for i := range dep.occurrences {
		if d.order.Before(dep.occurrences[i].epoch, t.id) {
			return i
		}
	}
	for i := range dep.occurrences {
		for j := i + 1; j < len(dep.occurrences); j++ {
			if dep.occurrences[j].clock.Covers(dep.occurrences[i].epoch) || dep.occurrences[j].thread == dep.occurrences[i].thread {
				return i
			}
		}
	}
	return -1
}

// findCycles searches for cycles through a moment of t at present.
func (d *LockOrder) findCycles(dep *dependency, m *occurrence, t *lockThread) {
	for _, drain := range [...]bool{false, true} {
		if drain && (dep.mode != writing || !dep.lock.readWrite) {
			return
		}
		// A dependency that is not kept has no edges, and its lock perhaps no
		// vertex.
		if to := dep.target(drain); to != nil && dep.onCycle(to, drain) {
			at := *m
			at.clock = *t.observed(d)
			d.search.cyclesThrough(waiter{dep, drain, at}, to)
		}
	}
}

// onCycle reports whether one of the edges to a target of the dependency can be
// on a cycle of the graph.
func (dep *dependency) onCycle(to *vertex, drain bool) bool {
	if !dep.stored {
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
	delete(d.dependencies, dependencyKey{dep.lock, dep.set, dep.site, dep.mode})
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
	d.stored -= len(dep.occurrences)
	for i := range dep.occurrences {
		d.order.Recycle(&dep.occurrences[i].clock)
	}
	dep.lock.deps = removeAt(dep.lock.deps, dep.atLock, func(moved *dependency) { moved.atLock = dep.atLock })
	dep.set.deps = removeAt(dep.set.deps, dep.atSet, func(moved *dependency) { moved.atSet = dep.atSet })
}

// removeAt takes an element out of a list by moving the last one there.
func removeAt[T any](list []*T, at int, moved func(*T)) []*T {
	last := len(list) - 1
	list[at] = list[last]
	moved(list[at])
	list[last] = nil
	return list[:last]
}
