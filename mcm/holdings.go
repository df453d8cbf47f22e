package mcm

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// holdings follows who holds which locks, for the Held of windows.
type holdings struct {
	held map[heisen.Object][]grip
}

// grip is that a thread holds a lock, so many times.
type grip struct {
	thread heisen.Thread
	shared bool
	times  int
}

func newHoldings() *holdings { return &holdings{held: map[heisen.Object][]grip{}} }

// apply takes the next event of the stream.
func (h *holdings) apply(r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		shared := r.Op == heisen.AcquireShared
		grips := h.held[r.Object]
		for i := range grips {
			if grips[i].thread == r.Thread && grips[i].shared == shared {
				grips[i].times++
				return
			}
		}
		h.held[r.Object] = append(grips, grip{r.Thread, shared, 1})
	case heisen.Release, heisen.ReleaseShared:
		if g, ok := h.released(r); ok {
			h.release(r.Object, g.thread, g.shared)
		}
	case heisen.Alloc, heisen.Free:
		if r.Value > 1<<12 || r.Value > uint64(len(h.held)) {
			for lock := range h.held {
				if lock >= r.Object && uint64(lock-r.Object) < r.Value {
					delete(h.held, lock)
				}
			}
			return
		}
		for lock := r.Object; lock < r.Object+heisen.Object(r.Value); lock++ {
			delete(h.held, lock)
		}
	}
}

// released returns the hold that a release ends: its thread's, else, for locks of Go
// have no owner, of those in the same mode the one that is listed first.
func (h *holdings) released(r *heisen.Record) (found grip, ok bool) {
	shared := r.Op == heisen.ReleaseShared
	for _, g := range h.held[r.Object] {
		if g.shared != shared {
			continue
		}
		if g.thread == r.Thread {
			return g, true
		}
		if !ok {
			found, ok = g, true
		}
	}
	return found, ok
}

// release ends a hold, once.
func (h *holdings) release(lock heisen.Object, thread heisen.Thread, shared bool) {
	grips := h.held[lock]
	for i := range grips {
		if grips[i].thread != thread || grips[i].shared != shared {
			continue
		}
		if grips[i].times--; grips[i].times == 0 {
			h.held[lock] = slices.Delete(grips, i, i+1)
		}
		if len(h.held[lock]) == 0 {
			delete(h.held, lock)
		}
		return
	}
}

// list returns what is held, in an order that depends on nothing else. A lock
// that is held several times is listed as often.
func (h *holdings) list() (list []Hold) {
	for lock, grips := range h.held {
		for _, g := range grips {
			for range g.times {
				list = append(list, Hold{lock, g.thread, g.shared})
			}
		}
	}
	slices.SortFunc(list, func(a, b Hold) int {
		switch {
		case a.Lock != b.Lock:
			return cmp.Compare(a.Lock, b.Lock)
		case a.Thread != b.Thread:
			return cmp.Compare(a.Thread, b.Thread)
		case a.Shared == b.Shared:
			return 0
		case a.Shared:
			return 1
		}
		return -1
	})
	return list
}

// canTake reports whether a thread can take a lock that is held so.
func canTake(grips []grip, thread heisen.Thread, shared bool) bool {
	for _, g := range grips {
		if g.thread != thread && !(shared && g.shared) {
			return false
		}
	}
	return true
}
