package locksets

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Held is the locks that a thread holds.
type Held struct {
	Any       ID // locks held in any mode
	Exclusive ID // locks held exclusively, and possibly also for reading
}

// Tracker tracks which locks each thread holds, by the Acquire, AcquireShared, Release and
// ReleaseShared events of a stream. A thread may take a lock several times, in either mode, and
// release locks in any order.
//
// # Guarantee
//
// If two accesses by different threads were made with a common lock that is in Any of both and in
// Exclusive of one, then the stream shows that the first thread released the lock after its access
// and the other one took it after that. To guarantee this for every stream, also a damaged one, the
// Tracker ends a lock, so that its address gets a new one, if
//   - a thread releases it that does not hold it in this mode. In Go any goroutine may unlock a
//     Mutex, but then the Mutex does not guard what its holder still does;
//   - a thread takes it while another one holds it in a mode that excludes this;
//   - a thread ends, or is joined, while it holds it;
//   - an atomic store writes to its address, which hides what its holders have published (see
//     heisen.AtomicWrite);
//   - its memory is allocated or freed.
//
// # Cost
//
// An event costs two look-ups and one or two memoized operations of the Table, and one more for each
// nested hold. The end of a lock that is held for reading takes a step per thread. Memory is 16
// bytes per lock, and about 45 bytes per thread that ever took a lock, until its End. In steady
// state nothing is allocated.
type Tracker struct {
	table   *Table
	uses    []lockUse // by Lock
	threads *shadow.Memory[threadLocks]
	scratch []Lock

	// The latest result of HeldBy, valid if cached.
	cached bool
	thread heisen.Thread
	held   Held
}

// lockUse has the holders of a lock.
type lockUse struct {
	owner  heisen.Thread // exclusive holder, if owned
	owned  bool
	shares uint32 // shared holds by all threads
}

// threadLocks is the locks that a thread holds.
type threadLocks struct {
	Held
	// nested has all holds except one of each lock that the thread holds several times. The one
	// that is not listed is an exclusive one, if there is one.
	nested []nestedHold
}

type nestedHold struct {
	lock   Lock
	shared bool
}

// NewTracker returns a Tracker in which no lock is held. It numbers locks by table. A Table has at
// most one Tracker.
func NewTracker(table *Table) *Tracker {
	h := &Tracker{table: table, threads: shadow.New[threadLocks](nil, nil)}
	table.ended = h.endLock
	return h
}

// HeldBy returns the locks that a thread holds.
func (h *Tracker) HeldBy(t heisen.Thread) Held {
	if !h.cached || h.thread != t {
		h.look(t)
	}
	return h.held
}

func (h *Tracker) look(t heisen.Thread) {
	h.cached, h.thread, h.held = true, t, Held{}
	if p := h.threads.Peek(threadKey(t)); p != nil {
		h.held = p.Held
	}
}

// threadKey returns the index of a thread in a Memory: a word of its own.
func threadKey(t heisen.Thread) heisen.Object { return 8 * heisen.Object(t) }

// Handle takes the next event of the stream. It uses the events that take or release locks, end
// threads, or allocate or free memory.
func (h *Tracker) Handle(r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire:
		h.acquire(r.Thread, r.Object)
	case heisen.AcquireShared:
		h.acquireShared(r.Thread, r.Object)
	case heisen.Release:
		h.release(r.Thread, r.Object)
	case heisen.ReleaseShared:
		h.releaseShared(r.Thread, r.Object)
	case heisen.End:
		h.end(r.Thread)
	case heisen.Join:
		if t := r.Object.Thread(); heisen.Object(t) == r.Object && t != r.Thread {
			h.end(t)
		}
	case heisen.AtomicWrite:
		if l := h.table.Find(r.Object); l != 0 {
			h.table.retire(l)
		}
		return
	case heisen.Alloc, heisen.Free:
		h.table.End(r.Object, r.Value)
	}
	h.cached = false
}

// KeepSets keeps the sets of locks that threads hold.
func (h *Tracker) KeepSets(k *Compaction) {
	h.cached = false
	h.threads.Each(func(p *threadLocks) {
		k.Keep(&p.Any)
		k.Keep(&p.Exclusive)
	})
}

func (h *Tracker) of(t heisen.Thread) *threadLocks { return h.threads.At(threadKey(t)) }

func (h *Tracker) useOf(l Lock) *lockUse {
	for int(l) >= len(h.uses) {
		h.uses = append(h.uses, lockUse{})
	}
	return &h.uses[l]
}

func (h *Tracker) acquire(t heisen.Thread, o heisen.Object) {
	l := h.table.Lock(o)
	u := h.useOf(l)
	if u.owned && u.owner != t || u.shares > 0 && u.shares > h.sharesOf(t, l) {
		h.table.retire(l)
		l = h.table.Lock(o)
		u = h.useOf(l)
	}
	p := h.of(t)
	switch {
	case u.owned:
		p.nested = append(p.nested, nestedHold{l, false})
		return
	case u.shares > 0: // t's own
		p.nested = append(p.nested, nestedHold{l, true})
	}
	u.owned, u.owner = true, t
	p.add(h.table, l)
}

// add adds a lock to Any and Exclusive.
func (p *threadLocks) add(table *Table, l Lock) {
	if p.Any == p.Exclusive {
		p.Any = table.With(p.Any, l)
		p.Exclusive = p.Any
		return
	}
	p.Any = table.With(p.Any, l)
	p.Exclusive = table.With(p.Exclusive, l)
}

// remove removes a lock from Any and Exclusive.
func (p *threadLocks) remove(table *Table, l Lock) {
	if p.Any == p.Exclusive {
		p.Any = table.Without(p.Any, l)
		p.Exclusive = p.Any
		return
	}
	p.Any = table.Without(p.Any, l)
	p.Exclusive = table.Without(p.Exclusive, l)
}

// sharesOf returns the number of t's shared holds of l.
func (h *Tracker) sharesOf(t heisen.Thread, l Lock) (n uint32) {
	p := h.of(t)
	if h.table.Has(p.Any, l) && !h.table.Has(p.Exclusive, l) {
		n++
	}
	for _, other := range p.nested {
		if other == (nestedHold{l, true}) {
			n++
		}
	}
	return n
}

func (h *Tracker) acquireShared(t heisen.Thread, o heisen.Object) {
	l := h.table.Lock(o)
	u := h.useOf(l)
	if u.owned && u.owner != t {
		h.table.retire(l)
		l = h.table.Lock(o)
		u = h.useOf(l)
	}
	u.shares++
	p := h.of(t)
	if h.table.Has(p.Any, l) {
		p.nested = append(p.nested, nestedHold{l, true})
		return
	}
	p.Any = h.table.With(p.Any, l)
}

func (h *Tracker) release(t heisen.Thread, o heisen.Object) {
	l := h.table.Find(o)
	if l == 0 {
		return
	}
	u := h.useOf(l)
	if !u.owned || u.owner != t {
		h.table.retire(l)
		return
	}
	p := h.of(t)
	switch {
	case len(p.nested) > 0 && p.removeNested(nestedHold{l, false}):
		return
	case len(p.nested) > 0 && p.removeNested(nestedHold{l, true}): // t still reads
		p.Exclusive = h.table.Without(p.Exclusive, l)
	default:
		p.remove(h.table, l)
	}
	u.owned = false
}

func (h *Tracker) releaseShared(t heisen.Thread, o heisen.Object) {
	l := h.table.Find(o)
	if l == 0 {
		return
	}
	p, u := h.of(t), h.useOf(l)
	switch {
	case len(p.nested) > 0 && p.removeNested(nestedHold{l, true}):
	case h.table.Has(p.Any, l) && !h.table.Has(p.Exclusive, l):
		p.Any = h.table.Without(p.Any, l)
	default:
		h.table.retire(l)
		return
	}
	u.shares--
}

// removeNested removes one entry equal to w from p.nested. It reports whether there was one.
func (p *threadLocks) removeNested(w nestedHold) bool {
	i := slices.Index(p.nested, w)
	if i >= 0 {
		p.nested = slices.Delete(p.nested, i, i+1)
	}
	return i >= 0
}

// end ends a thread.
func (h *Tracker) end(t heisen.Thread) {
	p := h.threads.Peek(threadKey(t))
	if p == nil {
		return
	}
	h.scratch = h.table.Append(h.scratch[:0], p.Any)
	for _, l := range h.scratch {
		h.table.retire(l)
	}
	h.threads.Clear(threadKey(t), 1)
}

// endLock removes a lock that has ended from what threads hold.
func (h *Tracker) endLock(l Lock) {
	h.cached = false
	u := h.useOf(l)
	switch {
	case u.shares > 0:
		h.threads.Each(func(p *threadLocks) { p.endLock(h.table, l) })
	case u.owned:
		h.of(u.owner).endLock(h.table, l)
	}
	*u = lockUse{}
}

func (p *threadLocks) endLock(table *Table, l Lock) {
	p.remove(table, l)
	p.nested = slices.DeleteFunc(p.nested, func(w nestedHold) bool { return w.lock == l })
}
