package positional

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	s := &shape{}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mirror(move(s, i))
		}()
	}
	wg.Wait()
	if s.corner.x != 6 {
		t.Error(s.corner.x)
	}
}
