package datarace

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A hitCounter counts the requests of a server by path. The total is read without the lock.
type hitCounter struct {
	mu     sync.Mutex
	byPath map[string]int
	total  int
}

func (h *hitCounter) hit(path string) {
	h.mu.Lock()
	h.byPath[path]++
	h.mu.Unlock()
	h.total++ // want race
}

type atomicHitCounter struct {
	mu     sync.Mutex
	byPath map[string]int
	total  atomic.Int64
}

func (h *atomicHitCounter) hit(path string) {
	h.mu.Lock()
	h.byPath[path]++
	h.mu.Unlock()
	h.total.Add(1)
}

func serve(hit func(string)) {
	var wg sync.WaitGroup
	for _, path := range []string{"/", "/login", "/"} {
		wg.Go(func() { hit(path) })
	}
	wg.Wait()
}

// TestHits serves requests at the same time.
func TestHits(t *testing.T) {
	serve((&hitCounter{byPath: map[string]int{}}).hit)
}

func TestHitsFixed(t *testing.T) {
	h := &atomicHitCounter{byPath: map[string]int{}}
	serve(h.hit)
	if n := h.total.Load(); n != 3 {
		t.Errorf("%d hits", n)
	}
}
