package focus

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// Discoverer observes which locks and goroutines access variables in a recorded run, and proposes owners
// for them: the monitoring of type discovery (Agarwal, Sasturkar, Wang and Stoller, section 4). It
// reports no findings. What it proposes holds for the accesses that it has observed. Whether it
// holds in all executions is for a static check to prove.
//
// It samples: of each variable it observes the first objects only, each until its memory is allocated
// or freed.
//
// A Discoverer takes the events of one run. Merge adds those of others. An access costs a call of the
// function that names variables and some table look-ups; memory is about 100 bytes per observed object.
// In steady state accesses and lock operations allocate nothing.
type Discoverer struct {
	name    func(*heisen.Record) (Variable, bool)
	samples int // objects per variable

	intake   intake.Check
	table    *locksets.Table
	locks    *locksets.Tracker
	lockName []Variable // by locksets.Lock; zero if not known

	order       vclock.Order
	messagesEnd heisen.Record // a Free, for an object whose messages end

	memory    *shadow.Memory[uint32] // the first sample of a byte, as an index into observed; 0 for none
	observed  []sample               // the first is not used
	variables variableNumbers
	evidence  []evidence // by number of the variable
}

// sample is what was observed of one object.
type sample struct {
	object   heisen.Object
	variable uint32 // its number
	next     uint32 // another sample that begins at the same byte, of another variable
	thread   heisen.Thread
	epoch    vclock.Epoch // of the last access, or 0 if everything that can come happens after it
	facts

	// Locks held at all accesses, and at those since the object is shared: exclusively for writes, and
	// exclusively for all accesses.
	always, alwaysExclusively locksets.ID
	since, sinceExclusively   locksets.ID
}

// facts is what matters of a sample besides locks.
type facts struct {
	shared     bool // a second goroutine has accessed it
	written    bool // since then
	plain      bool // an access was not atomic
	concurrent bool // two accesses were not ordered by messages
}

// evidence is what was observed of a variable.
type evidence struct {
	variable Variable
	accesses uint64 // to sampled objects
	sampled  int    // in the present run
	objects  []objectEvidence
}

// objectEvidence is what was observed of one object, without reference to the run.
type objectEvidence struct {
	facts
	guards []guardEvidence
}

// guardEvidence is a lock that was held at all accesses that count.
type guardEvidence struct {
	lock     Variable
	distance heisen.Object // address of the lock minus that of the object
	shared   bool          // not always exclusively
}

// DiscovererOption is an option of NewDiscoverer.
type DiscovererOption func(*Discoverer) error

// defaultSamples is the number of objects per variable. The paper monitors a few objects of each class.
const defaultSamples = 32

// WithSamples sets how many objects of each variable a Discoverer observes, from 1. The default is 32.
func WithSamples(objects int) DiscovererOption {
	return func(d *Discoverer) error {
		if objects < 1 {
			return option.Errorf("WithSamples: %d objects, want at least 1", objects)
		}
		d.samples = objects
		return nil
	}
}

// NewDiscoverer returns a Discoverer for one stream. Name returns the variable that an access is of,
// which is the variable at the first byte, or the variable that the lock of an Acquire or AcquireShared
// is; false if it does not know. Accesses to unknown variables are ignored, and unknown locks guard
// nothing. The record is valid only during the call. If name is nil, the error wraps heisen.ErrOption.
func NewDiscoverer(name func(*heisen.Record) (Variable, bool), opts ...DiscovererOption) (*Discoverer, error) {
	if name == nil {
		return nil, fmt.Errorf("focus.NewDiscoverer: %w: the function that names variables is nil", heisen.ErrOption)
	}
	d := &Discoverer{name: name, samples: defaultSamples, variables: variableNumbers{sites: maxSites}}
	if err := option.Apply("focus.NewDiscoverer", d, opts); err != nil {
		return nil, err
	}
	d.table = locksets.NewTable()
	d.locks = locksets.NewTracker(d.table)
	d.messagesEnd = heisen.Record{Op: heisen.Free, Value: 1}
	d.memory = shadow.New[uint32](nil, nil)
	d.observed = make([]sample, 1)
	return d, nil
}

// Handle implements heisen.Detector.
func (d *Discoverer) Handle(e heisen.Event) {
	if d.name == nil {
		return
	}
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Discoverer) HandleRecords(batch []heisen.Record) {
	if d.name == nil {
		return
	}
	for i := range batch {
		d.handle(&batch[i])
	}
}

// LockUse implements heisen.LockUser. It returns LocksAsSets.
func (*Discoverer) LockUse() heisen.LockUse { return heisen.LocksAsSets }

func (d *Discoverer) handle(r *heisen.Record) {
	if !d.intake.Take(r, 0) {
		return
	}
	switch r.Op {
	case heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicUpdate:
		d.access(r)
		return
	case heisen.AtomicWrite:
		d.access(r)
		// Messages that were sent to it cannot be received any more.
		d.messagesEnd.Thread, d.messagesEnd.Object = r.Thread, r.Object
		d.order.Observe(&d.messagesEnd)
		d.locks.Handle(r)
		return
	case heisen.Alloc, heisen.Free:
		d.memory.Clear(r.Object, r.Value)
		d.locks.Handle(r)
		d.synchronize(r)
	case heisen.Acquire, heisen.AcquireShared:
		d.locks.Handle(r)
		d.nameLock(r)
	case heisen.Fork, heisen.Send, heisen.Receive:
		d.synchronize(r)
	case heisen.End, heisen.Join:
		d.locks.Handle(r)
		d.synchronize(r)
	default:
		d.locks.Handle(r)
	}
	d.compact()
}

// synchronize follows a message. Locks order nothing here: whose turn it is, the scheduler decides.
func (d *Discoverer) synchronize(r *heisen.Record) {
	d.order.Observe(r)
	d.order.Publish(r)
}

func (d *Discoverer) nameLock(r *heisen.Record) {
	l := d.table.Find(r.Object)
	for int(l) >= len(d.lockName) {
		d.lockName = append(d.lockName, Variable{})
	}
	v, ok := d.name(r)
	if !ok {
		v = Variable{}
	}
	d.lockName[l] = v
}

func (d *Discoverer) access(r *heisen.Record) {
	v, ok := d.name(r)
	if !ok {
		return
	}
	number := d.number(r.Site, v)
	var first uint32
	if p := d.memory.Peek(r.Object); p != nil {
		first = *p
	}
	for i := first; i != 0; i = d.observed[i].next {
		if d.observed[i].variable == number {
			d.observe(&d.observed[i], r)
			return
		}
	}
	e := &d.evidence[number]
	if e.sampled >= d.samples {
		return
	}
	e.sampled++
	d.observed = append(d.observed, sample{object: r.Object, variable: number, next: first})
	i := uint32(len(d.observed) - 1)
	*d.memory.At(r.Object) = i
	s := &d.observed[i]
	held := d.locks.HeldBy(r.Thread)
	s.thread, s.always, s.alwaysExclusively = r.Thread, held.Any, held.Exclusive
	if r.Op.IsWrite() {
		s.always = held.Exclusive
	}
	s.epoch = d.order.Access(r.Thread)
	s.plain = !r.Op.IsAtomic()
	e.accesses++
}

// number returns the number of a variable that is accessed at a site.
func (d *Discoverer) number(site heisen.Site, v Variable) uint32 {
	number := d.variables.number(site, v)
	if int(number) == len(d.evidence) {
		d.evidence = append(d.evidence, evidence{variable: v})
	}
	return number
}

// observe takes in an access to an object that is sampled.
func (d *Discoverer) observe(s *sample, r *heisen.Record) {
	d.evidence[s.variable].accesses++
	held := d.locks.HeldBy(r.Thread)
	protecting := held.Any
	if r.Op.IsWrite() {
		protecting = held.Exclusive
	}
	s.always, s.alwaysExclusively = d.both(s.always, protecting), d.both(s.alwaysExclusively, held.Exclusive)
	switch {
	case s.shared:
		s.since, s.sinceExclusively = d.both(s.since, protecting), d.both(s.sinceExclusively, held.Exclusive)
	case s.thread != r.Thread:
		s.shared, s.since, s.sinceExclusively = true, protecting, held.Exclusive
	}
	s.plain = s.plain || !r.Op.IsAtomic()
	s.written = s.written || s.shared && r.Op.IsWrite()
	now := d.order.Access(r.Thread)
	if s.thread != r.Thread && s.epoch != 0 && !d.order.Before(s.epoch, r.Thread) {
		s.concurrent = true
	}
	s.thread, s.epoch = r.Thread, now
}

func (d *Discoverer) both(a, b locksets.ID) locksets.ID {
	if a == b {
		return a
	}
	return d.table.Intersect(a, b)
}

// compact drops what the locks and messages of threads that have ended need.
func (d *Discoverer) compact() {
	if d.table.Grown() {
		d.table.Compact(func(k *locksets.Compaction) {
			d.locks.KeepSets(k)
			for i := range d.observed {
				s := &d.observed[i]
				k.Keep(&s.always)
				k.Keep(&s.alwaysExclusively)
				k.Keep(&s.since)
				k.Keep(&s.sinceExclusively)
			}
		})
	}
	if d.order.Grown() {
		d.compactOrder()
	}
}

func (d *Discoverer) compactOrder() {
	d.order.Compact(nil, func(k *vclock.Compaction) {
		for i := range d.observed {
			s := &d.observed[i]
			if s.epoch != 0 && !k.Keep(&s.epoch) {
				s.epoch = 0
			}
		}
	})
}

// Flush implements heisen.Detector. It returns an error that wraps vclock.ErrEndedThread,
// vclock.ErrTooManyThreads or vclock.ErrForgotten if it does not know all messages; a variable that is
// handed over may then have been taken for one that is not. It also returns those that heisen.Detector names.
func (d *Discoverer) Flush() error {
	if d.name == nil {
		return heisen.ErrZero
	}
	for i := range d.observed[1:] {
		d.collect(&d.observed[1+i])
	}
	for i := range d.evidence {
		d.evidence[i].sampled = 0
	}
	d.observed, d.memory = d.observed[:1], shadow.New[uint32](nil, nil)
	return errors.Join(d.order.Err(), d.intake.Flush())
}

// collect adds what was observed of an object to the evidence.
func (d *Discoverer) collect(s *sample) {
	locks, exclusively := s.always, s.alwaysExclusively
	if s.shared {
		locks, exclusively = s.since, s.sinceExclusively
	}
	o := objectEvidence{facts: s.facts}
	for _, l := range d.table.Append(nil, locks) {
		if int(l) < len(d.lockName) && !d.lockName[l].IsZero() {
			o.guards = append(o.guards, guardEvidence{d.lockName[l], d.table.Object(l) - s.object, !d.table.Has(exclusively, l)})
		}
	}
	e := &d.evidence[s.variable]
	e.objects = append(e.objects, o)
}

// Merge adds what another Discoverer has observed, in another run, to d. Both must have been flushed.
// Other does not change.
func (d *Discoverer) Merge(other *Discoverer) {
	if d.name == nil || other == nil {
		return
	}
	for _, e := range other.evidence {
		number := d.number(0, e.variable)
		d.evidence[number].accesses += e.accesses
		d.evidence[number].objects = append(d.evidence[number].objects, e.objects...)
	}
}
