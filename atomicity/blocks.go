package atomicity

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

// ErrDropped is wrapped by the error of Blocks.Flush and Reduction.Flush if there was more to store than
// their bounds allow, so that violations may be missing.
var ErrDropped = errors.New("parts of transactions were dropped")

// Blocks reports transactions that another schedule can interrupt: pairs of transactions whose
// accesses the locks and messages of the observed execution allow to interleave in a way that no
// serial execution has. It is the block-based algorithm of Wang and Stoller ("Run-Time Analysis for
// Atomicity", RV 2003), as section 2.2 of Agarwal, Sasturkar, Wang and Stoller, "Optimized Run-Time
// Race Detection and Atomicity Checking Using Partial Discovered Types" (ASE 2005), sketches it. Its
// findings have Detector "blocks". The zero Blocks is ready to use and discards its findings.
//
// # Algorithm
//
// A block is two accesses of a transaction, with the locks that are held at the accesses, throughout
// from one to the other, and at any time from one to the other. A 1v-block has two accesses to one
// variable: a write and the next access; two reads before the first write, one after the other; or
// the first read, if no write precedes it, and the last write. A 2v-block has accesses to different
// variables, each of which is a read that no write of the transaction to the variable precedes (an
// initial read) or the last write to it (the final write).
//
// The blocks of a transaction are compared with those of transactions of other threads when it ends.
// An access outside of transactions is a transaction of its own. There is a violation if
//
//   - an access of the other transaction can come between the two of a 1v-block, in one of the
//     patterns read-write-read, write-write-read, write-read-write and read-write-write. The access in
//     the middle of write-read-write is an initial read, that of read-write-write the final write;
//   - the accesses of two 2v-blocks to one variable conflict, and those to the other, and they can
//     come in opposite orders.
//
// They can, if no lock that is held throughout one block is held at the access in the middle, or at
// any time from one to the other of the two that come in the middle, or, if each block begins before
// the other one ends, throughout the other; except for locks that both hold for reading. And no
// message (Fork, Join, Send, Receive) leads from an access to one that must come before it.
//
// # Guarantees
//
// Take two transactions of different threads that access variables and hold locks in a nested way,
// without potential deadlock between them, and without messages while they run. Blocks reports a
// violation of the two if and only if there is an interleaving, consistent with the locks, that is
// not view-equivalent to a serial execution: in which some read sees another write, or another write
// is the last of its variable. The transactions are sequences of events here: what they would do
// with other values is not considered. A test compares this with all interleavings of random small
// transactions.
//
// If a potential deadlock exists, if locks are not released in the opposite order, or if there are
// messages within transactions, then no violation of two transactions is missed, apart from what the
// bounds below cause, but a reported interleaving may be infeasible. A violation that takes three transactions, of which no two show one, is missed.
//
// # Focused checking
//
// WithVerified says which transactions are known to be atomic in all executions, for example by a static
// check. Of such a transaction, Blocks makes no 1v-blocks, and keeps of each variable the first initial read
// and the final write, as if all locks of the transaction were held at both: section 6.2 of the paper by Agarwal
// and others. If what is verified is true and there is no potential deadlock, Blocks finds a violation if and
// only if it finds one without the option. Accesses in verified calls within other transactions are
// not reduced.
//
// # Potential deadlock
//
// Transactions that can deadlock are not atomic either, because a serial execution cannot deadlock;
// and where one is possible, interleavings that the locks seem to allow may end in it. So Blocks also
// reports what lockset.LockOrder finds, with Kind heisen.Deadlock and the accesses of that detector.
//
// # Findings
//
// The accesses of a finding of Kind heisen.Atomicity stand in the order of the interleaving, which
// need not be that of the stream: of a 1v-block the first, the one in the middle, and the last; of
// 2v-blocks all four. There is one finding for each combination of their sites.
//
// # Cost
//
// A transaction that repeats one of the latest eight patterns of its thread is not compared again.
// Otherwise the end of a transaction with n variables takes n² comparisons with the stored blocks of
// each pair of variables. What is stored is bounded: accesses of a variable in a transaction by 32
// initial reads, 32 writes and 32 1v-blocks, a transaction by 256 variables, 256 holds of locks and 262,144
// 2v-blocks, and stored blocks by 256 of each kind per variable, and 64 per pair of variables. Of equal blocks
// of a thread the latest is stored, whatever messages came before it, and of equal blocks of several threads
// the last if messages order them. What is beyond the bounds is
// dropped. If it was about variables that several threads access, Flush returns an error that wraps
// ErrDropped. An access to a part of what earlier ones accessed as a whole makes a variable of that part,
// of which nothing is known yet. Each stretch of a thread between two messages has a vector clock, and
// vclock.Order keeps a slot for each thread that has ended.
type Blocks struct {
	sink     heisen.Sink
	intake   intake.Check
	events   uint64
	verified func(heisen.Event) bool // whether a transaction is known to be atomic; nil: none is
	same     operations

	bounds    transactions
	locks     *locksets.Table // nil before the first event of a zero Blocks
	order     *vclock.Order   // of messages only
	lockOrder *lockset.LockOrder
	threads   *shadow.Memory[*blockThread]
	last      *blockThread

	variables *shadow.Memory[uint32] // number of the variable, or 0
	blocks    blockStore
	limits    bounds
	spare     []*builder

	skipped    bool   // lockOrder does not know the positions of events
	lifetimes  uint64 // counts the events that end the life of memory
	reported   map[[5]uint64]struct{}
	violations uint64
	deadlocks  uint64
}

// blockThread is a thread of a Blocks.
type blockThread struct {
	id     heisen.Thread
	holds  []hold // open ones
	now    *moment
	open   *builder
	recent [8]uint64 // patterns of the latest transactions
	next   int
}

// moment is a stretch of a thread between two messages, with what happens before it.
type moment struct {
	thread heisen.Thread
	epoch  vclock.Epoch
	clock  vclock.Clock
}

// before reports whether a message leads from m to n, or they are of one thread.
func (m *moment) before(n *moment) bool {
	return m.thread == n.thread || n.clock.Covers(m.epoch)
}

// NewBlocks returns a Blocks for one stream. The error wraps heisen.ErrOption.
func NewBlocks(opts ...Option) (*Blocks, error) {
	c, err := newConfig("atomicity.NewBlocks", opts)
	if err != nil {
		return nil, err
	}
	d := new(Blocks)
	d.init(c)
	return d, nil
}

func (d *Blocks) init(c config) {
	d.sink, d.verified, d.same, d.bounds = c.sink, c.verified, c.operation, newTransactions(c)
	d.locks, d.order = locksets.NewTable(), new(vclock.Order)
	lockOrder, err := lockset.NewLockOrder(lockset.WithSink(d.deadlock))
	if err != nil {
		panic(err) // the options are right
	}
	d.lockOrder = lockOrder
	d.threads = shadow.New[*blockThread](nil, nil)
	d.variables = shadow.New(func(v *uint32) { *v = 0 }, d.blocks.forget)
	d.limits = defaultBounds
	d.blocks.init(d.limits)
	d.reported = map[[5]uint64]struct{}{}
}

// ensureInit makes a zero Blocks usable.
func (d *Blocks) ensureInit() {
	if d.locks == nil {
		d.init(defaults())
	}
}

// Handle implements heisen.Detector.
func (d *Blocks) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Blocks) HandleRecords(batch []heisen.Record) {
	d.ensureInit()
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper. A filter in front of a Blocks may cause violations to be missed.
func (d *Blocks) Skip(events uint64) {
	d.events += events
	d.skipped = d.skipped || events > 0
}

// Flush implements heisen.Detector. It compares the transactions that have not ended. It returns an
// error that wraps ErrDropped, lockset.ErrLimit, vclock.ErrEndedThread, vclock.ErrTooManyThreads or
// vclock.ErrForgotten if violations may be missing, and those that heisen.Detector names.
func (d *Blocks) Flush() error {
	d.ensureInit()
	d.threads.Each(func(p **blockThread) {
		if t := *p; t != nil && t.open != nil {
			d.end(t)
		}
	})
	err := errors.Join(d.order.Err(), d.lockOrder.Flush(), d.intake.Flush())
	if d.blocks.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d; violations may be missing", ErrDropped, d.blocks.dropped))
	}
	return err
}

// Violations returns the number of findings that are not deadlocks.
func (d *Blocks) Violations() uint64 {
	return d.violations
}

// Deadlocks returns the number of potential deadlocks.
func (d *Blocks) Deadlocks() uint64 {
	return d.deadlocks
}

func (d *Blocks) deadlock(f heisen.Finding) {
	d.deadlocks++
	d.sink(deadlockOf("blocks", f, d.skipped))
}

// deadlockOf returns a potential deadlock, which lockset.LockOrder has found, as the finding of a detector of
// transactions. skipped says that LockOrder does not know the positions of events.
func deadlockOf(detector string, f heisen.Finding, skipped bool) heisen.Finding {
	f.Detector = detector
	for i := range f.Accesses {
		if skipped {
			f.Accesses[i].Index = 0
		}
	}
	f.Message += "; transactions that can deadlock are not atomic"
	return f
}

func (d *Blocks) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	d.lockOrder.Handle(r.Event())
	if r.Op.IsAccess() {
		d.access(r)
		return
	}
	t := d.thread(r.Thread)
	if d.bounds.begins(r) {
		t.open = d.builder(t)
		t.open.verified = d.verified != nil && d.verified(r.Event())
	}
	if t.open != nil {
		t.open.mix(uint64(r.Op), uint64(r.Object))
	}
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		d.acquire(t, r)
	case heisen.Release, heisen.ReleaseShared:
		d.release(t, r)
	case heisen.Fork, heisen.Join, heisen.Send, heisen.Receive, heisen.End:
		d.order.Observe(r)
		d.order.Publish(r)
		t.now = nil
		if t.open != nil {
			t.open.segment++
		}
		if r.Op == heisen.Fork && heisen.Object(r.Object.Thread()) == r.Object {
			d.thread(r.Object.Thread()).now = nil
		}
	case heisen.Alloc, heisen.Free:
		d.order.Observe(r)
		d.lifetimes++
		d.variables.Clear(r.Object, r.Value)
		d.locks.End(r.Object, r.Value)
	}
	if id, ended := d.bounds.ended(r); ended {
		if u := d.thread(id); u.open != nil {
			d.end(u)
		}
	}
	if r.Op == heisen.End {
		d.threads.Clear(threadKey(r.Thread), 8)
		d.last = nil
	}
}

// thread returns a thread.
func (d *Blocks) thread(id heisen.Thread) *blockThread {
	if d.last != nil && d.last.id == id {
		return d.last
	}
	p := d.threads.At(threadKey(id))
	if *p == nil {
		*p = &blockThread{id: id}
	}
	d.last = *p
	return d.last
}

// momentOf returns the present moment of a thread.
func (d *Blocks) momentOf(t *blockThread) *moment {
	if t.now == nil {
		t.now = &moment{t.id, d.order.Access(t.id), d.order.Clock(t.id)}
	}
	return t.now
}

func (d *Blocks) acquire(t *blockThread, r *heisen.Record) {
	h := hold{lock: d.locks.Lock(r.Object), shared: r.Op == heisen.AcquireShared}
	if t.open != nil {
		h.from = t.open.acquired()
	}
	t.holds = append(t.holds, h)
}

// release ends the latest hold of a lock. Any goroutine may unlock a mutex.
func (d *Blocks) release(t *blockThread, r *heisen.Record) {
	lock, shared := d.locks.Find(r.Object), r.Op == heisen.ReleaseShared
	if h := d.bounds.holders.Peek(r.Object); !shared && h != nil && h.holds > 0 {
		t = d.thread(h.thread)
	}
	for i := len(t.holds) - 1; i >= 0; i-- {
		h := t.holds[i]
		if h.lock != lock || h.shared != shared {
			continue
		}
		t.holds = append(t.holds[:i], t.holds[i+1:]...)
		if t.open != nil {
			t.open.released(h)
		}
		return
	}
}

func (d *Blocks) access(r *heisen.Record) {
	t := d.thread(r.Thread)
	var single *builder
	b := t.open
	if b == nil {
		single = d.builder(t)
		b = single
	}
	e := event{Access: heisen.AccessOf(r, d.events), moment: d.momentOf(t), time: b.tick(), segment: b.segment}
	b.mix(uint64(r.Op)|uint64(r.Len)<<8|uint64(r.Site)<<32, uint64(r.Object))
	b.mix(uint64(e.moment.epoch), d.lifetimes)
	for c := d.variables.Range(r.Object, r.Size()); c.Next(); {
		id := c.State()
		if *id == 0 {
			*id = d.blocks.add()
		}
		e.Object = c.Object()
		stored := d.blocks.variables[*id]
		d.blocks.accessed(stored, r.Thread)
		b.add(*id, stored, e)
	}
	if single != nil {
		d.finish(t, single)
	}
}

// builder returns a builder for a transaction that begins now.
func (d *Blocks) builder(t *blockThread) *builder {
	var b *builder
	if n := len(d.spare) - 1; n >= 0 {
		b, d.spare = d.spare[n], d.spare[:n]
	} else {
		b = &builder{bounds: d.limits}
	}
	b.reset()
	for i := range t.holds {
		t.holds[i].from = 0
		b.mix(uint64(t.holds[i].lock), 1)
		if t.holds[i].shared {
			b.mix(0, 0)
		}
	}
	return b
}

// end ends the transaction of a thread.
func (d *Blocks) end(t *blockThread) {
	b := t.open
	t.open = nil
	d.finish(t, b)
}

// finish compares a transaction, unless it is a repetition, and stores its blocks.
func (d *Blocks) finish(t *blockThread, b *builder) {
	repeated := false
	for _, p := range t.recent {
		repeated = repeated || p == b.pattern
	}
	if !repeated {
		t.recent[t.next] = b.pattern
		t.next = (t.next + 1) % len(t.recent)
		b.complete(t.holds)
		if !b.lostHold { // else it would seem to hold fewer locks than it does
			d.compare(t.id, b)
		}
		d.blocks.dropped += b.dropped
		d.compact()
	}
	d.spare = append(d.spare, b)
}

// compact drops the sets of locks that are no longer used, if there are many.
func (d *Blocks) compact() {
	if !d.locks.Grown() {
		return
	}
	d.locks.Compact(func(k *locksets.Compaction) {
		d.blocks.keep(k)
		d.threads.Each(func(p **blockThread) {
			if *p == nil {
				return
			}
			for _, h := range (*p).holds {
				k.KeepLock(h.lock)
			}
			if b := (*p).open; b != nil {
				for _, h := range b.holds {
					k.KeepLock(h.lock)
				}
			}
		})
	})
}
