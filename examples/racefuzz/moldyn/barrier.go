package main

import "sync"

// barrier makes goroutines wait until all have arrived.
type barrier struct {
	mu      sync.Mutex
	all     *sync.Cond
	missing int // guarded by mu
	round   int // guarded by mu
}

func newBarrier() *barrier {
	b := &barrier{missing: workers}
	b.all = sync.NewCond(&b.mu)
	return b
}

// wait returns when all workers have called it.
func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing--; b.missing == 0 {
		b.missing = workers
		b.round++
		b.all.Broadcast()
		return
	}
	for round := b.round; b.round == round; {
		b.all.Wait()
	}
}
