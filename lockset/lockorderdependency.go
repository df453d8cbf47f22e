package lockset

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// dependency is an acquisition of a lock at a site while a set of locks is held.
type dependency struct {
	lock     *lockNode
	set      *heldSet
	site     heisen.Site
	mode     mode
	withLock *heldSet // set with lock

	occurrences []occurrence // oldest first
	edges       []*edge
	stored      bool
	atLock      int // index into lock.deps
	atSet       int // index into set.deps
}

type dependencyKey struct {
	lock *lockNode
	set  *heldSet
	site heisen.Site
	mode mode
}

// occurrence is an acquisition by a thread that has a dependency.
type occurrence struct {
	thread  heisen.Thread
	ctx     heisen.Context
	epoch   vclock.Epoch
	version uint64       // of the thread's observations
	clock   vclock.Clock // what the thread had observed of others
	index   uint64       // of the event in the stream
}

// maxOccurrences bounds the stored occurrences of one dependency.
const maxOccurrences = 8

// concurrent reports whether two occurrences are by different threads and not ordered.
func concurrent(x, y *occurrence) bool {
	return x.thread != y.thread && !x.clock.Covers(y.epoch) && !y.clock.Covers(x.epoch)
}

// dependency returns the dependency with these properties, a new one if there is none. A new one that
// exceeds the limit is not stored.
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

// target returns the vertex that the dependency's thread waits for. A writer of a read-write lock
// waits for writers first, and then for readers.
func (dep *dependency) target(forReaders bool) *vertex {
	if forReaders {
		return dep.lock.readVertex
	}
	return dep.lock.writeVertex
}

// link adds the edges of one of the dependency's two waits to the graph.
func (d *LockOrder) link(dep *dependency, forReaders bool) {
	l := dep.lock
	if len(dep.set.locks) == 0 && !forReaders {
		return
	}
	if l.writeVertex == nil {
		l.writeVertex = d.graph.newVertex()
	}
	to := dep.target(forReaders)
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
	if forReaders {
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

// setReadWrite records that l is a read-write lock.
func (d *LockOrder) setReadWrite(l *lockNode) {
	l.readWrite = true
	l.readVertex = d.graph.newVertex()
	for _, dep := range l.deps {
		if dep.mode == writing {
			d.link(dep, true)
		}
	}
}

// recordDependency handles an acquisition by t that has a dependency: it searches for cycles and
// stores the occurrence.
func (d *LockOrder) recordDependency(dep *dependency, t *lockThread, r *heisen.Record) {
	now := occurrence{thread: t.id, ctx: r.Context, epoch: t.epoch, version: t.version, index: d.events}
	for i := range dep.occurrences {
		m := &dep.occurrences[i]
		if m.thread == t.id && m.version == t.version {
			// The thread has observed nothing since, so the later occurrence is unordered with
			// everything that the earlier one is unordered with.
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

// store stores an occurrence by t. It returns the stored one, or nil.
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

// dispensable returns the index of an occurrence that a present one by t can replace, or -1. It is the
// first that happens before the present one or before another stored one: a later event that is
// unordered with it is also unordered with the other.
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

// compactOrder makes the order forget threads that have ended.
func (d *LockOrder) compactOrder() {
	for _, t := range d.all {
		d.order.Recycle(&t.clock)
		t.clockVersion = 0
	}
	d.order.Compact(
		func(yield func(*vclock.Clock) bool) {
			for _, dep := range d.dependencies {
				for i := range dep.occurrences {
					if !yield(&dep.occurrences[i].clock) {
						return
					}
				}
			}
		},
		func(k *vclock.Compaction) {
			for _, dep := range d.dependencies {
				d.compactOccurrences(dep, k)
			}
		})
	d.moment++ // a thread that has ended may have got another epoch
}

// compactOccurrences names the epochs of the occurrences to a compaction, and drops occurrences that
// happen before all that can still come.
func (d *LockOrder) compactOccurrences(dep *dependency, k *vclock.Compaction) {
	kept := dep.occurrences[:0]
	for _, m := range dep.occurrences {
		if k.Keep(&m.epoch) {
			kept = append(kept, m)
			continue
		}
		d.order.Recycle(&m.clock)
		d.stored--
	}
	clear(dep.occurrences[len(kept):])
	dep.occurrences = kept
}

// findCycles searches for cycles through the present occurrence, by t.
func (d *LockOrder) findCycles(dep *dependency, m *occurrence, t *lockThread) {
	for _, forReaders := range [...]bool{false, true} {
		if forReaders && (dep.mode != writing || !dep.lock.readWrite) {
			return
		}
		// A dependency that is not stored has no edges, and its lock may have no vertex.
		if to := dep.target(forReaders); to != nil && dep.onCycle(to, forReaders) {
			at := *m
			at.clock = *t.observed(d)
			d.search.cyclesThrough(waiter{dep, forReaders, at}, to)
		}
	}
}

// onCycle reports whether an edge to a target of the dependency can be on a cycle of the graph.
func (dep *dependency) onCycle(to *vertex, forReaders bool) bool {
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

// removeAt removes an element of a list and moves the last one to its place.
func removeAt[T any](list []*T, at int, moved func(*T)) []*T {
	last := len(list) - 1
	list[at] = list[last]
	moved(list[at])
	list[last] = nil
	return list[:last]
}
