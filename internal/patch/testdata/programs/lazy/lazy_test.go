package lazy

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	p := new(pool)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p.get()
			p.rename("a")
		}()
	}
	wg.Wait()
	if p.made != 5 {
		t.Error(p.made)
	}
}
