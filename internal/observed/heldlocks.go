package observed

import (
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/waitreason"
	"github.com/heisen-go/heisen/report"
)

// HeldLocks is a detector that tracks which locks each thread holds. It finds nothing.
type HeldLocks struct {
	Handler
	symbols *heisen.Symbols
	locks   map[heisen.Thread]heisen.Cursor  // of threads that hold any; only the Locks of each are used
	calls   map[heisen.Thread]heisen.Context // at the latest acquisition of each thread
	by      map[heisen.Object][]holding      // who holds each lock, by thread; nil if it has to be made
	// elsewhere means that the program tracks the locks itself: the contexts of blocked goroutines have
	// them.
	elsewhere bool
	// scheduled means that the execution has a schedule. Then it is known since when goroutines wait.
	scheduled bool
	used      *usedObjects // nil if uses are not recorded
}

// holding is a lock that a thread holds.
type holding struct {
	use
	shared bool
}

func newHeldLocks(symbols *heisen.Symbols) *HeldLocks {
	h := &HeldLocks{symbols: symbols, locks: map[heisen.Thread]heisen.Cursor{}, calls: map[heisen.Thread]heisen.Context{}}
	h.Handler = h.handle
	return h
}

// NewScheduledLocks returns one for an execution with a schedule, whose events are recorded in a mode.
func NewScheduledLocks(symbols *heisen.Symbols, mode recorder.Mode) *HeldLocks {
	h := newHeldLocks(symbols)
	h.scheduled = true
	if mode == recorder.Everything {
		h.used = newUsedObjects(symbols)
	}
	return h
}

func (h *HeldLocks) handle(r *heisen.Record) {
	if h.used != nil {
		h.used.handle(r)
	}
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		lock := heisen.HeldLock{Lock: r.Object, Shared: r.Op == heisen.AcquireShared, Site: r.Site}
		h.locks[r.Thread], h.by = h.symbols.Acquire(h.locks[r.Thread], lock), nil
		h.calls[r.Thread] = r.Context
	case heisen.Release, heisen.ReleaseShared:
		shared := r.Op == heisen.ReleaseShared
		if h.releasedBy(r.Thread, r.Object, shared) {
			return
		}
		for _, thread := range slices.Sorted(maps.Keys(h.locks)) { // another one has acquired it
			if h.releasedBy(thread, r.Object, shared) {
				return
			}
		}
	}
}

// releasedBy ends a thread's hold of a lock. It reports whether there was one.
func (h *HeldLocks) releasedBy(thread heisen.Thread, lock heisen.Object, shared bool) bool {
	c, held := h.symbols.Release(h.locks[thread], lock, shared)
	if held {
		h.locks[thread], h.by = c, nil
		if c.Locks == 0 {
			delete(h.locks, thread)
		}
	}
	return held
}

// Blocked returns where goroutines are blocked.
func (h *HeldLocks) Blocked(all []recorder.Blocked, resolver *Resolver) []report.Blocked {
	where := make([]heisen.Access, len(all))
	reasons := make([]string, len(all))
	waits := make([]*report.Wait, len(all))
	for i := range all {
		where[i], reasons[i], waits[i] = h.access(&all[i]), all[i].Reason, h.wait(&all[i], resolver)
	}
	return resolver.blocked(where, reasons, waits, h.symbols)
}

// Hold adds the locks that the threads of accesses hold now to the accesses.
func (h *HeldLocks) Hold(accesses []heisen.Access) {
	for i := range accesses {
		a := &accesses[i]
		a.Context = h.symbols.Context(heisen.Cursor{Calls: h.symbols.Cursor(a.Context).Calls, Locks: h.locks[a.Thread].Locks})
	}
}

// access returns where a goroutine is blocked, with the locks that it holds.
func (h *HeldLocks) access(b *recorder.Blocked) heisen.Access {
	context := b.Context
	if !h.elsewhere {
		calls := h.symbols.Cursor(b.Context).Calls
		context = h.symbols.Context(heisen.Cursor{Calls: calls, Locks: h.locks[b.Thread].Locks})
	}
	object := b.Object
	if strings.HasPrefix(b.Reason, "select") && !b.Unstoppable {
		object = 0 // it may wait for several, or for none
	}
	return heisen.Access{Op: waitreason.Op(b.Reason), Thread: b.Thread, Object: object, Site: b.Site, Context: context, Labels: b.Labels}
}
