package booking

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	f := &flight{free: 1}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { book(f) })
	}
	wg.Wait()
	if f.free < 0 {
		t.Errorf("%d seats", f.free)
	}
}
