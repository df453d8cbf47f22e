package tree

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
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

	current     *thread
	recent      [numRecent]*thread
	threads     map[heisen.Thread]*thread
	mostThreads int       // that were known at a time
	maxThreads  int       // that may be known at a time
	stranger    thread    // stands for the others
	byNumber    []*thread // nil for an unused number
	unused      []uint32
	spare       []*thread
	time        uint64 // the latest time

	locks       lockTable
	recentLocks [numRecentLocks]*lock
	message     lock // stands for an address that is used for messages, and is no lock
	free        *lock
	freePending []*pendingRelease
	maxReaders  int    // of a lock whose releases are pending
	maxLocks    int    // that may be known at a time
	allLocks    int    // made
	epochs      uint64 // allocation epochs of locks so far
	pendings    int    // pending releases made for readers
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
		threads: map[heisen.Thread]*thread{},
		locks:   newLockTable(),
		history: newHistory(c.budget / 2),

		maxThreads: math.MaxInt,
		maxLocks:   math.MaxInt,
		maxReaders: defaultReaders,
		deferred:   deferredAcquires{most: defaultDeferred},
	}
	if c.budget > 0 {
		f.share(c.budget)
	}
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
		f.enableBypass()
	}
	if c.thesisAlgorithm {
		f.literal = newLiteral()
	}
	if f.budget != 0 && f.contexts != nil {
		f.contexts.limit = min(f.contexts.limit, int(f.budget/8/24))
	}
	return f, nil
}

const (
	mapEntry = 40 // bytes that a thread takes in the table of threads, about

	// Upper bounds for what a thread and a lock take, with their parts of lists.
	threadCost = 512
	lockCost   = 640
)

// share bounds the numbers of what the filter knows by its budget, of which the history has half.
func (f *Filter) share(budget uint64) {
	f.maxThreads = int(budget / 8 / threadCost)
	f.maxLocks = int(budget / 4 / lockCost)
	f.maxReaders = 2
	f.deferred.most = min(f.deferred.most, f.maxLocks)
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
	for len(batch) > maxBatch {
		f.handleBatch(batch[:maxBatch])
		batch = batch[maxBatch:]
	}
	f.handleBatch(batch)
}

// handleBatch handles a batch, and measures how long that takes if that is to be known.
func (f *Filter) handleBatch(batch []heisen.Record) {
	if f.events >= f.bypass.nextDecision {
		f.decide()
	}
	f.events += uint64(len(batch))
	if f.bypass.mode == bypassAll {
		f.handleAlone(batch)
	} else if f.bypass.phase == measureWith {
		began := clock()
		f.examine(batch)
		f.bypass.with.add(clock()-began, len(batch))
	} else {
		f.examine(batch)
	}
}

// handleAlone hands a batch on, and measures how long that takes if that is to be known.
func (f *Filter) handleAlone(batch []heisen.Record) {
	if f.bypass.phase != measureWithout {
		f.handle(batch)
		return
	}
	began := clock()
	f.handle(batch)
	f.bypass.without.add(clock()-began, len(batch))
}

// examine forwards the events of a batch that are not dropped.
func (f *Filter) examine(batch []heisen.Record) {
	bypassing := f.bypass.mode == bypassAccesses
	start := 0
	for i := range batch {
		r := &batch[i]
		isAccess := r.Op-heisen.Read <= heisen.Write-heisen.Read
		isLock := r.Op-heisen.Acquire <= heisen.Release-heisen.Acquire
		switch {
		case bypassing && (isAccess || isLock && f.isSimpleLockOp(r) || f.isMessage(r)): // forwarded
			continue
		case isAccess && f.current != nil && f.current.id == r.Thread:
			f.accesses++
			if !f.redundant(f.current, r) {
				if f.skipped > 0 {
					f.forwardDeferred()
				}
				continue
			}
			f.dropped++
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
		f.handleAlone(batch[start:])
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

// Stats returns the present counts. It takes a step for each thread.
func (f *Filter) Stats() Stats {
	if f.next == nil {
		return Stats{}
	}
	s := Stats{
		Events: f.events, Bypassed: f.bypassed, Accesses: f.accesses, DroppedAccesses: f.dropped, DroppedLocks: f.droppedLocks,
		Entries: f.history.made,
		Bytes:   f.history.bytes() + f.otherBytes(),
	}
	if f.bypass.mode != filtering {
		s.Bypassed += f.events - f.bypass.since
	}
	if f.literal != nil {
		s.Entries = f.literal.pairs
	}
	return s
}

// otherBytes returns the memory of everything except the history.
func (f *Filter) otherBytes() uint64 {
	n := uint64(f.mostThreads)*mapEntry + f.locks.bytes() + uint64(unsafe.Sizeof(*f))
	n += uint64(f.allLocks) * uint64(unsafe.Sizeof(lock{}))
	n += uint64(cap(f.freePending)+f.pendings) * 8
	n += uint64(f.pendings) * uint64(unsafe.Sizeof(pendingRelease{}))
	n += uint64(cap(f.byNumber)+cap(f.spare))*8 + uint64(cap(f.unused))*4 + f.deferred.bytes()
	for _, t := range f.byNumber {
		n += t.bytes()
	}
	for _, t := range f.spare {
		n += t.bytes()
	}
	if f.contexts != nil {
		n += f.contexts.bytes()
	}
	if f.literal != nil {
		n += f.literal.bytes()
	}
	return n
}

// forward reports whether r must be forwarded.
func (f *Filter) forward(r *heisen.Record) bool {
	t := f.current
	if t == nil || t.id != r.Thread {
		if f.literal != nil {
			return f.forwardLiteral(r)
		}
		t = f.thread(r.Thread)
		f.current = t
		if t == &f.stranger {
			f.current = nil
			f.byStranger(r)
			return true
		}
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
		for _, o := range f.locks.within(r.Object, r.Value) {
			f.forget(o)
		}
		f.history.end(r.Object, r.Value)
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
