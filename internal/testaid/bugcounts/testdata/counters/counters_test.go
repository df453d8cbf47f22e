package counters

import (
	"sync"
	"testing"
)

// Two counters without a lock, of which either makes the test fail.
func TestCounters(t *testing.T) {
	var some, others int
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { some++ })
		wg.Go(func() { others++ })
	}
	wg.Wait()
	if some+others != 4 {
		t.Errorf("%d and %d", some, others)
	}
}
