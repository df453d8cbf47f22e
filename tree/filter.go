package tree

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Filter is a heisen.Detector that hands events on to another one, but for
// redundant plain accesses. Those that it leaves out count as positions of the
// stream for detectors that are a heisen.Skipper. It belongs to one goroutine.
type Filter struct {
	next   heisen.Detector
	handle func([]heisen.Record)
	skip   func(uint64) // nil if the detector need not know
	left   uint64       // events left out since the last that was handed on
	use    heisen.LockUse
	wait   waiting
	rest   rest

	spans    bool      // redundancy within spans, whatever the site
	contexts *contexts // with MessageOrder
	literal  *literal  // with Literal
	budget   uint64

	current *thread
	recent  [numRecent]*thread
	threads *shadow.Memory[*thread]
	numbers []*thread // by number; nil where there is none
	unused  []uint32
	spare   []*thread
	time    uint64 // the latest time

	objects     *shadow.Memory[*object] // locks, by their first byte
	lately      [numLately]*object
	mixed       object // stands for an object that is no lock
	free        *object
	freePledges []*pledge
	known       int    // locks
	lives       uint64 // of locks
	broken      uint64 // pledges that were called back and seen all the same

	history history

	slept bool // threads may hold locks unknown to the filter

	effort
}

func newFilter(d heisen.Detector, spans bool, options []Option) (*Filter, error) {
	if d == nil {
		return nil, fmt.Errorf("%w: there is no detector", ErrOption)
	}
	f := &Filter{
		next:    d,
		handle:  handlerOf(d),
		spans:   spans,
		threads: shadow.New[*thread](nil, nil),
		history: newHistory(),
	}
	if s, ok := d.(heisen.Skipper); ok {
		f.skip = s.Skip
	}
	if u, ok := d.(heisen.LockUser); ok {
		f.use = u.LockUse()
	}
	f.mayRest()
	f.objects = shadow.New(nil, f.forget)
	for _, option := range options {
		if err := option(f); err != nil {
			return nil, err
		}
	}
	if f.budget != 0 && f.contexts != nil {
		f.contexts.limit = min(f.contexts.limit, int(f.budget/8/24))
	}
	return f, nil
}

// handlerOf returns the fastest way to hand batches to d.
func handlerOf(d heisen.Detector) func([]heisen.Record) {
	if h, ok := d.(heisen.RecordHandler); ok {
		return h.HandleRecords
	}
	return func(batch []heisen.Record) {
		for i := range batch {
			d.Handle(batch[i].Event())
		}
	}
}

// Handle implements heisen.Detector.
func (f *Filter) Handle(e heisen.Event) {
	if f.events >= f.rest.due {
		f.turn()
	}
	f.events++
	if f.rest.state == asleep {
		f.next.Handle(e)
		return
	}
	if !f.keep(heisen.AsRecord(e)) {
		f.wait.own()
		f.left++
		return
	}
	if f.left > 0 {
		f.catchUp()
	}
	f.next.Handle(e)
}

// HandleRecords implements heisen.RecordHandler. It hands on maximal runs of
// kept records without copying them.
func (f *Filter) HandleRecords(batch []heisen.Record) {
	if f.events >= f.rest.due {
		f.turn()
	}
	f.events += uint64(len(batch))
	if f.rest.state == asleep {
		f.handle(batch)
		return
	}
	dozing := f.rest.state == dozing
	start := 0
	for i := range batch {
		r := &batch[i]
		isAccess := r.Op-heisen.Read <= heisen.Write-heisen.Read
		isLock := r.Op-heisen.Acquire <= heisen.Release-heisen.Acquire
		switch {
		case dozing && (isAccess || isLock && f.isOrdinary(r)): // nothing is left out then
			continue
		case isAccess && f.isRepeated(r):
		case isLock &&
			(f.use == heisen.LocksAsOrder && f.isAgain(r) || f.use == heisen.LocksAsSets && f.isSection(r)):
		case f.keep(r):
			if f.left > 0 {
				f.catchUp()
			}
			continue
		}
		if start < i {
			f.handle(batch[start:i])
		}
		f.left++
		start = i + 1
	}
	if start < len(batch) {
		f.handle(batch[start:])
	}
	f.wait.own()
}

// catchUp brings the detector to where an event is to be handed on: with what
// waited for that, and with how many events it goes without.
func (f *Filter) catchUp() {
	if f.wait.count > 0 {
		late := f.wait.take()
		f.left -= uint64(len(late))
		f.handle(late)
	}
	if f.skip != nil && f.left > 0 {
		f.skip(f.left)
	}
	f.left = 0
}

// Flush implements heisen.Detector. Besides the detector's own error it returns
// one that wraps ErrLock if findings may be missing because the stream did with
// a lock what locks do not do: while a thread held it, and accesses were dropped
// because whoever would get the lock next was to be ordered after them, somebody
// else got it, or read what was released through it. See the package
// documentation.
func (f *Filter) Flush() error {
	err := f.next.Flush()
	if f.broken > 0 {
		err = errors.Join(err, fmt.Errorf("%w, %d times: findings may be missing that need accesses made meanwhile", ErrLock, f.broken))
	}
	return err
}

// Stats is what a Filter has done so far.
type Stats struct {
	Events   uint64 // all that came in
	Rested   uint64 // those that came while it rested, because it did not pay
	Accesses uint64 // plain accesses among the others
	Dropped  uint64 // accesses not handed on
	Locks    uint64 // lock operations not handed on
	Pairs    uint64 // distinct pairs of an access's location and its context; one that was forgotten counts again
	Bytes    uint64 // taken from the heap
}

// Stats returns what the filter has done so far. It costs some nanoseconds.
func (f *Filter) Stats() Stats {
	s := Stats{
		Events: f.events, Rested: f.rested, Accesses: f.accesses, Dropped: f.dropped, Locks: f.locks,
		Pairs: f.history.pairs,
		Bytes: f.history.bytes() + f.otherBytes(),
	}
	if f.rest.state != awake {
		s.Rested += f.events - f.rest.begun.events
	}
	if f.literal != nil {
		s.Pairs = f.literal.pairs
	}
	return s
}

// otherBytes is how much is taken by what is not history.
func (f *Filter) otherBytes() uint64 {
	n := f.threads.Stats().Bytes + f.objects.Stats().Bytes
	n += uint64(len(f.numbers)+len(f.spare)) * uint64(unsafe.Sizeof(thread{})+8)
	n += uint64(f.known) * uint64(unsafe.Sizeof(object{}))
	if f.contexts != nil {
		n += f.contexts.bytes()
	}
	if f.literal != nil {
		n += f.literal.bytes()
	}
	return n
}

// allowance is how much the history may take.
func (f *Filter) allowance() uint64 { return f.budget - min(f.budget, f.otherBytes()) }

// keep reports whether r is to be handed on.
func (f *Filter) keep(r *heisen.Record) bool {
	t := f.current
	if t == nil || t.id != r.Thread {
		if f.literal != nil {
			return f.keepLiteral(r)
		}
		t = f.thread(r.Thread)
		f.current = t
		f.changes++
	}
	if f.rest.state == dozing {
		t.version++ // for the accesses that were handed on before
	}
	switch r.Op {
	case heisen.Read, heisen.Write:
		if f.rest.state == dozing {
			return true
		}
		f.accesses++
		if f.redundant(t, r) {
			f.dropped++
			return false
		}
	case heisen.Acquire:
		if f.acquire(t, r) {
			return false
		}
	case heisen.Release:
		if f.release(t, r) {
			return false
		}
	default:
		f.synchronise(t, r)
	}
	return true
}

// isRepeated takes an access that is redundant, in the usual case. It reports
// false, and leaves all as it is, if r is not such.
func (f *Filter) isRepeated(r *heisen.Record) bool {
	t := f.current
	if t == nil || t.id != r.Thread || r.Len > 1 {
		return false
	}
	if t.unsure {
		t.settle()
	}
	if t.stale {
		f.locate(t)
	}
	v := f.history.young.Peek(r.Object)
	if v == nil {
		return false
	}
	who := t.who | uint64(r.Op&heisen.Write)<<(whoShift-2)
	if !f.spans {
		who |= uint64(r.Site)
	}
	e := &v.first
	if e.who != who {
		e = &v.second
	}
	if e.who != who || e.time < t.exposed {
		return false
	}
	f.across(t, e.time)
	f.accesses++
	f.dropped++
	return true
}

// redundant reports whether an access is redundant, and notes it if it is not.
func (f *Filter) redundant(t *thread, r *heisen.Record) bool {
	if t.unsure {
		t.settle()
	}
	if t.stale {
		f.locate(t)
	}
	who := t.who | uint64(r.Op&heisen.Write)<<(whoShift-2)
	if !f.spans {
		who |= uint64(r.Site)
	}
	if r.Len > 1 {
		if f.ranged(t, r, who) {
			return true
		}
		t.version++
		return false
	}
	if v := f.history.young.Peek(r.Object); v != nil {
		if v.first.who == who && v.first.time >= t.exposed {
			f.across(t, v.first.time)
			return true
		}
		if v.second.who == who && v.second.time >= t.exposed {
			f.across(t, v.second.time)
			return true
		}
	}
	if f.scalar(t, r.Object, who) {
		return true
	}
	t.version++
	return false
}

// synchronise takes any event but accesses and operations of locks held
// exclusively. It follows what others may have seen of t, and what of its accesses
// detectors count.
func (f *Filter) synchronise(t *thread, r *heisen.Record) {
	t.version++
	switch r.Op {
	case heisen.AcquireShared:
		f.acquireShared(t, r.Object)
	case heisen.ReleaseShared:
		f.releaseShared(t, r.Object)
	case heisen.Receive:
		f.mix(r.Object, false)
	case heisen.Send:
		f.mix(r.Object, true)
		f.publish(t)
	case heisen.AtomicRead:
		f.mix(r.Object, false)
	case heisen.AtomicWrite:
		f.overwrite(r.Object)
		f.publish(t)
	case heisen.AtomicUpdate:
		f.mix(r.Object, true)
		f.publish(t)
	case heisen.Fork:
		f.publish(t)
		f.teach(r.Object)
	case heisen.Join:
		if o := r.Object.Thread(); heisen.Object(o) == r.Object && o != r.Thread {
			f.end(o)
		}
	case heisen.End:
		f.end(r.Thread)
	case heisen.Alloc, heisen.Free:
		f.objects.Clear(r.Object, r.Value)
		f.history.clear(r.Object, r.Value)
	}
	if r.Op.IsAtomic() || r.Flags&heisen.LockWord != 0 {
		f.history.share(t, r)
	}
	f.flagged(r)
}

// ordinary are the flags that change nothing for the filter.
const ordinary = heisen.HasValue | heisen.NoWait | heisen.Chance

// flagged stops leaving out lock operations, and resting, if r has a flag that
// might need them.
func (f *Filter) flagged(r *heisen.Record) {
	if r.Flags&^(ordinary|heisen.LockWord) != 0 {
		if f.rest.state == dozing {
			f.wake()
		}
		f.use = heisen.LocksAsEvents
		f.neverRest()
	}
}
