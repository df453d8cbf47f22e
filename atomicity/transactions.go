package atomicity

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// transactions finds the transactions of a stream. A detector passes each event to begins, handles
// it, and passes it to ended: the events that begin and end a transaction belong to it.
type transactions struct {
	boundaries   Boundaries
	selected     func(heisen.Event) bool
	noFirstLevel bool

	threads *shadow.Memory[position]
	holders *shadow.Memory[holder] // by lock, of those who hold it for writing
}

// position is where a thread is.
type position struct {
	enters, calls, holds uint32 // open ones

	within Boundaries // what the open transaction is, or 0
	level  uint32     // how many of these were open before it
}

// holder is the thread that holds a lock for writing, and how often.
type holder struct {
	thread heisen.Thread
	holds  uint32
}

func newTransactions(c config) transactions {
	return transactions{
		boundaries: c.boundaries, selected: c.selected, noFirstLevel: c.noFirstLevel,
		threads: shadow.New[position](nil, nil), holders: shadow.New[holder](nil, nil),
	}
}

// threadKey returns the index of a thread in a Memory: a word of its own.
func threadKey(t heisen.Thread) heisen.Object { return 8 * heisen.Object(t) }

func (p *position) count(kind Boundaries) *uint32 {
	switch kind {
	case Marked:
		return &p.enters
	case Calls:
		return &p.calls
	}
	return &p.holds
}

// begins counts what r opens. It reports whether a transaction begins with r.
func (x *transactions) begins(r *heisen.Record) bool {
	var kind Boundaries
	switch r.Op {
	case heisen.Enter:
		kind = Marked
	case heisen.Call:
		kind = Calls
	case heisen.Acquire, heisen.AcquireShared:
		kind = CriticalSections
		if r.Op == heisen.Acquire {
			x.hold(r)
		}
	default:
		return false
	}
	p := x.threads.At(threadKey(r.Thread))
	n := p.count(kind)
	level := *n
	*n++
	if p.within != 0 || x.boundaries&kind == 0 || kind == Calls && level == 0 && x.noFirstLevel ||
		x.selected != nil && !x.selected(r.Event()) {
		return false
	}
	p.within, p.level = kind, level
	return true
}

// hold records who takes a lock for writing. A holder whose release is missing has lost the lock.
func (x *transactions) hold(r *heisen.Record) {
	h := x.holders.At(r.Object)
	if h.thread != r.Thread {
		*h = holder{thread: r.Thread}
	}
	h.holds++
}

// ended counts what r closes. If a transaction ends with r, it returns its thread and true. That may
// be another thread than that of r, because any goroutine may unlock a mutex.
func (x *transactions) ended(r *heisen.Record) (heisen.Thread, bool) {
	t := r.Thread
	kind := CriticalSections
	switch r.Op {
	case heisen.Exit:
		kind = Marked
	case heisen.Return:
		kind = Calls
	case heisen.Release:
		if h := x.holders.Peek(r.Object); h != nil && h.holds > 0 {
			h.holds--
			t = h.thread
		}
	case heisen.ReleaseShared:
	case heisen.End:
		p := x.threads.Peek(threadKey(t))
		open := p != nil && p.within != 0
		x.threads.Clear(threadKey(t), 8)
		return t, open
	case heisen.Alloc, heisen.Free:
		x.holders.Clear(r.Object, r.Value)
		return 0, false
	default:
		return 0, false
	}
	p := x.threads.Peek(threadKey(t))
	if p == nil {
		return 0, false
	}
	n := p.count(kind)
	if *n > 0 {
		*n--
	}
	if p.within != kind || *n > p.level {
		return 0, false
	}
	p.within = 0
	return t, true
}
