package lockset

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// ErrEvicted is what the error of Hybrid.Flush wraps if accesses had to be
// forgotten, so that pairs may be missing. See Remember.
var ErrEvicted = errors.New("lockset: accesses were forgotten")

const (
	// defaultMaxAccesses is how many accesses of a variable a Hybrid keeps.
	defaultMaxAccesses = 512

	// maxGroups is of how many places and locks they are at most.
	maxGroups = 512

	// retryAfter is how often makeRoom looks for nothing after it found nothing.
	retryAfter = 64
)

// Hybrid reports pairs of places whose accesses may race in another schedule:
// the hybrid of locksets and happens-before of O'Callahan and Choi (PPoPP 2003),
// as the first phase of RaceFuzzer (Sen, PLDI 2008, section 2.2) states it. Its
// name in findings is "hybrid", their Kind heisen.PotentialRace.
//
// Two accesses are a potential race if they touch a common byte, in one life of
// it, by different threads, conflict (see heisen.Op.Conflicts: one writes, and
// not both are atomic), are not excluded from each other by a lock that both
// threads hold, one of them exclusively, and are not ordered by messages: by
// what Fork, Join, Send and Receive events order, and each thread's own steps. A
// lock that is memory of the program (heisen.LockWord) is accessed by who takes or
// releases it, under the locks held before.
//
// A place is a site together with an op. Each unordered pair of places is reported
// once, with the first two accesses that showed it: of the earlier one the index
// is unknown, the object is the byte where the two meet, and the size is 1.
//
// # Promise
//
// In every stream, the places of each race of happens-before (each finding of
// vclock.HappensBefore) are a reported pair: locks that exclude order too (see
// Holds), and messages are only a part of what orders. More than that, of a
// well-formed stream Hybrid reports the places of all races of all other schedules
// in which the threads take the same steps, locks exclude, and a Receive comes
// after those Sends that it came after, a Join after the thread's end, and a
// thread after its Fork: for what is excluded or ordered by these is so in each
// such schedule. What a read or atomic operation sees need not be the same. Both
// hold as long as nothing had to be forgotten, which Flush tells.
//
// That is why atomic operations order nothing here, though by Go's memory model
// they do. Which of two sync/atomic operations comes first is, as with two
// critical sections of a mutex, for the scheduler to say; two goroutines that
// count with atomic.Add do not wait for each other. A list from which other tools
// take what to try must not leave out such races. The price is that data
// published by an atomic store to who loads it are reported as well as those
// that are handed over under a mutex; OrderAtomics leaves out the former, with
// those races that an order of atomic operations hides. The promise for
// happens-before holds for it as well.
//
// # What is remembered
//
// Of the accesses to a variable so far, those at the same place with the same
// locks are a group, and of a group at most one access by each slot of
// vclock.Order is kept, the last. No pair is lost by that. Let a be an access
// that is dropped because b, of the same group, came later, and a happens before
// b by messages or is by the same slot, the accesses of which follow each other
// in that order. Take any later access r with which a is a potential race, so
// that r does not come after a in the order. Then r does not come after b
// either, for it would come after a; r conflicts with b as with a and is excluded
// from it as little, for the op and the locks are the same; and b is not by r's
// thread, for a, which comes before b, would come before r. So b and r are a
// potential race of the same places. The same argument allows to drop from a
// group all accesses that come before a new one, which is done where the group
// would have to grow. Locks that have ended, which nobody can hold any more, are
// taken out of the groups' locks where there are many groups.
//
// A repeated access (same group and slot, nothing published in between) needs no
// judgement: what came before it was judged with the access that it repeats, or
// has been judged since. Where locks were taken out of a group that is not so, and
// the next access is judged.
//
// # Costs
//
// A repeated access costs a few nanoseconds; others a few for each group of the
// variable, and a step for each access of the groups that conflict and are not
// excluded. Memory is 13 bytes per touched word, 72 per group and 16 per further
// access; see Table, Holds and vclock.Order for locks and messages. In steady
// state nothing is allocated.
type Hybrid struct {
	table *Table
	locks *Tracker
	order *vclock.Order // of messages only

	memory *shadow.Memory[history]
	groups accessGroups
	pairs  map[pair]struct{}
	sink   heisen.Sink

	orderAtomics bool
	maxAccesses  uint32

	now         position
	fruitless   uint32                  // how often makeRoom need not look
	before      func(vclock.Epoch) bool // whether it is ordered before now
	living      func(ID) ID             // the locks of a set that have not ended
	messagesEnd heisen.Record           // a Free, for the next object whose messages are gone
	events      uint64
	evicted     uint64
}

// position is where the thread of the last access stands.
type position struct {
	known  bool // false if it may have moved since
	thread heisen.Thread
	epoch  vclock.Epoch
	held   Held
}

// siteOp is a place of a pair: a site and an op.
type siteOp uint64

func siteOpOf(site heisen.Site, op heisen.Op) siteOp { return siteOp(site)<<8 | siteOp(op) }

// pair is two spots, the lesser first.
type pair [2]siteOp

// HybridOption is an option of NewHybrid.
type HybridOption func(*Hybrid)

// OrderAtomics lets atomic operations order as package heisen defines it: a load
// comes after the stores it may have seen, and so on. Then fewer pairs are
// reported; see the promise of Hybrid.
func OrderAtomics() HybridOption { return func(d *Hybrid) { d.orderAtomics = true } }

// Remember sets how many accesses of a variable are kept, of those that must be
// for no pair to be lost; the default is 512. They are of 128 combinations of
// place and locks at most. Below 1 there is no limit. An access that is one too
// many takes the place of others, Forgotten counts these, and Flush returns an
// error. Pairs that are reported are right nonetheless.
func Remember(accesses int) HybridOption {
	return func(d *Hybrid) { d.maxAccesses = uint32(max(0, min(accesses, 1<<31))) }
}

// NewHybrid returns a detector that reports to sink; nil is a sink that
// discards.
func NewHybrid(sink heisen.Sink, options ...HybridOption) *Hybrid {
	if sink == nil {
		sink = func(heisen.Finding) {}
	}
	d := &Hybrid{
		table: NewTable(), order: new(vclock.Order),
		pairs: map[pair]struct{}{}, sink: sink, maxAccesses: defaultMaxAccesses,
		messagesEnd: heisen.Record{Op: heisen.Free, Value: 1},
	}
	d.locks = NewTracker(d.table)
	d.living = d.table.Living
	d.before = func(e vclock.Epoch) bool { return d.order.Before(e, d.now.thread) }
	d.memory = shadow.New(d.groups.clone, d.groups.forget)
	for _, option := range options {
		option(d)
	}
	return d
}

// Handle implements heisen.Detector.
func (d *Hybrid) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (d *Hybrid) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Hybrid) Skip(events uint64) { d.events += events }

// LockUse implements heisen.LockUser.
func (*Hybrid) LockUse() heisen.LockUse { return heisen.LocksAsSets }

// Flush implements heisen.Detector. The error is that of vclock.Order.Err, and
// one that wraps ErrForgotten if accesses had to be forgotten.
func (d *Hybrid) Flush() error {
	var err error
	if d.evicted > 0 {
		err = fmt.Errorf("%w: %d of variables with too many; pairs may be missing", ErrEvicted, d.evicted)
	}
	return errors.Join(d.order.Err(), err)
}

// Pairs returns how many findings there were.
func (d *Hybrid) Pairs() int { return len(d.pairs) }

// Evicted returns how many accesses were forgotten without being known not to
// matter.
func (d *Hybrid) Evicted() uint64 { return d.evicted }

func (d *Hybrid) handle(r *heisen.Record) {
	d.events++
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
		case r.Op == heisen.AtomicWrite: // what was sent to it cannot be received any more
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
	}
}

// handleAccess judges r, an access by op, and remembers it.
func (d *Hybrid) handleAccess(r *heisen.Record, op heisen.Op) {
	if !d.now.known || d.now.thread != r.Thread {
		d.now = position{known: true, thread: r.Thread, epoch: d.order.Access(r.Thread), held: d.locks.HeldBy(r.Thread)}
	}
	if d.now.epoch == 0 {
		return // vclock.ErrTooManyThreads
	}
	if r.Len <= 1 {
		d.handleAccessOf(r, op, d.memory.At(r.Object), r.Object)
		return
	}
	for c := d.memory.Range(r.Object, r.Size()); c.Next(); {
		d.handleAccessOf(r, op, c.State(), c.Object())
	}
}

// handleAccessOf takes r as an access by op to a class of bytes with the lowest byte
// at.
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

// exclude reports whether the locks held now keep an access away that was made
// with the given ones.
func (d *Hybrid) exclude(held Held) bool {
	mine := d.now.held
	if held.Any == held.Exclusive && mine.Any == mine.Exclusive {
		return !d.table.Disjoint(held.Any, mine.Any)
	}
	return !d.table.Disjoint(held.Any, mine.Exclusive) || !d.table.Disjoint(held.Exclusive, mine.Any)
}

// check reports g and r as a pair, unless it is known, if an access of g is not
// ordered before the present.
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

// unordered returns a member of t that is not ordered before the present, or
// none.
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
		Message:  op.String() + " may race with " + g.op.String(),
		Accesses: []heisen.Access{{
			Op: g.op, Thread: d.order.Thread(m.epoch), Object: at, Size: 1,
			Site: g.site, Context: m.ctx,
		}, accessOf(r, op, d.events)},
	})
}

// store remembers r, of which own is the group, if there is one.
func (d *Hybrid) store(r *heisen.Record, op heisen.Op, v *history, own uint32) {
	m := access{d.now.epoch, r.Context, true}
	if own != 0 {
		g := d.groups.at(own)
		if last := g.of(m.epoch.Slot()); last != nil {
			*last = m
			return
		}
		if g.others.count > 0 && g.others.full() {
			v.count -= d.groups.dropOthers(own, d.before)
		}
	}
	if d.maxAccesses > 0 {
		own = d.makeRoom(r, op, v)
	}
	v.count++
	if own == 0 {
		d.groups.push(v, r.Site, op, d.now.held, m)
	} else {
		d.groups.at(own).others.add(m)
	}
}

// makeRoom makes room for r in v and returns its group, if there is one. It drops
// what is not needed, if there is anything. In a history where all is needed it
// would look for that in vain again and again, so it looks only now and then.
func (d *Hybrid) makeRoom(r *heisen.Record, op heisen.Op, v *history) uint32 {
	own, groups := d.groups.find(v, r.Site, op, d.now.held)
	full := func() bool { return v.count >= d.maxAccesses || own == 0 && groups >= maxGroups }
	if !full() {
		return own
	}
	if d.fruitless == 0 {
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
	n := uint32(1)
	if own == 0 && groups >= maxGroups {
		n = d.groups.evictGroup(v)
	} else {
		d.groups.evictAccess(v)
	}
	v.count -= n
	d.evicted += uint64(n)
	own, _ = d.groups.find(v, r.Site, op, d.now.held) // it may be gone
	return own
}

// compact gives up the sets that are no longer used, if there are many.
func (d *Hybrid) compact() {
	if !d.table.Grown() {
		return
	}
	d.now.known = false
	d.memory.Each(func(v *history) { v.count -= d.groups.dropEndedLocks(v, d.living) })
	d.table.Compact(func(k *Compaction) {
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
