package heal

import (
	"sync"
	"time"

	"github.com/heisen-go/heisen"
)

// HealingLocks is a Healer with a lock for each variable, which a thread holds during a visit. Visits that exclude each
// other do not overlap, with two exceptions, which Stats counts. In both the lock is taken away from a
// thread that holds it, so that no thread waits for ever:
//
//   - The holder waits, perhaps through others, for the thread that wants the lock, or for a message, which nobody
//     knows the sender of. The lock of this variable would complete a cycle, or could.
//   - The thread has waited for as long as WithPatience says. The holder has perhaps left a section on a way
//     that nobody reported.
//
// So healing locks add no deadlock. For the first rule, the program reports what it waits for: BeforeAcquire,
// AfterAcquire and Release of its own locks, BeforeWait and AfterWait around everything else that may block. What it
// does not report is covered by the second rule.
//
// A visit takes some hundred nanoseconds, and a lock that all variables share. The methods may be called by all
// threads at the same time, each for itself. The zero HealingLocks is useless; NewHealingLocks makes one.
type HealingLocks struct {
	patience time.Duration

	mu      sync.Mutex
	locks   map[heisen.Object]map[heisen.Thread]*healingHold
	owners  map[heisen.Object]map[heisen.Thread]int // of the program's locks, and how often
	waits   map[heisen.Thread]wait
	changed chan struct{} // closed when something changes; nil if nobody waits for that
	stats   HealingStats
}

// healingHold is how a thread holds a healing lock. Visits of a thread to one variable can be nested.
type healingHold struct {
	mode   Mode
	visits int
}

// wait is what a thread waits for.
type wait struct {
	kind   waitKind
	object heisen.Object
}

type waitKind uint8

const (
	forMessage waitKind = iota + 1
	forLock             // of the program
	forHealing          // the healing lock of a variable
)

// HealingStats counts what HealingLocks did.
type HealingStats struct {
	Visits   uint64 // that began
	Waited   uint64 // visits before which a thread waited
	Cycles   uint64 // locks that were taken away because of a possible cycle
	TimeOuts uint64 // locks that were taken away because a thread had waited too long
}

// NewHealingLocks returns a Healer with locks. Of the options, WithPatience has an effect.
func NewHealingLocks(opts ...HealerOption) (*HealingLocks, error) {
	c, err := healerOptions("heal.NewHealingLocks", 10*time.Second, opts)
	if err != nil {
		return nil, err
	}
	return &HealingLocks{
		patience: c.patience,
		locks:    map[heisen.Object]map[heisen.Thread]*healingHold{},
		owners:   map[heisen.Object]map[heisen.Thread]int{},
		waits:    map[heisen.Thread]wait{},
	}, nil
}

// ready reports whether h is not a zero value.
func (h *HealingLocks) ready() bool { return h.locks != nil }

// Enter waits until no other thread is in a visit that excludes v, or takes the lock away as the type says.
func (h *HealingLocks) Enter(v Visit) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Visits++
	var timer *time.Timer
	expired := false
	for {
		h.takeAway(v, expired)
		if !h.excluded(v) {
			break
		}
		if timer == nil {
			h.stats.Waited++
			timer = time.NewTimer(h.patience)
			defer timer.Stop()
			h.waits[v.Thread] = wait{forHealing, v.Object}
			defer delete(h.waits, v.Thread)
			h.change()
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			expired = true
		}
		h.mu.Lock()
	}
	holders := h.locks[v.Object]
	if holders == nil {
		holders = map[heisen.Thread]*healingHold{}
		h.locks[v.Object] = holders
	}
	if own := holders[v.Thread]; own != nil {
		own.mode = max(own.mode, v.Mode)
		own.visits++
		return
	}
	holders[v.Thread] = &healingHold{v.Mode, 1}
}

// excluded reports whether another thread holds the lock in a mode that v excludes.
func (h *HealingLocks) excluded(v Visit) bool {
	for t, other := range h.locks[v.Object] {
		if t != v.Thread && v.Mode.Excludes(other.mode) {
			return true
		}
	}
	return false
}

// takeAway takes the lock away from threads that exclude v: from all if they have had long enough, otherwise
// from those that may wait for the thread of v.
func (h *HealingLocks) takeAway(v Visit, all bool) {
	for t, other := range h.locks[v.Object] {
		switch {
		case t == v.Thread || !v.Mode.Excludes(other.mode):
			continue
		case h.mayWaitFor(t, v.Thread, map[heisen.Thread]bool{}):
			h.stats.Cycles++
		case all:
			h.stats.TimeOuts++
		default:
			continue
		}
		delete(h.locks[v.Object], t)
		h.change()
	}
}

// mayWaitFor reports whether a thread waits for another one, or for a message.
func (h *HealingLocks) mayWaitFor(t, other heisen.Thread, seen map[heisen.Thread]bool) bool {
	if t == other {
		return true
	}
	w, waits := h.waits[t]
	if !waits || seen[t] {
		return false
	}
	seen[t] = true
	switch w.kind {
	case forLock:
		for owner := range h.owners[w.object] {
			if owner != t && h.mayWaitFor(owner, other, seen) {
				return true
			}
		}
		return false
	case forHealing:
		for holder := range h.locks[w.object] {
			if holder != t && h.mayWaitFor(holder, other, seen) {
				return true
			}
		}
		return false
	}
	return true
}

// change wakes the threads that wait in Enter. The caller holds mu.
func (h *HealingLocks) change() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Leave ends a visit. It does nothing if the lock was taken away.
func (h *HealingLocks) Leave(v Visit) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := h.locks[v.Object]
	own := holders[v.Thread]
	if own == nil {
		return
	}
	if own.visits--; own.visits > 0 {
		return
	}
	delete(holders, v.Thread)
	if len(holders) == 0 {
		delete(h.locks, v.Object)
	}
	h.change()
}

// BeforeAcquire announces that a thread is about to acquire a lock of the program, in any mode.
func (h *HealingLocks) BeforeAcquire(t heisen.Thread, lock heisen.Object) {
	h.wait(t, wait{forLock, lock})
}

// AfterAcquire announces that the thread has the lock. It may be called without BeforeAcquire, after a successful
// attempt that did not wait.
func (h *HealingLocks) AfterAcquire(t heisen.Thread, lock heisen.Object) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waits, t)
	if h.owners[lock] == nil {
		h.owners[lock] = map[heisen.Thread]int{}
	}
	h.owners[lock][t]++
	h.change()
}

// Release announces that a thread releases a lock of the program.
func (h *HealingLocks) Release(t heisen.Thread, lock heisen.Object) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	owners := h.owners[lock]
	if owners[t] > 1 {
		owners[t]--
		return
	}
	delete(owners, t)
	if len(owners) == 0 {
		delete(h.owners, lock)
	}
}

// BeforeWait announces that a thread may be about to wait for another one, for anything but a lock: a channel, a
// condition, a WaitGroup, input.
func (h *HealingLocks) BeforeWait(t heisen.Thread) { h.wait(t, wait{kind: forMessage}) }

// AfterWait announces that the thread goes on.
func (h *HealingLocks) AfterWait(t heisen.Thread) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waits, t)
}

func (h *HealingLocks) wait(t heisen.Thread, w wait) {
	if !h.ready() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits[t] = w
	h.change()
}

// Stats returns the counts so far.
func (h *HealingLocks) Stats() HealingStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}
