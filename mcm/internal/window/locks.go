package window

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// Locks follows which threads hold which locks, to find Window.Held.
type Locks struct {
	Held map[heisen.Object][]Holder // without entries for locks that are not held
}

// Holder is a thread that holds a lock.
type Holder struct {
	Thread heisen.Thread
	Shared bool
	Times  int // acquisitions without a release
}

// NewLocks returns Locks where no lock is held.
func NewLocks() *Locks { return &Locks{Held: map[heisen.Object][]Holder{}} }

// Apply takes the next event of the stream. An allocation ends the holds of the locks in its memory.
func (h *Locks) Apply(r *heisen.Record) {
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		shared := r.Op == heisen.AcquireShared
		holders := h.Held[r.Object]
		for i := range holders {
			if holders[i].Thread == r.Thread && holders[i].Shared == shared {
				holders[i].Times++
				return
			}
		}
		h.Held[r.Object] = append(holders, Holder{r.Thread, shared, 1})
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

// Released returns the hold that a release ends: that of its thread, or else the first one in the
// same mode, since any goroutine may unlock a lock of Go.
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

// Release undoes one acquisition of a thread's hold, if there is such a hold.
func (h *Locks) Release(lock heisen.Object, thread heisen.Thread, shared bool) {
	holders := h.Held[lock]
	for i := range holders {
		if holders[i].Thread != thread || holders[i].Shared != shared {
			continue
		}
		if holders[i].Times--; holders[i].Times == 0 {
			h.Held[lock] = slices.Delete(holders, i, i+1)
		}
		if len(h.Held[lock]) == 0 {
			delete(h.Held, lock)
		}
		return
	}
}

// List returns the locks that are held, sorted by lock, thread and mode. A lock that a thread
// acquired several times is listed as often.
func (h *Locks) List() (list []HeldLock) {
	for lock, holders := range h.Held {
		for _, g := range holders {
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

// CanAcquire reports whether a thread can acquire a lock with these holders. A thread can acquire a
// lock again that it holds.
func CanAcquire(holders []Holder, thread heisen.Thread, shared bool) bool {
	for _, g := range holders {
		if g.Thread != thread && !(shared && g.Shared) {
			return false
		}
	}
	return true
}
