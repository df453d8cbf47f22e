package lockset

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// ErrEvicted is wrapped by the error of Hybrid.Flush if accesses were evicted, so that pairs may be
// missing. See WithMaxAccesses.
var ErrEvicted = errors.New("accesses were evicted")

const (
	// maxGroups bounds the groups of a variable.
	maxGroups = 512

	// retryAfter is the number of times that makeRoom skips its search for dispensable accesses
	// after a search that found none.
	retryAfter = 64

	// fewGroups is the number of groups of a variable up to which ended locks stay in them.
	fewGroups = 8
)

// Hybrid reports pairs of sites whose accesses may race in another schedule: the combination of
// locksets and happens-before of O'Callahan and Choi (PPoPP 2003), as the first phase of RaceFuzzer
// (Sen, PLDI 2008, section 2.2) states it. Its findings have Detector "hybrid" and Kind
// heisen.PotentialRace. The zero Hybrid is ready to use and discards its findings.
//
// Two accesses are a potential race if
//   - they touch a common byte in the same allocation epoch;
//   - they are by different threads;
//   - they conflict (heisen.Op.Conflicts): one of them writes, and not both are atomic;
//   - no lock excludes them: the threads hold no common lock that one of them holds exclusively;
//   - they are not ordered by messages: by Fork, Join, Send, Receive and program order.
//
// An operation of a lock that is memory of the program (heisen.LockWord) is an atomic update of
// it, under the locks held before.
//
// Each unordered pair of (site, op) is reported once, with the first two accesses that showed it.
// Of the earlier access the index is unknown, the object is the first byte that both touch, and the
// size is 1.
//
// # Guarantees
//
// For every stream: the sites of each happens-before race, each finding of vclock.HappensBefore,
// are a reported pair. Locks that exclude accesses also order them, and messages are a part of the
// happens-before order.
//
// For a well-formed stream: Hybrid reports the sites of all races of all schedules in which the
// threads take the same steps, locks exclude, a Receive comes after the Sends that it came after, a
// Join after the end of the thread, and a thread after its Fork. The value that a read or an atomic
// operation observes need not be the same.
//
// Both hold unless Flush returns an error.
//
// For this reason sync/atomic operations order nothing here, although they do in the Go memory
// model. The scheduler decides which of two atomic operations comes first, as with two critical
// sections of a mutex: goroutines that count with atomic.Add do not wait for each other. A list of
// candidates for other tools must not omit such races. The price: data that is published by an
// atomic store and read after the load is reported. WithAtomicOrder omits these pairs, and with
// them the races that an order of atomic operations hides. The first guarantee also holds then.
//
// # What is stored
//
// The accesses of a variable with the same site, op and locks are a group. Of a group, at most one
// access per slot of vclock.Order is stored, the last. No pair is lost by this. Let a be an access
// that was dropped because b, of the same group, came later, and a happens before b by messages or
// is by the same slot, whose accesses are ordered. Take a later access r such that a and r are a
// potential race, so that a does not happen before r. Then b does not happen before r, because a
// would. r conflicts with b as with a, and no lock excludes them, because op and locks are the
// same. b is not by the thread of r, because otherwise a would happen before r. So b and r are a
// potential race of the same sites. By the same argument a group may drop all accesses that happen
// before a new one, and does so before it grows. Locks that have ended, which no thread can hold
// any more, are removed from the groups' locks if a variable has many groups.
//
// A repeated access (same group and slot, no publication in between) needs no check: everything
// before it was checked against the access that it repeats, or since then. This does not hold
// after locks were removed from the group, and the next access is checked.
//
// # Cost
//
// A repeated access costs a few nanoseconds. Any other access costs a few nanoseconds per group of
// the variable, and a step per access of the groups that conflict and are not excluded. Memory is
// 13 bytes per accessed word, 72 per group and 16 per further access. In steady state nothing is
// allocated.
type Hybrid struct {
	table *locksets.Table // nil before the first event of a zero Hybrid
	locks *locksets.Tracker
	order *vclock.Order // of messages only

	memory *shadow.Memory[history]
	groups accessGroups
	pairs  map[pair]struct{}
	sink   heisen.Sink

	orderAtomics bool
	maxAccesses  uint32 // 0 is unlimited
	maxGroups    int

	now         position
	fruitless   uint32                        // searches that makeRoom still skips
	before      func(vclock.Epoch) bool       // whether an access happens before now
	living      func(locksets.ID) locksets.ID // the locks of a set that have not ended
	messagesEnd heisen.Record                 // a Free, for an object whose messages end
	intake      intake.Check
	events      uint64
	evicted     uint64
}

// position is the state of the thread of the last access.
type position struct {
	known  bool // false if the state may have changed since
	thread heisen.Thread
	epoch  vclock.Epoch
	held   locksets.Held
}

// siteOp is a site and an op.
type siteOp uint64

func siteOpOf(site heisen.Site, op heisen.Op) siteOp { return siteOp(site)<<8 | siteOp(op) }

// pair is two siteOps, the lesser first.
type pair [2]siteOp

// NewHybrid returns a Hybrid detector for one stream. The error wraps heisen.ErrOption.
func NewHybrid(opts ...HybridOption) (*Hybrid, error) {
	c := defaultHybrid()
	err := applyAll("lockset.NewHybrid", &c, opts, func(o HybridOption) func(*hybridConfig) error { return o.applyHybrid })
	if err != nil {
		return nil, err
	}
	d := new(Hybrid)
	d.init(c)
	return d, nil
}

func (d *Hybrid) init(c hybridConfig) {
	d.table, d.order, d.pairs = locksets.NewTable(), new(vclock.Order), map[pair]struct{}{}
	d.sink, d.orderAtomics, d.maxAccesses, d.maxGroups = c.sink, c.orderAtomics, c.maxAccesses, maxGroups
	d.messagesEnd = heisen.Record{Op: heisen.Free, Value: 1}
	d.locks = locksets.NewTracker(d.table)
	d.living = d.table.Living
	d.before = func(e vclock.Epoch) bool { return d.order.Before(e, d.now.thread) }
	d.memory = shadow.New(d.groups.clone, d.groups.forget)
	if c.whole {
		d.intake.CheckReleases()
	}
}

// ensureInit makes a zero Hybrid usable.
func (d *Hybrid) ensureInit() {
	if d.table == nil {
		d.init(defaultHybrid())
	}
}

// Handle implements heisen.Detector.
func (d *Hybrid) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Hybrid) HandleRecords(batch []heisen.Record) {
	d.ensureInit()
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Hybrid) Skip(events uint64) {
	d.intake.Skipped(events)
	d.events += events
}

// LockUse implements heisen.LockUser.
func (*Hybrid) LockUse() heisen.LockUse { return heisen.LocksAsSets }

// Flush implements heisen.Detector. It returns an error that wraps ErrEvicted,
// vclock.ErrEndedThread, vclock.ErrTooManyThreads or vclock.ErrForgotten if pairs may be missing, and those
// that heisen.Detector names.
func (d *Hybrid) Flush() error {
	d.ensureInit()
	var err error
	if d.evicted > 0 {
		err = fmt.Errorf("%w: %d, of variables with too many accesses; pairs may be missing", ErrEvicted, d.evicted)
	}
	return errors.Join(d.order.Err(), err, d.intake.Flush())
}

// Pairs returns the number of findings.
func (d *Hybrid) Pairs() int {
	return len(d.pairs)
}

// Evicted returns the number of accesses that were evicted although pairs may depend on them.
func (d *Hybrid) Evicted() uint64 {
	return d.evicted
}

func (d *Hybrid) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	switch r.Op {
	case heisen.Read, heisen.Write:
		d.handleAccess(r, r.Op)
	case heisen.AtomicRead, heisen.AtomicUpdate, heisen.AtomicWrite:
		if d.orderAtomics {
			d.order.Observe(r)
			d.now.known = false
		}
		d.handleAccess(r, r.Op)
		switch {
		case d.orderAtomics:
			d.order.Publish(r)
			d.now.known = false
		case r.Op == heisen.AtomicWrite: // messages that were sent to it cannot be received any more
			d.messagesEnd.Thread, d.messagesEnd.Object = r.Thread, r.Object
			d.order.Observe(&d.messagesEnd)
		}
		if r.Op == heisen.AtomicWrite {
			d.locks.Handle(r)
			d.now.known = false
		}
	case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		if r.Flags != 0 && r.Access() != heisen.Invalid { // a lock in memory
			d.handleAccess(r, r.Access())
		}
		d.locks.Handle(r)
		d.now.known = false
		d.compact()
	case heisen.Alloc, heisen.Free:
		d.memory.Clear(r.Object, r.Value)
		fallthrough
	case heisen.Fork, heisen.Join, heisen.End, heisen.Send, heisen.Receive:
		d.locks.Handle(r)
		d.order.Observe(r)
		d.order.Publish(r)
		d.now.known = false
		if (r.Op == heisen.End || r.Op == heisen.Join) && d.order.Grown() {
			d.compactOrder()
		}
	}
}

// handleAccess checks r, an access by op, against earlier accesses, and stores it.
func (d *Hybrid) handleAccess(r *heisen.Record, op heisen.Op) {
	if !d.now.known || d.now.thread != r.Thread {
		d.now = position{known: true, thread: r.Thread, epoch: d.order.Access(r.Thread), held: d.locks.HeldBy(r.Thread)}
	}
	if d.now.epoch == 0 {
		return // vclock.ErrTooManyThreadsThreads
	}
	if r.Len <= 1 {
		d.handleAccessOf(r, op, d.memory.At(r.Object), r.Object)
		return
	}
	for c := d.memory.Range(r.Object, r.Size()); c.Next(); {
		d.handleAccessOf(r, op, c.State(), c.Object())
	}
}

// handleAccessOf handles r as an access by op to a class of bytes whose lowest byte is at.
func (d *Hybrid) handleAccessOf(r *heisen.Record, op heisen.Op, v *history, at heisen.Object) {
	own, _ := d.groups.find(v, r.Site, op, d.now.held)
	if own != 0 {
		if m := d.groups.at(own).of(d.now.epoch.Slot()); m != nil && m.epoch == d.now.epoch && m.checked {
			return
		}
	}
	for i := v.first; i != 0; i = d.groups.at(i).next {
		if g := d.groups.at(i); g.op.Conflicts(op) && !d.exclude(g.held) {
			d.check(r, op, g, at)
		}
	}
	d.store(r, op, v, own)
}

func pairOf(a, b siteOp) pair { return pair{min(a, b), max(a, b)} }

func (d *Hybrid) reported(p pair) bool {
	_, known := d.pairs[p]
	return known
}

// exclude reports whether the locks held now exclude an access that was made with the given ones.
func (d *Hybrid) exclude(held locksets.Held) bool {
	mine := d.now.held
	if held.Any == held.Exclusive && mine.Any == mine.Exclusive {
		return !d.table.Disjoint(held.Any, mine.Any)
	}
	return !d.table.Disjoint(held.Any, mine.Exclusive) || !d.table.Disjoint(held.Exclusive, mine.Any)
}

// check reports g and r as a pair if an access of g does not happen before the present.
func (d *Hybrid) check(r *heisen.Record, op heisen.Op, g *accessGroup, at heisen.Object) {
	p := pairOf(siteOpOf(g.site, g.op), siteOpOf(r.Site, op))
	if g.others.count > 0 && d.reported(p) {
		return
	}
	m := g.first
	if d.before(m.epoch) {
		m = d.unordered(&g.others)
	}
	if m.epoch != 0 && !d.reported(p) {
		d.report(r, op, g, m, p, at)
	}
}

// unordered returns an access of t that does not happen before the present, or a zero one.
func (d *Hybrid) unordered(t *accessTable) access {
	if t.count > 0 {
		for _, m := range t.entries {
			if m.epoch != 0 && !d.before(m.epoch) {
				return m
			}
		}
	}
	return access{}
}

func (d *Hybrid) report(r *heisen.Record, op heisen.Op, g *accessGroup, m access, p pair, at heisen.Object) {
	d.pairs[p] = struct{}{}
	d.sink(heisen.Finding{
		Detector: "hybrid",
		Kind:     heisen.PotentialRace,
		Object:   at,
		Message:  op.Words() + " may race with " + g.op.Words(),
		Accesses: []heisen.Access{{
			Op: g.op, Thread: d.order.Thread(m.epoch), Object: at, Size: 1,
			Site: g.site, Context: m.ctx,
		}, accessOf(r, op, d.events)},
	})
}

// store stores r. own is its group, or 0.
func (d *Hybrid) store(r *heisen.Record, op heisen.Op, v *history, own uint32) {
	m := access{d.now.epoch, r.Context, true}
	if own != 0 {
		g := d.groups.at(own)
		if g.replace(m) {
			return
		}
		if g.others.count > 0 && g.others.full() {
			v.count -= d.groups.dropOthers(own, d.before)
		}
	}
	if d.maxAccesses > 0 {
		own = d.makeRoom(r, op, v)
	}
	switch {
	case own == 0:
		d.groups.push(v, r.Site, op, d.now.held, m)
	case d.groups.at(own).replace(m): // makeRoom has merged groups into r's
		return
	default:
		d.groups.at(own).others.add(m)
	}
	v.count++
}

// makeRoom makes room for r in v and returns r's group, or 0. It drops accesses that no pair depends
// on. If there are none, it evicts accesses, and searches again only after retryAfter calls.
func (d *Hybrid) makeRoom(r *heisen.Record, op heisen.Op, v *history) uint32 {
	own, groups := d.groups.find(v, r.Site, op, d.now.held)
	full := func() bool { return v.count >= d.maxAccesses || own == 0 && groups >= d.maxGroups }
	if !full() {
		return own
	}
	if d.fruitless == 0 {
		d.groups.prune(v)
		if own, groups = d.groups.find(v, r.Site, op, d.now.held); !full() {
			return own
		}
		if own != 0 {
			v.count -= d.groups.dropOthers(own, d.before)
		}
		v.count -= d.groups.dropEndedLocks(v, d.living)
		if own, groups = d.groups.find(v, r.Site, op, d.now.held); !full() {
			return own
		}
		d.fruitless = retryAfter
	}
	d.fruitless--
	var n uint32
	if own == 0 && groups >= d.maxGroups {
		n = d.groups.evictGroup(v)
	} else {
		n = d.groups.evictAccess(v)
	}
	v.count -= n
	d.evicted += uint64(n)
	own, _ = d.groups.find(v, r.Site, op, d.now.held) // it may have been evicted
	return own
}

// compactOrder makes the order forget threads that have ended. Their own locks have mostly ended too, so
// that many groups differ in nothing else any more.
func (d *Hybrid) compactOrder() {
	d.order.Compact(nil, d.groups.compact)
	d.memory.Each(func(v *history) {
		if d.groups.prune(v) > fewGroups {
			v.count -= d.groups.dropEndedLocks(v, d.living)
		}
	})
}

// compact drops the locksets that are no longer used, if there are many.
func (d *Hybrid) compact() {
	if !d.table.Grown() {
		return
	}
	d.now.known = false
	d.memory.Each(func(v *history) { v.count -= d.groups.dropEndedLocks(v, d.living) })
	d.table.Compact(func(k *locksets.Compaction) {
		d.locks.KeepSets(k)
		d.memory.Each(func(v *history) {
			for i := v.first; i != 0; i = d.groups.at(i).next {
				g := d.groups.at(i)
				k.Keep(&g.held.Any)
				k.Keep(&g.held.Exclusive)
			}
		})
	})
}
