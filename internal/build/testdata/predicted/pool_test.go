package predicted

import (
	"runtime"
	"sync"
	"testing"
)

type box struct{ apart int }

// TestPool: a Get comes after the Put of the same element, and not after Puts of others.
func TestPool(t *testing.T) {
	var meet int
	var pool sync.Pool
	var wg sync.WaitGroup
	wg.Go(func() {
		b := &box{}
		b.apart = 1
		pool.Put(b)
		meet++
	})
	wg.Go(func() {
		runtime.Gosched()
		if b, ok := pool.Get().(*box); ok {
			b.apart++
			pool.Put(b)
		}
		meet++
	})
	wg.Wait()
	if b, ok := pool.Get().(*box); ok {
		b.apart++
	}
}

// TestPoolOfBuffers: goroutines return their buffers to the pool.
func TestPoolOfBuffers(t *testing.T) {
	var meet int
	pool := sync.Pool{New: func() any { return new(box) }}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 3 {
				b := pool.Get().(*box)
				b.apart++
				runtime.Gosched()
				b.apart++
				pool.Put(b)
			}
			meet++
		})
	}
	wg.Wait()
}
