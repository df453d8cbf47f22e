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
	if n != want || l.state.Load() != 0 {
		t.Fatalf("n = %d, want %d; state %x", n, want, l.state.Load())
	}
}
