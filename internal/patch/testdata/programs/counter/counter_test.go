package counter

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	c := &counter{name: "c"}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c.inc()
			_ = i + c.value()
		}()
	}
	wg.Wait()
	if c.n < 1 || c.name != "c" {
		t.Errorf("%d", c.n)
	}
}
