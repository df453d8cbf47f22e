package vclock

import (
	"iter"
	"slices"
	"sort"
)

// Compact makes the slots of ended threads available to new ones, so that an order does not grow
// with the number of threads that have ended. A detector calls it when Grown says so, and names
// everything that it remembers of the order:
//
//   - clocks yields the clocks that the caller has from Observed or Clock, or copies of such. It may
//     be nil. Clocks that it does not yield must not be used any more.
//   - epochs calls Keep for every epoch that the caller has from Access. It may be nil. Compact calls
//     it twice, and both times it must name the same epochs. Epochs that it does not name must not be
//     used any more.
//
// # Algorithm
//
// Some of these epochs belong to slots whose threads have ended, and may race with later accesses.
// Each is replaced by an epoch that races with the same later accesses, but belongs to one of few
// slots. The epochs that the same clocks cover are a class, and the slot and the time of one of them
// stand for the class. The slot is then sealed: no thread gets it. Its times consist of the number of
// a class among those of the slot and, in an epoch, of the thread, which Thread returns. All other slots
// of ended threads are vacant: their times are zero in all clocks, as if nobody had had them.
//
// An epoch that the clocks of all running threads cover is dropped, since nothing that these threads and
// their descendants do can race with it. If threads have begun without a Fork since the last Compact,
// which may go on, no epoch is dropped.
//
// It suffices to look at the clocks of the present. A later clock is a maximum of some of these, with
// times of slots of running threads. So two epochs of ended threads that the same clocks cover now will
// be covered by the same clocks for ever. docs/design/happens-before-in-programs.md has the proof, for the
// detector that runs inside programs.
//
// # Limits
//
// At most 4096 slots are sealed. If more classes need one, their epochs are dropped; Err then wraps
// ErrForgotten. After Compact an ended thread cannot be joined, and has no further events, without
// an error that wraps ErrEndedThread, unless there have been Joins before.
//
// # Cost
//
// Compact takes some steps for each epoch, and for each distinct block of 64 slots of all clocks as
// many steps as there are slots of ended threads in it that epochs mention.
func (o *Order) Compact(clocks iter.Seq[*Clock], epochs func(*Compaction)) {
	if o.objects == nil || o.threads.failed {
		return
	}
	k := newCompaction(o)
	k.collects = true
	if epochs != nil {
		epochs(k)
	}
	k.collects = false
	for s := range k.slots {
		k.slots[s].sort()
	}
	o.eachClock(clocks, k.weigh)
	k.addUp()
	k.classify()
	if epochs != nil {
		epochs(k)
	}
	k.rewriteBlocks()
	o.eachClock(clocks, k.settle)
	o.threads.settle(k)
	if b := o.barriers; b != nil {
		b.active = slices.DeleteFunc(b.active, func(t *thread) bool { return t.ended })
	}
}

// Grown reports whether so many threads have ended since the last Compact that another one pays. A
// detector that calls Compact whenever Grown reports true is bounded by the threads that run at a time
// and by what it remembers. It changes with Fork events and with the first events of threads only. It
// takes constant time.
func (o *Order) Grown() bool { return o.threads.grown() }

// compactLimits decide when a compaction pays, and what it keeps.
type compactLimits struct {
	slots   int // in use, below which it does not pay
	any     int // in use in addition to twice those after the last one, from which on it pays at any cost
	tenures int // as slots
	visits  int // of epochs and clocks that pay for each thread that has started
	sealed  int // the greatest number of sealed slots
	perSlot int // the number of tenures of a slot up to which all are kept
}

var defaultLimits = compactLimits{slots: 256, any: 4096, tenures: 1 << 16, visits: 400, sealed: 4096, perSlot: 8}

func (ts *threads) grown() bool {
	used := len(ts.slots) - len(ts.vacant)
	if used < ts.compactAt.slots && ts.numTenures < ts.compactAt.tenures || ts.failed {
		return false
	}
	return ts.started*ts.limits.visits >= ts.visited || used >= ts.compactAt.any
}

// planCompaction decides when the next compaction pays.
func (ts *threads) planCompaction(visited int) {
	used := len(ts.slots) - len(ts.vacant)
	ts.compactAt.slots = max(ts.limits.slots, 2*used)
	ts.compactAt.any = 2*used + ts.limits.any
	ts.compactAt.tenures = max(ts.limits.tenures, 2*ts.numTenures)
	ts.started, ts.strangers, ts.visited = 0, 0, visited
}

// Compaction is a run of Compact. It is valid during the call.
type Compaction struct {
	order    *Order
	slots    []slotUse
	collects bool
	visited  int // epochs and clocks

	running uint32     // the number of running threads
	random  uint64     // the state of a generator of weights
	vectors []*vector  // of all clocks, each once
	blocks  [][]*block // their blocks, each once, by index

	classes   map[uint64]Epoch // by coverage
	sealed    int              // slots
	forgotten uint64           // epochs without a slot for their class
}

// slotUse is what a compaction knows of a slot. Live slots are those of running threads.
type slotUse struct {
	live     bool
	vacant   bool
	sealed   bool     // before the compaction
	times    []uint64 // of the epochs in a slot that is not live; sort makes them a sorted set
	sorted   int      // so many of them are
	coverage []weight // of each of them
	to       []Epoch  // what replaces each of them, without the thread; or nothing, or tooMany
	classes  []uint64 // the least time of each class for which the slot stands, in their order
	needed   []bool   // tenures of a live slot that are needed; nil if it keeps all
}

const (
	nothing = Epoch(0)
	tooMany = Epoch(1)

	// In the times of sealed slots the number of a class, from 1 on, is above that of a thread.
	threadBits   = 32
	anyThread    = 1<<threadBits - 1
	slotsClasses = 1<<(timeBits-threadBits) - 1 // the number of classes that a slot can stand for
)

func newCompaction(o *Order) *Compaction {
	k := &Compaction{order: o, slots: make([]slotUse, len(o.threads.slots)), classes: map[uint64]Epoch{}}
	for i := range k.slots {
		s, u := &o.threads.slots[i], &k.slots[i]
		u.live = s.holder != nil && !s.holder.ended
		u.sealed = s.sealed
		if u.live {
			k.running++
			if len(s.tenures) > o.threads.limits.perSlot {
				u.needed = make([]bool, len(s.tenures))
			}
		}
	}
	for _, s := range o.threads.vacant {
		k.slots[s].vacant = true
	}
	o.pool.pass++
	return k
}

// Keep names an epoch that the caller remembers, and replaces it. It reports false if the caller is to
// forget the epoch: no later access races with it. Epochs of the same slot may become equal, or of
// different threads, and it suffices to remember the latest of them.
func (k *Compaction) Keep(e *Epoch) bool {
	if k.order == nil || e == nil {
		return false
	}
	if int(e.Slot()) >= len(k.slots) || *e == 0 {
		return true
	}
	u := &k.slots[e.Slot()]
	if k.collects {
		k.visited++
		k.collect(u, *e)
		return true
	}
	if u.live {
		return true
	}
	i, _ := slices.BinarySearch(u.times, u.timeOf(*e))
	if i == len(u.times) || u.to[i] == tooMany {
		k.forgotten++
		return false
	}
	to := u.to[i]
	if to == nothing {
		return false
	}
	*e = to | Epoch(k.order.threads.threadOf(*e))
	return true
}

// collect records that the caller remembers an epoch in the slot u.
func (k *Compaction) collect(u *slotUse, e Epoch) {
	if u.live {
		if u.needed != nil {
			u.needed[k.order.threads.tenureOf(e)] = true
		}
		return
	}
	time := u.timeOf(e)
	if n := len(u.times); n > 0 && u.times[n-1] == time {
		return
	}
	u.times = append(u.times, time)
	if len(u.times) >= 2*u.sorted+64 {
		u.sort()
	}
}

// timeOf returns the time of an epoch in the slot, the same one for all epochs of a class.
func (u *slotUse) timeOf(e Epoch) uint64 {
	if u.sealed {
		return e.Time() | anyThread
	}
	return e.Time()
}

// sort makes times a sorted set.
func (u *slotUse) sort() {
	slices.Sort(u.times)
	u.times = slices.Compact(u.times)
	u.sorted = len(u.times)
}

// upTo returns how many of some sorted times are at most t.
func upTo(times []uint64, t uint64) int {
	return sort.Search(len(times), func(i int) bool { return times[i] > t })
}

// classify finds the classes of the epochs, and what stands for each.
func (k *Compaction) classify() {
	drops := k.running > 0 && k.order.threads.strangers == 0
	for s := range k.slots {
		u := &k.slots[s]
		u.to = make([]Epoch, len(u.times))
		for i := range u.times {
			c := u.coverage[i]
			if drops && c.running == k.running {
				continue // nothing
			}
			to, known := k.classes[c.sum]
			if !known {
				to = k.represent(uint32(s), u.times[i])
				k.classes[c.sum] = to
			}
			u.to[i] = to
		}
	}
}

// represent makes a slot and a time stand for a new class, if the limits permit.
func (k *Compaction) represent(s uint32, time uint64) Epoch {
	u := &k.slots[s]
	switch {
	case len(u.classes) == slotsClasses || len(u.classes) == 0 && k.sealed >= k.order.threads.limits.sealed:
		return tooMany
	case len(u.classes) == 0:
		k.sealed++
	}
	u.classes = append(u.classes, time)
	return MakeEpoch(s, uint64(len(u.classes))<<threadBits)
}

// seal returns the time of a slot that is not live, in a clock with the given time.
func (u *slotUse) seal(time uint64) uint64 {
	if n := upTo(u.classes, time); n > 0 {
		return uint64(n)<<threadBits | anyThread
	}
	return 0
}

// sealEpoch is seal for an epoch.
func (k *Compaction) sealEpoch(e Epoch) Epoch {
	u := &k.slots[e.Slot()]
	return MakeEpoch(e.Slot(), u.seal(u.timeOf(e)))
}

// joinable reports whether a compaction keeps the clock of an ended thread for a later Join. Go programs
// have no joins, so it does not if there have been none.
func (ts *threads) joinable(t *thread) bool { return ts.joins && (!t.joined || t.id < keptClocks) }

// settle ends a compaction. Clocks and epochs no longer mention slots of ended threads.
func (ts *threads) settle(k *Compaction) {
	var ended []*thread
	ts.byID.Each(func(p **thread) {
		if t := *p; t != nil && t.ended {
			ended = append(ended, t)
		}
	})
	for _, t := range ended {
		t.ownsSlot = false
		if !ts.joinable(t) {
			ts.drop(t)
		}
	}
	ts.ended, ts.hand, ts.vacant, ts.numTenures = ts.ended[:0], 0, ts.vacant[:0], 0
	used := 0
	for i := range ts.slots {
		s, u := &ts.slots[i], &k.slots[i]
		if !u.live {
			*s = slot{sealed: len(u.classes) > 0}
		}
		s.prune(u.needed)
		ts.numTenures += len(s.tenures)
		if u.live || s.sealed {
			used = i + 1
		}
	}
	ts.sealed = k.sealed
	ts.slots = ts.slots[:used]
	ts.pool.slots = used
	for i := used - 1; i >= 0; i-- {
		if s := &ts.slots[i]; s.holder == nil && !s.sealed {
			ts.vacant = append(ts.vacant, uint32(i))
		}
	}
	ts.forgotten += k.forgotten
	ts.planCompaction(k.visited)
}

// prune drops the tenures that are not needed, except the last.
func (s *slot) prune(needed []bool) {
	if needed == nil {
		return
	}
	var kept []tenure
	for i, t := range s.tenures {
		if needed[i] || i == len(s.tenures)-1 {
			kept = append(kept, t)
		}
	}
	s.tenures = kept
}
