package lockset

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// dependency is an acquisition of a lock at a site while other locks are held.
type dependency struct {
	path   *path // the locks that are held afterwards, of which the acquired one is the latest
	site   heisen.Site
	stored bool
	next   *dependency // with the same path

	occurrences []occurrence // oldest first
}

type dependencyKey struct {
	path *path
	site heisen.Site
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
func (d *LockOrder) dependency(p *path, site heisen.Site) *dependency {
	key := dependencyKey{p, site}
	if dep := d.dependencies[key]; dep != nil {
		return dep
	}
	dep := &dependency{path: p, site: site}
	if d.stored >= d.limit || !p.stored {
		return dep
	}
	dep.stored = true
	d.dependencies[key] = dep
	dep.next, p.deps = p.deps, dep
	return dep
}

// target returns the vertex that the dependency's thread waits for. A writer of a read-write lock
// waits for writers first, and then for readers.
func (dep *dependency) target(forReaders bool) *vertex {
	if forReaders {
		return dep.path.lock.readVertex
	}
	return dep.path.lock.writeVertex
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
		if forReaders && (dep.path.mode != writing || !dep.path.lock.readWrite) {
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

// onCycle reports whether a wait for a target of the dependency can be on a cycle of the graph. If one of
// the held locks is on a cycle with the target, so are all that were taken after it.
func (dep *dependency) onCycle(to *vertex, forReaders bool) bool {
	switch before := dep.path.before; {
	case !dep.stored:
		return true
	case forReaders:
		return dep.path.lock.writeVertex.component == to.component
	default:
		return before != nil && before.vertex().component == to.component
	}
}

// forget removes a dependency, but not from its path.
func (d *LockOrder) forget(dep *dependency) {
	delete(d.dependencies, dependencyKey{dep.path, dep.site})
	d.stored -= len(dep.occurrences)
	for i := range dep.occurrences {
		d.order.Recycle(&dep.occurrences[i].clock)
	}
}

// removeAt removes an element of a list and moves the last one to its place.
func removeAt[T any](list []*T, at int, moved func(*T)) []*T {
	last := len(list) - 1
	list[at] = list[last]
	moved(list[at])
	list[last] = nil
	return list[:last]
}
