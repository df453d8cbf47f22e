package expirable_test

import (
	"runtime"
	"testing"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/expirable"
)

type page struct {
	url  string
	size int
}

// Goroutines pass pages to each other through caches. Evictions are callbacks.
func TestClient(t *testing.T) {
	const n = 100
	evicted := 0 // by one goroutine
	cache, err := lru.NewWithEvict(n/2, func(int, *page) { evicted++ })
	if err != nil {
		t.Fatal(err)
	}
	fresh := expirable.NewLRU[int, *page](n, nil, time.Hour)
	hits := 0 // not synchronized
	done := make(chan bool)
	go func() {
		for i := 0; i < n; i++ {
			cache.Add(i, &page{"http://example.com/", i})
			fresh.Add(i, &page{"http://example.com/fresh", i})
		}
		hits++
		done <- true
	}()
	sum := 0
	for i := 0; i < n; i++ {
		for {
			if p, ok := fresh.Get(i); ok {
				sum += p.size + len(p.url)
				break
			}
			runtime.Gosched()
		}
		if p, ok := cache.Peek(i); ok {
			sum += p.size - i
		}
	}
	hits++
	<-done
	if evicted != n-n/2 || sum < n {
		t.Error(evicted, sum)
	}
}
