package window

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// Locks follows who holds which locks, for the Held of windows.
type Locks struct {
	Held map[heisen.Object][]Holder
}

// Holder is that a thread holds a lock, so many times.
type Holder struct {
	Thread heisen.Thread
	Shared bool
	Times  int
}

func NewLocks() *Locks { return &Locks{Held: map[heisen.Object][]Holder{}} }

// Apply takes the next event of the stream.
func (h *Locks) Apply(r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		shared := r.Op == heisen.AcquireShared
		grips := h.Held[r.Object]
		for i := range grips {
			if grips[i].Thread == r.Thread && grips[i].Shared == shared {
				grips[i].Times++
				return
			}
		}
		h.Held[r.Object] = append(grips, Holder{r.Thread, shared, 1})
	case heisen.Release, heisen.ReleaseShared:
		if g, ok := h.Released(r); ok {
			h.Release(r.Object, g.Thread, g.Shared)
		}
	case heisen.Alloc, heisen.Free:
		if r.Value > 1<<12 || r.Value > uint64(len(h.Held)) {
			for lock := range h.Held {
				if lock >= r.Object && uint64(lock-r.Object) < r.Value {
					delete(h.Held, lock)
				}
			}
			return
		}
		for lock := r.Object; lock < r.Object+heisen.Object(r.Value); lock++ {
			delete(h.Held, lock)
		}
	}
}

// Released returns the hold that a release ends: its thread's, else, for locks of Go
// have no owner, of those in the same mode the one that is listed first.
func (h *Locks) Released(r *heisen.Record) (found Holder, ok bool) {
	shared := r.Op == heisen.ReleaseShared
	for _, g := range h.Held[r.Object] {
		if g.Shared != shared {
			continue
		}
		if g.Thread == r.Thread {
			return g, true
		}
		if !ok {
			found, ok = g, true
		}
	}
	return found, ok
}

// Release ends a hold, once.
func (h *Locks) Release(lock heisen.Object, thread heisen.Thread, shared bool) {
	grips := h.Held[lock]
	for i := range grips {
		if grips[i].Thread != thread || grips[i].Shared != shared {
			continue
		}
		if grips[i].Times--; grips[i].Times == 0 {
			h.Held[lock] = slices.Delete(grips, i, i+1)
		}
		if len(h.Held[lock]) == 0 {
			delete(h.Held, lock)
		}
		return
	}
}

// List returns what is held, in an order that depends on nothing else. A lock
// that is held several times is listed as often.
func (h *Locks) List() (list []HeldLock) {
	for lock, grips := range h.Held {
		for _, g := range grips {
			for range g.Times {
				list = append(list, HeldLock{lock, g.Thread, g.Shared})
			}
		}
	}
	slices.SortFunc(list, func(a, b HeldLock) int {
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

// CanAcquire reports whether a thread can take a lock that is held so.
func CanAcquire(grips []Holder, thread heisen.Thread, shared bool) bool {
	for _, g := range grips {
		if g.Thread != thread && !(shared && g.Shared) {
			return false
		}
	}
	return true
}
