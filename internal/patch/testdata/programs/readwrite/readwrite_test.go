package readwrite

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	c := &cache{pages: map[string]string{}}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if i == 0 {
				c.set("a", "b")
				c.drop("a")
				return
			}
			c.get("a")
			c.size()
		}()
	}
	wg.Wait()
	if c.hits > 4 {
		t.Error(c.hits)
	}
}
