package ristretto_test

import (
	"runtime"
	"testing"

	"github.com/dgraph-io/ristretto/v2"
)

type value struct{ n, size int }

// Goroutines pass values through a cache. For each dropped value, the cache's own goroutine makes a
// callback.
func TestClient(t *testing.T) {
	const n = 100
	returned, finished := 0, 0 // finished is not synchronized
	cache, err := ristretto.NewCache(&ristretto.Config[int, *value]{
		NumCounters: 1000, MaxCost: 1 << 20, BufferItems: 64,
		OnExit: func(*value) { returned++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		for i := range n {
			for !cache.Set(i, &value{i, 2 * i}, 1) {
				runtime.Gosched()
			}
		}
		finished++
		done <- true
	}()
	sum := 0
	for i := range n {
		for {
			if v, ok := cache.Get(i); ok {
				sum += v.size - v.n
				break
			}
			runtime.Gosched()
		}
	}
	finished++
	<-done
	cache.Close()
	if sum != n*(n-1)/2 {
		t.Error(sum)
	}
}
