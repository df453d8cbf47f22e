package tree

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Filter is a heisen.Detector that forwards events to another detector, except redundant plain
// accesses and, for some detectors, lock operations that do not matter. It reports the number of
// dropped events to a detector that is a heisen.Skipper. A Filter must be used by one goroutine at a
// time. A Filter is a heisen.Skipper itself, so that other filters may stand in front of it.
type Filter struct {
	next     heisen.Detector
	handle   func([]heisen.Record)
	skip     func(uint64) // nil if next is no heisen.Skipper
	skipped  uint64       // events dropped since the last that was forwarded
	lockUse  heisen.LockUse
	deferred deferredAcquires
	bypass   bypass

	spans    bool      // redundancy within spans, regardless of the site
	contexts *contexts // with WithMessageOrder
	literal  *literal  // with WithThesisAlgorithm
	budget   uint64    // in bytes; 0 is unlimited

	current  *thread
	recent   [numRecent]*thread
	threads  *shadow.Memory[*thread]
	byNumber []*thread // nil for an unused number
	unused   []uint32
	spare    []*thread
	time     uint64 // the latest time

	locks       *shadow.Memory[*lock] // by their first byte
	recentLocks [numRecentLocks]*lock
	message     lock // stands for an address that is used for messages, and is no lock
	free        *lock
	freePending []*pendingRelease
	maxReaders  int // of a lock whose releases are pending
	liveLocks   int
	epochs      uint64 // allocation epochs of locks so far
	violations  uint64 // releases that were reacquired and still observed

	history history

	missedLocks bool // threads may hold locks that the filter has not seen

	counters
}

// newFilter makes a filter for both constructors.
func newFilter(constructor string, next heisen.Detector, c config, opts []filterOption) (*Filter, error) {
	if next == nil {
		return nil, fmt.Errorf("%s: %w: the detector is nil", constructor, heisen.ErrOption)
	}
	if err := option.Apply(constructor, &c, opts); err != nil {
		return nil, err
	}
	if c.messageOrder && c.thesisAlgorithm {
		return nil, fmt.Errorf("%s: %w", constructor, option.Errorf("WithMessageOrder and WithThesisAlgorithm exclude each other"))
	}
	f := &Filter{
		next:    next,
		handle:  handlerOf(next),
		spans:   c.spans,
		budget:  c.budget,
		threads: shadow.New[*thread](nil, nil),
		history: newHistory(),

		maxReaders: defaultReaders,
		deferred:   deferredAcquires{most: defaultDeferred},
	}
	f.locks = shadow.New(nil, f.forget)
	if s, ok := next.(heisen.Skipper); ok {
		f.skip = s.Skip
	}
	if u, ok := next.(heisen.LockUser); ok {
		f.lockUse = u.LockUse()
	}
	if c.messageOrder {
		f.contexts = newContexts(defaultContexts)
	}
	if c.noBypass || c.thesisAlgorithm {
		f.disableBypass()
	} else {
		f.enableBypass(c.detectorCost)
	}
	if c.thesisAlgorithm {
		f.literal = newLiteral()
	}
	if f.budget != 0 && f.contexts != nil {
		f.contexts.limit = min(f.contexts.limit, int(f.budget/8/24))
	}
	return f, nil
}

// handlerOf returns a function that hands a batch to d.
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
	if f.next == nil {
		return
	}
	if f.events >= f.bypass.nextDecision {
		f.decide()
	}
	f.events++
	if f.bypass.mode == bypassAll {
		f.next.Handle(e)
		return
	}
	if !f.forward(heisen.AsRecord(e)) {
		f.deferred.own()
		f.skipped++
		return
	}
	if f.skipped > 0 {
		f.forwardDeferred()
	}
	f.next.Handle(e)
}

// HandleRecords implements heisen.RecordHandler. It forwards maximal runs of records without copying
// them.
func (f *Filter) HandleRecords(batch []heisen.Record) {
	if f.next == nil {
		return
	}
	if f.events >= f.bypass.nextDecision {
		f.decide()
	}
	f.events += uint64(len(batch))
	if f.bypass.mode == bypassAll {
		f.handle(batch)
		return
	}
	bypassing := f.bypass.mode == bypassAccesses
	start := 0
	for i := range batch {
		r := &batch[i]
		isAccess := r.Op-heisen.Read <= heisen.Write-heisen.Read
		isLock := r.Op-heisen.Acquire <= heisen.Release-heisen.Acquire
		switch {
		case bypassing && (isAccess || isLock && f.isSimpleLockOp(r)): // forwarded
			continue
		case isAccess && f.isRepeatedAccess(r):
		case isLock &&
			(f.lockUse == heisen.LocksAsOrder && f.isRepeatedLockOp(r) || f.lockUse == heisen.LocksAsSets && f.isEmptySection(r)):
		case f.forward(r):
			if f.skipped > 0 {
				f.forwardDeferred()
			}
			continue
		}
		if start < i {
			f.handle(batch[start:i])
		}
		f.skipped++
		start = i + 1
	}
	if start < len(batch) {
		f.handle(batch[start:])
	}
	f.deferred.own()
}

// Skip implements heisen.Skipper, for a filter in front of this one.
func (f *Filter) Skip(events uint64) {
	if f.next == nil {
		return
	}
	f.skipped += events
	if f.bypass.mode != filtering { // what follows is forwarded without a look at skipped
		f.forwardDeferred()
	}
}

// forwardDeferred must be called before an event is forwarded after others were not. It forwards the
// deferred acquisitions and reports the number of dropped events.
func (f *Filter) forwardDeferred() {
	if f.deferred.count > 0 {
		late := f.deferred.take()
		f.skipped -= uint64(len(late))
		f.handle(late)
	}
	if f.skip != nil && f.skipped > 0 {
		f.skip(f.skipped)
	}
	f.skipped = 0
}

// Flush implements heisen.Detector. It returns the error of the detector behind the filter, joined
// with one that wraps ErrLockMisuse if findings may be missing because of dropped accesses.
func (f *Filter) Flush() error {
	if f.next == nil {
		return heisen.ErrZero
	}
	err := f.next.Flush()
	if f.violations > 0 {
		err = errors.Join(err, fmt.Errorf("%w, %d times: findings may be missing", ErrLockMisuse, f.violations))
	}
	return err
}

// Stats counts what a Filter has done so far.
type Stats struct {
	Events          uint64 // all events
	Bypassed        uint64 // events that were forwarded without examination; see WithoutBypass
	Accesses        uint64 // plain accesses that were examined
	DroppedAccesses uint64 // redundant accesses
	DroppedLocks    uint64 // lock operations that were dropped
	Entries         uint64 // history entries made: distinct pairs of an access and its context; a forgotten one counts again
	Bytes           uint64 // heap memory in use
}

// Stats returns the present counts. It costs some nanoseconds.
func (f *Filter) Stats() Stats {
	if f.next == nil {
		return Stats{}
	}
	s := Stats{
		Events: f.events, Bypassed: f.bypassed, Accesses: f.accesses, DroppedAccesses: f.dropped, DroppedLocks: f.droppedLocks,
		Entries: f.history.pairs,
		Bytes:   f.history.bytes() + f.otherBytes(),
	}
	if f.bypass.mode != filtering {
		s.Bypassed += f.events - f.bypass.start.events
	}
	if f.literal != nil {
		s.Entries = f.literal.pairs
	}
	return s
}

// otherBytes returns the memory of everything except the history.
func (f *Filter) otherBytes() uint64 {
	n := f.threads.Stats().Bytes + f.locks.Stats().Bytes
	n += uint64(len(f.byNumber)+len(f.spare)) * uint64(unsafe.Sizeof(thread{})+8)
	n += uint64(f.liveLocks) * uint64(unsafe.Sizeof(lock{}))
	if f.contexts != nil {
		n += f.contexts.bytes()
	}
	if f.literal != nil {
		n += f.literal.bytes()
	}
	return n
}

// allowance returns the memory budget of the history.
func (f *Filter) allowance() uint64 { return f.budget - min(f.budget, f.otherBytes()) }

// forward reports whether r must be forwarded.
func (f *Filter) forward(r *heisen.Record) bool {
	t := f.current
	if t == nil || t.id != r.Thread {
		if f.literal != nil {
			return f.forwardLiteral(r)
		}
		t = f.thread(r.Thread)
		f.current = t
		f.switches++
	}
	if f.bypass.mode == bypassAccesses {
		t.version++ // for the accesses that were forwarded before
	}
	switch r.Op {
	case heisen.Read, heisen.Write:
		if f.bypass.mode == bypassAccesses {
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
		f.synchronize(t, r)
	}
	return true
}

// isRepeatedAccess handles the common case of a redundant access. It reports false, and changes
// nothing, in any other case.
func (f *Filter) isRepeatedAccess(r *heisen.Record) bool {
	t := f.current
	if t == nil || t.id != r.Thread || r.Len > 1 {
		return false
	}
	if t.validFromStale {
		t.updateValidFrom()
	}
	if t.keyStale {
		f.updateKey(t)
	}
	v := f.history.young.Peek(r.Object)
	if v == nil {
		return false
	}
	who := t.key | uint64(r.Op&heisen.Write)<<(contextShift-2)
	if !f.spans {
		who |= uint64(r.Site)
	}
	e := &v.first
	if e.key != who {
		e = &v.second
	}
	if e.key != who || e.time < t.validFrom {
		return false
	}
	f.relyOn(t, e.time)
	f.accesses++
	f.dropped++
	return true
}

// redundant reports whether an access is redundant. If it is not, redundant records it.
func (f *Filter) redundant(t *thread, r *heisen.Record) bool {
	if t.validFromStale {
		t.updateValidFrom()
	}
	if t.keyStale {
		f.updateKey(t)
	}
	who := t.key | uint64(r.Op&heisen.Write)<<(contextShift-2)
	if !f.spans {
		who |= uint64(r.Site)
	}
	if r.Len > 1 {
		if f.redundantRange(t, r, who) {
			return true
		}
		t.version++
		return false
	}
	if v := f.history.young.Peek(r.Object); v != nil {
		if v.first.key == who && v.first.time >= t.validFrom {
			f.relyOn(t, v.first.time)
			return true
		}
		if v.second.key == who && v.second.time >= t.validFrom {
			f.relyOn(t, v.second.time)
			return true
		}
	}
	if f.redundantByte(t, r.Object, who) {
		return true
	}
	t.version++
	return false
}

// synchronize handles all events except accesses, Acquire and Release.
func (f *Filter) synchronize(t *thread, r *heisen.Record) {
	t.version++
	switch r.Op {
	case heisen.AcquireShared:
		f.acquireShared(t, r.Object)
	case heisen.ReleaseShared:
		f.releaseShared(t, r.Object)
	case heisen.Receive:
		f.useAsMessage(r.Object, false)
	case heisen.Send:
		f.useAsMessage(r.Object, true)
		f.publish(t)
	case heisen.AtomicRead:
		f.useAsMessage(r.Object, false)
	case heisen.AtomicWrite:
		f.overwrite(r.Object)
		f.publish(t)
	case heisen.AtomicUpdate:
		f.useAsMessage(r.Object, true)
		f.publish(t)
	case heisen.Fork:
		f.publish(t)
		f.forked(r.Object)
	case heisen.Join:
		if o := r.Object.Thread(); heisen.Object(o) == r.Object && o != r.Thread {
			f.end(o)
		}
	case heisen.End:
		f.end(r.Thread)
	case heisen.Alloc, heisen.Free:
		f.locks.Clear(r.Object, r.Value)
		f.history.clear(r.Object, r.Value)
	}
	if r.Op.IsAtomic() || r.Flags&heisen.LockWord != 0 {
		f.history.setShared(t, r)
	}
	f.flagged(r)
}

// neutralFlags are the flags that the filter ignores.
const neutralFlags = heisen.HasValue | heisen.NoWait | heisen.Chance

// flagged makes the filter forward all lock operations, and never bypass events, once r has a flag
// that it does not know.
func (f *Filter) flagged(r *heisen.Record) {
	if r.Flags&^(neutralFlags|heisen.LockWord) != 0 {
		if f.bypass.mode == bypassAccesses {
			f.resume()
		}
		f.lockUse = heisen.LocksAsEvents
		f.disableBypass()
	}
}
