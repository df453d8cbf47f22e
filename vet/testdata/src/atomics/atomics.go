// Package atomics has the test data of the flag atomics.
package atomics

import (
	"sync"
	"sync/atomic"
)

type T struct {
	n, lo  atomic.Int64
	closed atomic.Bool
	m      sync.Map
	mu     sync.Mutex
	x      int64
}

func (t *T) Update() {
	t.n.Store(t.n.Load() + 1) // want `lost update of t.n: the value stored is computed from the one loaded in line 18, and others may store one in between`
	n := atomic.LoadInt64(&t.x)
	atomic.StoreInt64(&t.x, 2*n) // want `lost update of t.x`
}

func (t *T) Close() {
	if t.closed.Load() {
		return
	}
	t.closed.Store(true) // want `stale check of t.closed: the test is of the value loaded in line 24, and others may store one in between`
}

func (t *T) Once() {
	if t.closed.CompareAndSwap(false, true) {
		t.n.Add(1)
	}
}

func (t *T) Put(k string) {
	if _, ok := t.m.Load(k); !ok {
		t.m.Store(k, 1) // want `stale check of t.m`
	}
}

func (t *T) Held() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lo.Store(t.lo.Load() + 1)
}
