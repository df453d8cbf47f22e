package helper

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	q := &queue{limit: 100}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			q.put(i)
			q.putTwo(i, i)
			q.restart()
		}()
	}
	wg.Wait()
	if len(q.items) != 16 {
		t.Error(q.items)
	}
}
