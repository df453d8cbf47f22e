package lockset

import (
	"cmp"
	"slices"

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
	readers   int         // number of holds for reading
	readWrite bool        // whether it has ever been taken for reading

	writeVertex *vertex // writers hold it, readers and writers wait for it; or nil
	readVertex  *vertex // readers hold it, writers wait for it after writeVertex; or nil

	deps []*dependency // dependencies that acquire it
	sets []*heldSet    // interned sets that contain it
}

// heldSet is a set of held locks. Equal interned sets are the same pointer. The sets of package
// internal/locksets do not serve here, because the graph must find all sets that contain a lock and
// drop them with the lock.
type heldSet struct {
	id       uint64
	hash     uint64
	locks    []heldLock // sorted by id
	interned bool
	next     *heldSet      // with the same hash
	deps     []*dependency // dependencies that hold it
}

type heldLock struct {
	lock *lockNode
	mode mode
	at   int // index of the set in lock.sets, if it is interned
}

// heldSets interns sets.
type heldSets struct {
	byHash  map[uint64]*heldSet
	ids     uint64
	count   int
	limit   *int
	empty   *heldSet
	scratch []heldLock
}

func (s *heldSets) init(limit *int) {
	s.limit = limit
	s.byHash = map[uint64]*heldSet{}
	s.empty = &heldSet{interned: true}
}

// with returns the union of a set and a lock.
func (s *heldSets) with(set *heldSet, l *lockNode, m mode) *heldSet {
	s.scratch = insertHeld(append(s.scratch[:0], set.locks...), l, m)
	return s.intern()
}

// insertHeld adds a held lock to a sorted list, or a mode to a lock in it.
func insertHeld(locks []heldLock, l *lockNode, m mode) []heldLock {
	i, ok := slices.BinarySearchFunc(locks, l.id, func(h heldLock, id uint64) int { return cmp.Compare(h.lock.id, id) })
	if ok {
		locks[i].mode |= m
		return locks
	}
	return slices.Insert(locks, i, heldLock{lock: l, mode: m})
}

// intern returns the set that is in scratch.
func (s *heldSets) intern() *heldSet {
	if len(s.scratch) == 0 {
		return s.empty
	}
	hash := uint64(0)
	for _, h := range s.scratch {
		hash = (hash ^ (h.lock.id<<2 | uint64(h.mode))) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	for set := s.byHash[hash]; set != nil; set = set.next {
		if slices.EqualFunc(set.locks, s.scratch, func(a, b heldLock) bool { return a.lock == b.lock && a.mode == b.mode }) {
			return set
		}
	}
	s.ids++
	set := &heldSet{id: s.ids, hash: hash, locks: slices.Clone(s.scratch)}
	if s.count >= *s.limit {
		return set
	}
	s.count++
	set.interned = true
	set.next = s.byHash[hash]
	s.byHash[hash] = set
	for i := range set.locks {
		h := &set.locks[i]
		h.at = len(h.lock.sets)
		h.lock.sets = append(h.lock.sets, set)
	}
	return set
}

// remove removes an interned set.
func (s *heldSets) remove(set *heldSet) {
	s.count--
	set.interned = false
	if s.byHash[set.hash] == set {
		if set.next == nil {
			delete(s.byHash, set.hash)
		} else {
			s.byHash[set.hash] = set.next
		}
	} else {
		p := s.byHash[set.hash]
		for p.next != set {
			p = p.next
		}
		p.next = set.next
	}
	for i := range set.locks {
		h := &set.locks[i]
		sets := h.lock.sets
		moved := sets[len(sets)-1]
		sets[h.at] = moved
		moved.place(h.lock, h.at)
		sets[len(sets)-1] = nil
		h.lock.sets = sets[:len(sets)-1]
	}
}

// place sets the index of the set in l.sets.
func (set *heldSet) place(l *lockNode, at int) {
	for i := range set.locks {
		if set.locks[i].lock == l {
			set.locks[i].at = at
		}
	}
}

// hold is a lock that a thread holds.
type hold struct {
	lock   *lockNode
	mode   mode
	before *heldSet // the locks held before it was taken
}

// lockThread is a thread that takes locks.
type lockThread struct {
	id    heisen.Thread
	at    int    // index into LockOrder.all
	held  []hold // in order of acquisition
	set   *heldSet
	ended bool // it is removed when it holds no lock any more

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

func (t *lockThread) recentFor(l *lockNode, site heisen.Site) *recent {
	return &t.recent[(l.id*5^t.set.id*3^uint64(site))%uint64(len(t.recent))]
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

func (t *lockThread) hold(l *lockNode, m mode, after *heldSet) {
	t.held = append(t.held, hold{l, m, t.set})
	t.set = after
	if m == writing {
		l.writer = t
	} else {
		l.readers++
	}
}

// release ends t's latest hold of l in a mode. It reports whether there was one.
func (t *lockThread) release(d *LockOrder, l *lockNode, m mode) bool {
	i := len(t.held) - 1
	for ; i >= 0; i-- {
		if h := &t.held[i]; h.lock == l && h.mode == m {
			break
		}
	}
	if i < 0 {
		return false
	}
	t.drop(d, i)
	if m == reading {
		l.readers--
	} else if !slices.ContainsFunc(t.held, func(h hold) bool { return h.lock == l && h.mode == m }) {
		l.writer = nil
	}
	if t.ended {
		d.removeIdle(t)
	}
	return true
}

// drop removes a hold and recomputes the sets of the later ones.
func (t *lockThread) drop(d *LockOrder, i int) {
	t.set = t.held[i].before
	t.held = slices.Delete(t.held, i, i+1)
	for j := i; j < len(t.held); j++ {
		h := &t.held[j]
		h.before = t.set
		t.set = d.sets.with(t.set, h.lock, h.mode)
	}
}

// reads returns the number of t's holds of l for reading.
func (t *lockThread) reads(l *lockNode) (n int) {
	for _, h := range t.held {
		if h.lock == l && h.mode == reading {
			n++
		}
	}
	return n
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
	t := &lockThread{id: id, at: len(d.all), set: d.sets.empty, version: d.version}
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
	if len(t.held) > 0 {
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
	if l.writer != nil || l.readers > 0 {
		for _, t := range slices.Backward(d.all) { // release may remove t
			for t.release(d, l, reading) || t.release(d, l, writing) {
			}
		}
	}
	for len(l.deps) > 0 {
		d.forget(l.deps[len(l.deps)-1])
	}
	for len(l.sets) > 0 {
		set := l.sets[len(l.sets)-1]
		for len(set.deps) > 0 {
			d.forget(set.deps[len(set.deps)-1])
		}
		d.sets.remove(set)
	}
	d.graph.removeVertex(l.writeVertex)
	d.graph.removeVertex(l.readVertex)
}
