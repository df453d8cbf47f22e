package atomicity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/lockset"
)

// Reduction reports transactions that Lipton's reduction does not prove to be atomic. It is the
// reduction-based algorithm that section 2.2 of Agarwal, Sasturkar, Wang and Stoller, "Optimized
// Run-Time Race Detection and Atomicity Checking Using Partial Discovered Types" (ASE 2005), sketches,
// and that Flanagan and Freund call Atomizer (POPL 2004). Its findings have Detector "reduction". The
// zero Reduction is ready to use and discards its findings.
//
// # The pattern
//
// Events are movers, if they can be exchanged with neighboring events of other threads (Lipton,
// "Reduction: A Method of Proving Properties of Parallel Programs", CACM 1975):
//
//   - an acquisition of a lock, a Receive and a Join are right-movers: they can be exchanged with the
//     event after them;
//   - a release of a lock, a Send and a Fork are left-movers: with the event before them;
//   - an access that is in no potential race is both;
//   - any other access is a non-mover.
//
// A transaction is atomic if it has right-movers, then at most one non-mover, then left-movers. An event
// breaks the pattern if it is a right-mover or a non-mover and comes after a left-mover or non-mover.
//
// Potential races are those that lockset.Hybrid reports: by the sites of the two accesses, whatever the
// variables are that these sites access elsewhere. Atomic operations count as plain accesses here: they
// do not race, but their order matters.
//
// # Guarantees
//
// Take transactions that access variables and hold locks, and any execution in which each thread takes
// the same steps. If Reduction reports nothing about the stream, every interleaving of the transactions
// that is consistent with locks and messages is conflict-serializable, and none deadlocks because of the
// order of locks. A test compares this with all interleavings of random small transactions. The converse
// does not hold: a transaction that is reported may be atomic. Blocks is more precise and more expensive.
//
// # Potential deadlock
//
// Transactions that can deadlock are not atomic either, because a serial execution cannot deadlock. So
// Reduction also reports what lockset.LockOrder finds, with Kind heisen.Deadlock and the accesses of that
// detector.
//
// # Findings
//
// A transaction is reported when it ends, or later, when the potential race of an access is found. The
// accesses of a finding of Kind heisen.Atomicity stand in the order of the transaction: the event
// that began it, the left-mover or non-mover, and the event that breaks the pattern. Behind each of the
// two that is a non-mover stands the access of the potential race that keeps it from moving. There is one
// finding for each combination of the sites of the first three.
//
// # Cost
//
// The cost of Hybrid and LockOrder, and some ten nanoseconds an event in a transaction; at the end of a
// transaction a step for each site in it. Of the transactions with the same sites in the same order one
// is stored, and at most 1,048,576 sites in all, in some 100 MB. Transactions beyond that are checked
// when they end, and Flush returns an error that wraps ErrDropped, because potential races that are found
// later are not considered. In steady state nothing is allocated.
type Reduction struct {
	sink   heisen.Sink
	intake intake.Check
	events uint64

	bounds    transactions
	same      operations
	hybrid    *lockset.Hybrid // nil before the first event of a zero Reduction
	lockOrder *lockset.LockOrder
	skipped   bool          // these do not know the positions of events
	asPlain   heisen.Record // the event for hybrid

	threads *shadow.Memory[*reductionThread]
	numbers map[stepKey]step
	atomics map[stepKey]heisen.Op // atomic operations as in the stream
	steps   []stepInfo            // by number

	sequences  map[uint64][]*sequence // by hash
	stored     int                    // entries of sequences
	maxEntries int                    // bound on stored
	dropped    uint64
	reported   map[[3]heisen.Site]struct{}
	violations uint64
	deadlocks  uint64
}

// step is the number of a stepKey.
type step uint32

// stepKey is what a thread does at a site. Atomic accesses are plain ones here.
type stepKey struct {
	site heisen.Site
	op   heisen.Op
}

// stepInfo is what is known about a step.
type stepInfo struct {
	op     heisen.Op // as in the stream
	mover  mover
	race   heisen.Access // the other access of its first potential race
	second heisen.Access // that of a race with another thread than that one, if there is one
	within []*sequence   // that have it
}

// mover says with which neighbors an event can be exchanged.
type mover uint8

const (
	both mover = iota
	right
	left
	neither
)

// sequence is what a transaction does: each of its steps where it occurs first, and, if it occurs again,
// where it occurs last, in order. Whether the pattern is broken depends on nothing else.
type sequence struct {
	begin    heisen.Access
	entries  []entry
	reported bool
}

type entry struct {
	step   step
	access heisen.Access
}

// defaultEntries bounds the entries of the sequences that are stored.
const defaultEntries = 1 << 20

// reductionThread is a thread of a Reduction.
type reductionThread struct {
	open  bool
	begin heisen.Access
	index map[step]int // in first and last
	first []entry
	last  []entry // of the steps in first; the same access if it occurs once
	whole sequence
}

// NewReduction returns a Reduction for one stream. The error wraps heisen.ErrOption.
func NewReduction(opts ...Option) (*Reduction, error) {
	c, err := newConfig("atomicity.NewReduction", opts)
	if err != nil {
		return nil, err
	}
	d := new(Reduction)
	d.init(c)
	return d, nil
}

func (d *Reduction) init(c config) {
	d.sink, d.bounds, d.same = c.sink, newTransactions(c), c.operation
	hybrid, err := lockset.NewHybrid(lockset.WithSink(d.race))
	lockOrder, err2 := lockset.NewLockOrder(lockset.WithSink(d.deadlock))
	if err != nil || err2 != nil {
		panic(errors.Join(err, err2)) // the options are right
	}
	d.hybrid, d.lockOrder = hybrid, lockOrder
	d.threads = shadow.New[*reductionThread](nil, nil)
	d.numbers, d.atomics = map[stepKey]step{}, map[stepKey]heisen.Op{}
	d.sequences, d.maxEntries = map[uint64][]*sequence{}, defaultEntries
	d.reported = map[[3]heisen.Site]struct{}{}
}

// ensureInit makes a zero Reduction usable.
func (d *Reduction) ensureInit() {
	if d.hybrid == nil {
		d.init(defaults())
	}
}

// Handle implements heisen.Detector.
func (d *Reduction) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Reduction) HandleRecords(batch []heisen.Record) {
	d.ensureInit()
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper. A filter in front of a Reduction may cause violations to be missed.
func (d *Reduction) Skip(events uint64) {
	d.events += events
	d.skipped = d.skipped || events > 0
}

// Flush implements heisen.Detector. It checks the transactions that have not ended. It returns an error
// that wraps ErrDropped, lockset.ErrEvicted, lockset.ErrLimit, vclock.ErrEndedThread,
// vclock.ErrTooManyThreads or vclock.ErrForgotten if violations may be missing, and those that
// heisen.Detector names.
func (d *Reduction) Flush() error {
	d.ensureInit()
	d.threads.Each(func(p **reductionThread) {
		if t := *p; t != nil && t.open {
			d.end(t)
		}
	})
	err := errors.Join(d.hybrid.Flush(), d.lockOrder.Flush(), d.intake.Flush())
	if d.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d transactions; violations may be missing", ErrDropped, d.dropped))
	}
	return err
}

// Violations returns the number of findings that are not deadlocks.
func (d *Reduction) Violations() uint64 {
	return d.violations
}

// Deadlocks returns the number of potential deadlocks.
func (d *Reduction) Deadlocks() uint64 {
	return d.deadlocks
}

func (d *Reduction) deadlock(f heisen.Finding) {
	d.deadlocks++
	d.sink(deadlockOf("reduction", f, d.skipped))
}

// plain returns the operation of a plain access for that of an atomic one.
func plain(op heisen.Op) heisen.Op {
	switch op {
	case heisen.AtomicRead:
		return heisen.Read
	case heisen.AtomicWrite, heisen.AtomicUpdate:
		return heisen.Write
	}
	return op
}

func (d *Reduction) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	d.lockOrder.Handle(r.Event())
	d.asPlain = *r
	d.asPlain.Op = plain(r.Op)
	if d.asPlain.Op != r.Op {
		d.atomics[stepKey{r.Site, d.asPlain.Op}] = r.Op
	}
	d.hybrid.Handle(d.asPlain.Event())
	begins := d.bounds.begins(r)
	if t := d.thread(r.Thread, begins); t != nil && (begins || t.open) {
		access := heisen.AccessOf(r, d.events)
		if begins {
			t.open, t.begin = true, access
		}
		if m, is := moverOf(r.Op); is {
			t.add(d.step(stepKey{r.Site, d.asPlain.Op}, r.Op, m), access)
		}
	}
	if id, ended := d.bounds.ended(r); ended {
		if t := d.thread(id, false); t != nil && t.open {
			d.end(t)
		}
	}
	if r.Op == heisen.End {
		d.threads.Clear(threadKey(r.Thread), 8)
	}
}

// thread returns a thread. It is nil if it has begun no transaction, unless one begins.
func (d *Reduction) thread(id heisen.Thread, begins bool) *reductionThread {
	if !begins {
		if p := d.threads.Peek(threadKey(id)); p != nil {
			return *p
		}
		return nil
	}
	p := d.threads.At(threadKey(id))
	if *p == nil {
		*p = &reductionThread{index: map[step]int{}}
	}
	return *p
}

// moverOf returns what an event is that is in no potential race. Other events are no steps.
func moverOf(op heisen.Op) (m mover, is bool) {
	switch op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Receive, heisen.Join:
		return right, true
	case heisen.Release, heisen.ReleaseShared, heisen.Send, heisen.Fork:
		return left, true
	}
	return both, op.IsAccess()
}

// step returns the number of a step.
func (d *Reduction) step(key stepKey, op heisen.Op, m mover) step {
	number, known := d.numbers[key]
	if !known {
		number = step(len(d.steps))
		d.numbers[key] = number
		d.steps = append(d.steps, stepInfo{op: op, mover: m})
	}
	return number
}

// add adds an event to the open transaction.
func (t *reductionThread) add(s step, a heisen.Access) {
	at, known := t.index[s]
	if !known {
		t.index[s] = len(t.first)
		t.first = append(t.first, entry{s, a})
		t.last = append(t.last, entry{s, a})
		return
	}
	t.last[at].access = a
}

// end ends the transaction of a thread.
func (d *Reduction) end(t *reductionThread) {
	t.whole.begin, t.whole.entries, t.whole.reported = t.begin, append(t.whole.entries[:0], t.first...), false
	for i := range t.last {
		if t.last[i].access.Index != t.first[i].access.Index {
			t.whole.entries = append(t.whole.entries, t.last[i])
		}
	}
	slices.SortFunc(t.whole.entries, func(a, b entry) int { return cmp.Compare(a.access.Index, b.access.Index) })
	d.check(&t.whole, true)
	t.open = false
	t.first, t.last = t.first[:0], t.last[:0]
	clear(t.index)
}

// check reports a sequence that breaks the pattern, and stores another one that is new, because more
// potential races may be found.
func (d *Reduction) check(s *sequence, ended bool) {
	commit := -1
	for i := range s.entries {
		switch m := d.steps[s.entries[i].step].mover; {
		case commit >= 0 && (m == right || m == neither):
			if d.same.one(&s.entries[commit].access, &s.entries[i].access) {
				continue
			}
			d.report(s, &s.entries[commit], &s.entries[i])
			s.reported = true
			return
		case commit < 0 && (m == left || m == neither):
			commit = i
		}
	}
	if ended {
		d.store(s)
	}
}

// store stores a sequence, unless it is stored already.
func (d *Reduction) store(s *sequence) {
	sum := uint64(14695981039346656037)
	for i := range s.entries {
		sum = (sum ^ uint64(s.entries[i].step)) * 1099511628211
	}
	for _, known := range d.sequences[sum] {
		if slices.EqualFunc(known.entries, s.entries, func(a, b entry) bool { return a.step == b.step }) {
			return
		}
	}
	if d.stored+len(s.entries) > d.maxEntries {
		d.dropped++
		return
	}
	d.stored += len(s.entries)
	kept := &sequence{begin: s.begin, entries: slices.Clone(s.entries)}
	d.sequences[sum] = append(d.sequences[sum], kept)
	for i := range kept.entries {
		info := &d.steps[kept.entries[i].step]
		if info.mover == both && (len(info.within) == 0 || info.within[len(info.within)-1] != kept) {
			info.within = append(info.within, kept)
		}
	}
}

// race is a potential race. Its accesses are no movers, which may break the pattern in transactions that
// have ended.
func (d *Reduction) race(f heisen.Finding) {
	if len(f.Accesses) != 2 {
		return
	}
	for i := range f.Accesses {
		a, other := f.Accesses[i], f.Accesses[1-i]
		other.Index = 0 // the position in the stream is not known
		s := d.step(stepKey{a.Site, a.Op}, a.Op, both)
		info := &d.steps[s]
		switch {
		case info.mover == both:
			info.mover, info.race = neither, other
		case info.mover == neither && info.race.Thread != other.Thread && info.second.Site == 0:
			info.second = other
		}
	}
	for _, a := range f.Accesses {
		info := &d.steps[d.numbers[stepKey{a.Site, a.Op}]]
		within := info.within
		info.within = nil
		for _, s := range within {
			if !s.reported {
				d.check(s, false)
			}
		}
	}
}

// report reports a transaction whose event at breaks the pattern, because commit comes before it.
func (d *Reduction) report(s *sequence, commit, at *entry) {
	key := [3]heisen.Site{s.begin.Site, commit.access.Site, at.access.Site}
	if _, known := d.reported[key]; known {
		return
	}
	d.reported[key] = struct{}{}
	d.violations++
	accesses := []heisen.Access{s.begin}
	add := func(e *entry) {
		if e.access.Index != s.begin.Index {
			accesses = append(accesses, e.access)
		}
		if info := &d.steps[e.step]; info.mover == neither {
			other := info.race
			if other.Thread == s.begin.Thread {
				other = info.second
			}
			if other.Site == 0 { // only its own thread is known to have made such an access
				return
			}
			if op, atomic := d.atomics[stepKey{other.Site, other.Op}]; atomic {
				other.Op = op
			}
			accesses = append(accesses, other)
		}
	}
	add(commit)
	add(at)
	d.sink(heisen.Finding{
		Detector: "reduction",
		Kind:     heisen.Atomicity,
		Object:   at.access.Object,
		Message: fmt.Sprintf("a transaction is not proved to be atomic: its %v cannot be moved before what other threads do after its %v",
			at.access.Op.Words(), commit.access.Op.Words()),
		Accesses: accesses,
	})
}
