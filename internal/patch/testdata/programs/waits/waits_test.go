package waits

import (
	"sync"
	"testing"
)

func Test(t *testing.T) {
	j := &job{results: make(chan string, 9)}
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			j.set("a")
			j.send()
			j.first()
		}()
	}
	wg.Wait()
	if j.tries != 4 {
		t.Error(j.tries)
	}
}
