package lock

import (
	"sync"
	"testing"
)

// TestExclusion checks that increments and reads under the lock never interfere.
func TestExclusion(t *testing.T) {
	var l Lock
	var wg sync.WaitGroup
	n, want := 0, 0
	for i := range 8 {
		want += 2000
		wg.Go(func() {
			for j := range 2000 {
				var h Held
				if (i+j)%3 == 0 {
					h.Acquire(&l, Update, 1)
					before := n
					h.Acquire(&l, Exclusive, 2)
					n = before + 1
				} else {
					h.Acquire(&l, Exclusive, 1)
					n++
					h.Degrade(1, Shared)
					_ = n
				}
				h.Release()
			}
		})
	}
	wg.Wait()
	if n != want || l.state.Load()&^opened != 0 {
		t.Fatalf("n = %d, want %d; state %x", n, want, l.state.Load())
	}
}

// TestNoAllocation: neither a Held nor its outer one is allocated, nor anything else in a lock that has been waited
// for once.
func TestNoAllocation(t *testing.T) {
	var first, second Lock
	first.open().mu.Unlock()
	inner := func(outer *Held) {
		h := outer.Inner()
		defer h.Release()
		h.Acquire(&first, Exclusive, 1)
		h.Acquire(&second, Shared, 2)
		h.Pause()
		h.Resume()
	}
	second.open().mu.Unlock()
	var mu sync.RWMutex
	got := testing.AllocsPerRun(100, func() {
		var h Held
		defer h.Release()
		h.Acquire(&first, Update, 1)
		h.Hold(&first, Shared, 0)
		inner(&h)
		h.Degrade(1, Free)
		h.Unhold(0)
		h.LockOther(&mu)
		mu.Unlock()
		h.RLockOther(&mu)
		mu.RUnlock()
	})
	if got > 0 {
		t.Errorf("%v allocations", got)
	}
}
