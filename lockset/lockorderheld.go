package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// mode is how a lock is held: for reading, for writing, or both.
type mode uint8

const (
	reading mode = 1 << iota
	writing
)

// lockNode is a lock in one allocation epoch of its memory.
type lockNode struct {
	id        uint64 // unique
	object    heisen.Object
	writer    *lockThread // the thread that holds it for writing, or nil
	writers   int         // number of its holds for writing
	readers   int         // number of holds for reading
	holds     *hold       // all holds, the latest first
	readWrite bool        // whether it has ever been taken for reading

	writeVertex *vertex // writers hold it, readers and writers wait for it; or nil
	readVertex  *vertex // readers hold it, writers wait for it after writeVertex; or nil
	forReaders  *edge   // between the two, if there are writers; or nil

	paths []*path // stored paths of which it is the latest lock

	// How the first waiter of a search holds it.
	search uint64 // the latest search for which it does
	mode   mode
}

// hold is a lock that a thread holds.
type hold struct {
	thread *lockThread
	lock   *lockNode
	mode   mode
	number uint64 // increases with time
	path   *path  // up to this hold; see lockThread.stale

	earlier, later             *hold // of the thread
	previousOfLock, nextOfLock *hold
}

// lockThread is a thread that takes locks.
type lockThread struct {
	id     heisen.Thread
	at     int   // index into LockOrder.all
	latest *hold // of the locks that it holds
	holds  int
	taken  uint64 // numbers holds
	stale  *hold  // the first hold whose path is not known since an earlier one has ended, or nil
	ended  bool   // it is removed when it holds no lock any more

	moment          uint64       // LockOrder.moment of epoch
	epoch           vclock.Epoch // the present epoch, if moment is the present one
	version         uint64       // of its observations of others
	snapshot        uint64       // changes with epoch and version
	snapshotVersion uint64       // the version of snapshot

	clock        vclock.Clock // its observations at clockVersion
	clockVersion uint64       // the version of clock, 0 for none

	recent [8]recent
}

// recent is a dependency that was recorded at a snapshot of its thread.
type recent struct {
	dep   *dependency
	stamp uint64
}

func (t *lockThread) recentFor(before *path, l *lockNode, site heisen.Site) *recent {
	key := l.id<<20 ^ uint64(site)
	if before != nil {
		key ^= before.lock.id << 40
	}
	return &t.recent[key*0x9e3779b97f4a7c15>>61]
}

// refresh updates the epoch and the snapshot.
func (t *lockThread) refresh(d *LockOrder) {
	if t.moment == d.moment {
		return
	}
	t.moment = d.moment
	if e := d.order.Access(t.id); e != t.epoch || t.version != t.snapshotVersion {
		t.epoch, t.snapshotVersion = e, t.version
		t.snapshot++
	}
}

// observed returns what t has observed of others.
func (t *lockThread) observed(d *LockOrder) *vclock.Clock {
	if t.clockVersion != t.version {
		d.order.Recycle(&t.clock)
		t.clock, t.clockVersion = d.order.Observed(t.id), t.version
	}
	return &t.clock
}

// The budget of lockThread.present, in holds whose paths are made again.
const (
	rebuildBase           = 1 << 20
	rebuildPerAcquisition = 16
)

// present returns the locks that t holds. After a hold has ended that was not the latest, this takes a step
// for each later one. It fails if the budget for that is spent.
func (t *lockThread) present(d *LockOrder) (p *path, known bool) {
	if t.stale == nil {
		if t.latest == nil {
			return nil, true
		}
		return t.latest.path, true
	}
	if h := t.stale.earlier; h != nil {
		p = h.path
	}
	for ; t.stale != nil; t.stale = t.stale.later {
		if d.rebuilt > rebuildBase+rebuildPerAcquisition*d.acquisitions {
			return nil, false
		}
		d.rebuilt++
		p = d.path(p, t.stale.lock, t.stale.mode)
		t.stale.path = p
	}
	return p, true
}

// hold records that t has taken l. p is nil if it is not known.
func (t *lockThread) hold(d *LockOrder, l *lockNode, m mode, p *path) {
	h := d.spareHolds
	if h == nil {
		h = new(hold)
	} else {
		d.spareHolds = h.later
	}
	t.taken++
	t.holds++
	h.thread, h.lock, h.mode, h.number, h.path = t, l, m, t.taken, p
	h.earlier, h.later = t.latest, nil
	if h.earlier != nil {
		h.earlier.later = h
	}
	if h.nextOfLock = l.holds; h.nextOfLock != nil {
		h.nextOfLock.previousOfLock = h
	}
	t.latest, l.holds = h, h
	if m == writing {
		l.writer = t
		l.writers++
	} else {
		l.readers++
	}
}

// holdOf returns t's latest hold of l in a mode, or nil.
func (t *lockThread) holdOf(l *lockNode, m mode) *hold {
	if h := t.latest; h != nil && h.lock == l && h.mode == m {
		return h
	}
	if m == reading && l.readers > t.holds {
		for h := t.latest; h != nil; h = h.earlier {
			if h.lock == l && h.mode == m {
				return h
			}
		}
		return nil
	}
	for h := l.holds; h != nil; h = h.nextOfLock {
		if h.thread == t && h.mode == m {
			return h
		}
	}
	return nil
}

// drop ends a hold. The paths of later ones are not known any more.
func (d *LockOrder) drop(h *hold) {
	t, l := h.thread, h.lock
	if t.stale == nil || h.number <= t.stale.number {
		t.stale = h.later
	}
	if h.later != nil {
		h.later.earlier = h.earlier
	} else {
		t.latest = h.earlier
	}
	if h.earlier != nil {
		h.earlier.later = h.later
	}
	if h.nextOfLock != nil {
		h.nextOfLock.previousOfLock = h.previousOfLock
	}
	if h.previousOfLock != nil {
		h.previousOfLock.nextOfLock = h.nextOfLock
	} else {
		l.holds = h.nextOfLock
	}
	t.holds--
	if h.mode == reading {
		l.readers--
	} else if l.writers--; l.writers == 0 {
		l.writer = nil
	}
	h.path, h.earlier, h.later = nil, nil, d.spareHolds
	if h.nextOfLock != nil || h.previousOfLock != nil {
		h.nextOfLock, h.previousOfLock = nil, nil
	}
	d.spareHolds = h
	if t.ended {
		d.removeIdle(t)
	}
}

// find returns a thread that takes locks, or nil.
func (d *LockOrder) find(id heisen.Thread) *lockThread {
	if d.last != nil && d.last.id == id {
		return d.last
	}
	if p := d.threads.Peek(threadIndex(id)); p != nil && *p != nil {
		d.last = *p
		return *p
	}
	return nil
}

// threadIndex returns the index of a thread in threads: a word of its own.
func threadIndex(id heisen.Thread) heisen.Object { return 8 * heisen.Object(id) }

func (d *LockOrder) threadOf(id heisen.Thread) *lockThread {
	if t := d.find(id); t != nil {
		return t
	}
	d.version++
	t := &lockThread{id: id, at: len(d.all), version: d.version}
	t.moment = d.moment - 1
	d.all = append(d.all, t)
	*d.threads.At(threadIndex(id)) = t
	d.last = t
	return t
}

// end ends a thread. Another one may still release its locks.
func (d *LockOrder) end(id heisen.Thread) {
	if t := d.find(id); t != nil {
		t.ended = true
		d.removeIdle(t)
	}
}

// removeIdle removes a thread that has ended, unless it still holds a lock.
func (d *LockOrder) removeIdle(t *lockThread) {
	if t.latest != nil {
		return
	}
	d.order.Recycle(&t.clock)
	n := len(d.all) - 1
	d.all[t.at] = d.all[n]
	d.all[t.at].at = t.at
	d.all[n] = nil
	d.all = d.all[:n]
	d.threads.Clear(threadIndex(t.id), 1)
	d.last = nil
}

func (d *LockOrder) lockAt(o heisen.Object) *lockNode {
	p := d.locks.At(o)
	if *p == nil {
		d.ids++
		*p = &lockNode{id: d.ids, object: o}
	}
	return *p
}

// endLock removes a lock whose memory is allocated or freed.
func (d *LockOrder) endLock(p **lockNode) {
	l := *p
	if l == nil {
		return
	}
	*p = nil
	for l.holds != nil {
		d.drop(l.holds)
	}
	for len(l.paths) > 0 {
		d.removePaths(l.paths[len(l.paths)-1])
	}
	d.graph.disconnect(l.forReaders)
	d.graph.removeVertex(l.writeVertex)
	d.graph.removeVertex(l.readVertex)
}
