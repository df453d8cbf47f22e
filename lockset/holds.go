package lockset

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Held is what a thread holds at a point.
type Held struct {
	Any       ID // the locks it holds in any mode
	Exclusive ID // those it holds exclusively, perhaps besides
}

// Holds follows which locks each thread holds, by the Acquire, AcquireShared,
// Release and ReleaseShared events of a stream. Locks may be taken again by who
// holds them, in either mode and as often as they are then released, and
// released in any order.
//
// # What a lock excludes
//
// If two accesses by different threads were made with a common lock in Any of
// both and in Exclusive of one, then the stream shows that the thread which had
// the lock first released it after its access, and the other one took it after
// that. To keep this promise for every stream, however damaged, a lock about
// which the stream shows anything else ends, and a new one begins at its
// address, that has nothing to do with what was held before:
//   - it is released by a thread that does not hold it so (Go allows to unlock a
//     Mutex for somebody else, but what it guards is then not guarded until its
//     holder is done with it);
//   - it is taken while somebody else holds it in a mode that excludes that;
//   - a thread ends, or is joined, while it holds it;
//   - an atomic store goes to its address, which by heisen.AtomicWrite hides what
//     its holders have published;
//   - its memory is given away, by Alloc or Free.
//
// # Costs
//
// An event costs two look-ups and one or two memoised operations of the Table,
// one more for each hold of a lock beyond a thread's first, and nothing is
// allocated in steady state. The end of a lock that is held for reading takes a
// step per thread. Memory is 16 bytes per lock and about 45 per thread that ever
// took one, until its End.
//
// A Holds belongs to one goroutine, as its Table does.
type Holds struct {
	table   *Table
	uses    []use // by Lock
	threads *shadow.Memory[holding]
	scratch []Lock

	// What Of said last, if known.
	known  bool
	thread heisen.Thread
	held   Held
}

// use is who holds a lock.
type use struct {
	owner  heisen.Thread // who holds it exclusively, if owned
	owned  bool
	shares uint32 // holds for reading, of all threads
}

// holding is what a thread holds.
type holding struct {
	Held
	// again has the holds of locks that the thread held already. Of the holds
	// of one lock one is not listed here: an exclusive one, if there is one.
	again []hold
}

type hold struct {
	lock   Lock
	shared bool
}

// NewHolds returns the state of a stream's start, in which nothing is held. It
// numbers locks by table, of which there can be only one Holds.
func NewHolds(table *Table) *Holds {
	h := &Holds{table: table, threads: shadow.New[holding](nil, nil)}
	table.ended = h.forget
	return h
}

// Of returns what a thread holds.
func (h *Holds) Of(t heisen.Thread) Held {
	if !h.known || h.thread != t {
		h.look(t)
	}
	return h.held
}

func (h *Holds) look(t heisen.Thread) {
	h.known, h.thread, h.held = true, t, Held{}
	if p := h.threads.Peek(threadEntry(t)); p != nil {
		h.held = p.Held
	}
}

// threadEntry is where a Memory has a thread: at a word of its own.
func threadEntry(t heisen.Thread) heisen.Object { return 8 * heisen.Object(t) }

// Handle takes the next event of the stream; it looks at those that take or
// release locks, end threads or begin or end lives of memory. Of, asked before,
// says what was held before the event, and asked after, what is held now.
func (h *Holds) Handle(r *heisen.Record) {
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
	h.known = false
}

// Keep names to k the sets that threads hold.
func (h *Holds) Keep(k *Keeper) {
	h.known = false
	h.threads.Each(func(p *holding) {
		k.Set(&p.Any)
		k.Set(&p.Exclusive)
	})
}

func (h *Holds) of(t heisen.Thread) *holding { return h.threads.At(threadEntry(t)) }

func (h *Holds) use(l Lock) *use {
	for int(l) >= len(h.uses) {
		h.uses = append(h.uses, use{})
	}
	return &h.uses[l]
}

func (h *Holds) acquire(t heisen.Thread, o heisen.Object) {
	l := h.table.Lock(o)
	u := h.use(l)
	if u.owned && u.owner != t || u.shares > 0 && u.shares > h.sharesOf(t, l) {
		h.table.retire(l)
		l = h.table.Lock(o)
		u = h.use(l)
	}
	p := h.of(t)
	switch {
	case u.owned:
		p.again = append(p.again, hold{l, false})
		return
	case u.shares > 0: // t's own
		p.again = append(p.again, hold{l, true})
	}
	u.owned, u.owner = true, t
	p.hold(h.table, l)
}

// hold adds a lock to both sets.
func (p *holding) hold(table *Table, l Lock) {
	if p.Any == p.Exclusive {
		p.Any = table.With(p.Any, l)
		p.Exclusive = p.Any
		return
	}
	p.Any = table.With(p.Any, l)
	p.Exclusive = table.With(p.Exclusive, l)
}

// drop removes a lock from both sets.
func (p *holding) drop(table *Table, l Lock) {
	if p.Any == p.Exclusive {
		p.Any = table.Without(p.Any, l)
		p.Exclusive = p.Any
		return
	}
	p.Any = table.Without(p.Any, l)
	p.Exclusive = table.Without(p.Exclusive, l)
}

// sharesOf counts t's holds of l for reading.
func (h *Holds) sharesOf(t heisen.Thread, l Lock) (n uint32) {
	p := h.of(t)
	if h.table.Has(p.Any, l) && !h.table.Has(p.Exclusive, l) {
		n++
	}
	for _, other := range p.again {
		if other == (hold{l, true}) {
			n++
		}
	}
	return n
}

func (h *Holds) acquireShared(t heisen.Thread, o heisen.Object) {
	l := h.table.Lock(o)
	u := h.use(l)
	if u.owned && u.owner != t {
		h.table.retire(l)
		l = h.table.Lock(o)
		u = h.use(l)
	}
	u.shares++
	p := h.of(t)
	if h.table.Has(p.Any, l) {
		p.again = append(p.again, hold{l, true})
		return
	}
	p.Any = h.table.With(p.Any, l)
}

func (h *Holds) release(t heisen.Thread, o heisen.Object) {
	l := h.table.Find(o)
	if l == 0 {
		return
	}
	u := h.use(l)
	if !u.owned || u.owner != t {
		h.table.retire(l)
		return
	}
	p := h.of(t)
	switch {
	case len(p.again) > 0 && p.undo(hold{l, false}):
		return
	case len(p.again) > 0 && p.undo(hold{l, true}): // t still reads
		p.Exclusive = h.table.Without(p.Exclusive, l)
	default:
		p.drop(h.table, l)
	}
	u.owned = false
}

func (h *Holds) releaseShared(t heisen.Thread, o heisen.Object) {
	l := h.table.Find(o)
	if l == 0 {
		return
	}
	p, u := h.of(t), h.use(l)
	switch {
	case len(p.again) > 0 && p.undo(hold{l, true}):
	case h.table.Has(p.Any, l) && !h.table.Has(p.Exclusive, l):
		p.Any = h.table.Without(p.Any, l)
	default:
		h.table.retire(l)
		return
	}
	u.shares--
}

// undo takes one entry like w out of p.again, and reports whether there was one.
func (p *holding) undo(w hold) bool {
	i := slices.Index(p.again, w)
	if i >= 0 {
		p.again = slices.Delete(p.again, i, i+1)
	}
	return i >= 0
}

// end ends a thread.
func (h *Holds) end(t heisen.Thread) {
	p := h.threads.Peek(threadEntry(t))
	if p == nil {
		return
	}
	h.scratch = h.table.Append(h.scratch[:0], p.Any)
	for _, l := range h.scratch {
		h.table.retire(l)
	}
	h.threads.Clear(threadEntry(t), 1)
}

// forget lets go of a lock that has ended.
func (h *Holds) forget(l Lock) {
	h.known = false
	u := h.use(l)
	switch {
	case u.shares > 0:
		h.threads.Each(func(p *holding) { p.forget(h.table, l) })
	case u.owned:
		h.of(u.owner).forget(h.table, l)
	}
	*u = use{}
}

func (p *holding) forget(table *Table, l Lock) {
	p.drop(table, l)
	p.again = slices.DeleteFunc(p.again, func(w hold) bool { return w.lock == l })
}
