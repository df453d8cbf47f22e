package global

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {

	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			add(i)
			remember("a")
		}()
	}
	wg.Wait()
	if total < 6 || last == "" {
		t.Error(total, last)
	}
}
