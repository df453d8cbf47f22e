package forgotten

import (
	"io"
	"sync"
	"testing"
)

func Test(t *testing.T) {
	s := newStore()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.set("a", i)
			s.get("a")
			s.print(io.Discard)
			s.sum()
		}()
	}
	wg.Wait()
	if len(s.m) != 1 {
		t.Error(s.m)
	}
}
