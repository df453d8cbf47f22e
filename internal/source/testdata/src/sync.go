package src

import (
	"sync"
	"sync/atomic"
)

type guarded struct {
	sync.Mutex
	mu    sync.RWMutex
	inner struct{ mu sync.Mutex }
	n     int64
	typed atomic.Int64
	wg    sync.WaitGroup
}

func locking(g *guarded) {
	g.Lock()            // want lock=g
	g.mu.RLock()        // want lock=g.mu
	g.inner.mu.Lock()   // want lock=g.inner.mu
	if g.mu.TryLock() { // want lock=g.mu
		defer g.mu.Unlock() // want lock=g.mu
	}
	var mu sync.Mutex
	mu.Lock() // want lock=mu
}

func atomics(g *guarded, p *int64) {
	atomic.AddInt64(&g.n, 1)  // want atomic=g.n
	_ = atomic.LoadInt64(p)   // want atomic=*p
	g.typed.Store(g.n)        // want atomic=g.typed read=g.n | g.typed
	_ = g.typed.Load()        // want atomic=g.typed
	g.n++                     // want write=g.n read=g.n
	atomic.StoreInt64(p, g.n) // want atomic=*p read=g.n
}

func waiting(g *guarded) {
	g.wg.Add(1) // want send=g.wg
	go func() {
		defer g.wg.Done() // want send=g.wg
	}()
	g.wg.Wait() // want receive=g.wg
}

// With the imported types unknown, a local variable may still be shared.
func unknown() {
	var once sync.Once
	once.Do(func() { // want send=once
		total = 1 // want write=total
	})
	x := sync.NewCond(nil)
	go func() { x = nil }() // want write=x
	x.Wait()                // want read=x
}
