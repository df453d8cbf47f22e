package xsync_test

import (
	"runtime"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"
)

type item struct {
	key   int
	value string
}

// Goroutines pass items through a map and a queue. The counts of items are separate.
func TestClient(t *testing.T) {
	const n = 200
	m := xsync.NewMap[int, *item]()
	q := xsync.NewMPMCQueue[*item](n)
	lost := 0 // not synchronized
	done := make(chan bool)
	go func() {
		for i := range n {
			m.Store(i, &item{i, "of the map"})
			for !q.TryEnqueue(&item{i, "of the queue"}) {
				runtime.Gosched()
			}
		}
		lost++
		done <- true
	}()
	sum := 0
	for i := range n {
		for {
			if it, ok := m.Load(i); ok {
				sum += it.key + len(it.value)
				break
			}
			runtime.Gosched()
		}
		for {
			if it, ok := q.TryDequeue(); ok {
				sum += it.key + len(it.value)
				break
			}
			runtime.Gosched()
		}
	}
	lost++
	<-done
	if sum != n*(n-1)+10*n+12*n {
		t.Error(sum)
	}
}
