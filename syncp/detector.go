package syncp

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Detector predicts races and deadlocks. See the package documentation.
type Detector struct {
	config  config
	threads threads
	objects objects
	memory  memory
	shadow  *shadow.Memory[uint32]
	locks   *locksets.Tracker
	table   *locksets.Table
	log     log

	allocations allocations
	clearing    *thread // of the present Alloc or Free event

	unseen        int    // how many hidden calls that may synchronize unseen have not returned
	barrier       prefix // the latest event of hidden code
	barrierNumber uint32

	floor     uint64 // the number in the log of the first event that is not forgotten
	closure   closure
	held      locksets.Held // by the thread of the present event
	races     map[pair]bool
	acquirers map[acquirerKey]*acquirer
	cycles    map[[maxCycle]place]int // how many there are; -1 if one deadlocks

	intake   intake.Check
	position uint64 // of the present event in the stream
	stats    Stats
	err      error
}

// Stats counts what a Detector has done.
type Stats struct {
	Events           uint64 // events handled
	Logged           uint64 // those that matter to witnesses
	Races, Deadlocks int    // findings, by kind
	Closures         uint64 // closures that were computed
	Replays          uint64 // windows that were replayed
	Replayed         uint64 // their events
	Refused          int    // suspected bugs whose witness did not replay; they are not reported
	LeftOut          int    // cycles of locks that were not looked at, because there are many at the same places
	LogBytes         uint64 // size of the log
}

// NewDetector returns a detector.
func NewDetector(opts ...Option) (*Detector, error) {
	c := config{sink: func(heisen.Finding) {}, memory: defaultMemory}
	if err := option.Apply("syncp.NewDetector", &c, opts); err != nil {
		return nil, err
	}
	d := &Detector{
		config: c, threads: threads{byID: map[heisen.Thread]*thread{}},
		table: locksets.NewTable(), log: log{numbers: map[shape]uint32{}, limit: c.memory / logPart, dir: c.spill},
		allocations: newAllocations(), races: map[pair]bool{}, acquirers: map[acquirerKey]*acquirer{}, cycles: map[[maxCycle]place]int{},
	}
	d.locks, d.shadow, d.objects = locksets.NewTracker(d.table), d.newShadow(), d.newObjects()
	d.closure = closure{threads: &d.threads, objects: &d.objects}
	return d, nil
}

// Handle implements heisen.Detector.
func (d *Detector) Handle(e heisen.Event) {
	if !d.zero() {
		d.handle(heisen.AsRecord(e))
	}
}

// HandleRecords implements heisen.RecordHandler.
func (d *Detector) HandleRecords(batch []heisen.Record) {
	if d.zero() {
		return
	}
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Detector) Skip(events uint64) {
	if !d.zero() {
		d.position += events
	}
}

// zero reports whether d was not made by NewDetector.
func (d *Detector) zero() bool { return d.table == nil }

// Flush implements heisen.Detector.
func (d *Detector) Flush() error {
	if d.zero() {
		return heisen.ErrZero
	}
	return errors.Join(d.err, d.log.err, d.forgotten(), d.log.close(), d.intake.Flush())
}

// Stats returns the counts so far.
func (d *Detector) Stats() Stats {
	s := d.stats
	s.Events, s.Logged, s.LogBytes = d.position, d.log.events, uint64(d.log.memory)+uint64(d.log.written)
	return s
}

// fail keeps the first error.
func (d *Detector) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("predictions may be missing: %w", err)
	}
}

func (d *Detector) handle(r *heisen.Record) {
	d.position++
	if !d.intake.Take(r, d.position) {
		return
	}
	switch r.Op {
	case heisen.Invalid, heisen.Done, heisen.Call, heisen.Return, heisen.Branch, heisen.Enter, heisen.Exit:
		return // they constrain nothing
	}
	t := d.threads.of(r.Thread)
	if d.log.events%blockEvents == 0 {
		d.log.seal()
		d.checkMemory()
	}
	d.log.add(t, r, d.position)
	if d.barrierNumber != t.barrier {
		t.barrier = d.barrierNumber
		d.threads.learn(t, d.barrier, t.events)
	}
	if r.Op == heisen.Hide || len(t.calls) > 0 || d.unseen > 0 {
		d.hidden(t, r)
	}
	d.step(t, r)
	t.events++
}

// step takes the next event of t.
func (d *Detector) step(t *thread, r *heisen.Record) {
	switch r.Op {
	case heisen.Read, heisen.Write:
		d.held = d.locks.HeldBy(r.Thread)
		d.access(t, r, r.Op)
	case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		d.held = d.locks.HeldBy(r.Thread)
		if d.objects.find(r.Object) != nil {
			d.use(t, r, asAtomic)
		}
		d.access(t, r, r.Op)
		d.locks.Handle(r)
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared:
		d.held = d.locks.HeldBy(r.Thread)
		o := d.use(t, r, asLock)
		if op := r.Access(); op != heisen.Invalid {
			d.access(t, r, op)
		}
		switch {
		case o.ordered:
		case r.Op == heisen.Acquire || r.Op == heisen.AcquireShared:
			d.acquire(t, r, o, r.Op == heisen.AcquireShared)
		default:
			d.release(t, o, r.Op == heisen.ReleaseShared)
		}
		d.locks.Handle(r)
	case heisen.Send, heisen.Receive, heisen.Change, heisen.Observe:
		d.message(t, r)
	case heisen.Fork:
		if child := r.Object.Thread(); heisen.Object(child) == r.Object && child != r.Thread {
			u := d.threads.of(child)
			d.threads.learn(u, prefix{t.number, t.events + 1}, u.events)
		}
	case heisen.Join:
		if joined := r.Object.Thread(); heisen.Object(joined) == r.Object && joined != r.Thread {
			u := d.threads.of(joined)
			d.threads.learn(t, prefix{u.number, u.events}, t.events+1)
		}
		d.locks.Handle(r)
	case heisen.End:
		d.locks.Handle(r)
	case heisen.Alloc, heisen.Free:
		d.allocate(t, r)
		d.locks.Handle(r)
	}
}

// hidden takes an event of hidden code, of a call-back from it, or one while hidden code may synchronize unseen. It comes
// after everything before, and before everything after.
func (d *Detector) hidden(t *thread, r *heisen.Record) {
	switch r.Op {
	case heisen.Hide:
		unseen := r.Reach() != heisen.Synchronized
		t.calls = append(t.calls, hiddenCall{r.Object, unseen})
		if unseen {
			d.unseen++
		}
	case heisen.End:
		d.endCalls(t, 0)
	case heisen.Reveal:
		for k := len(t.calls) - 1; k >= 0; k-- {
			if t.calls[k].object == r.Object {
				d.endCalls(t, k)
				break
			}
		}
	}
	d.threads.learnAll(t, t.events)
	d.barrierNumber++
	d.barrier, t.barrier = prefix{t.number, t.events + 1}, d.barrierNumber
}

// endCalls ends the hidden calls of t from the one with an index on.
func (d *Detector) endCalls(t *thread, from int) {
	for _, c := range t.calls[from:] {
		if c.unseen {
			d.unseen--
		}
	}
	t.calls = t.calls[:from]
}
