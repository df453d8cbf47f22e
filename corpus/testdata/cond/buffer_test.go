package cond

import (
	"sync"
	"testing"
)

// A buffer of one item has readers and writers that wait for the same condition.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	full    bool
	wake    func(*sync.Cond) // Signal wakes one, which may be one that cannot go on
}

func newBuffer(wake func(*sync.Cond)) *buffer {
	b := &buffer{wake: wake}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) put() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.full {
		b.changed.Wait() // want leak
	}
	b.full = true
	b.wake(b.changed)
}

func (b *buffer) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.full {
		b.changed.Wait() // want leak
	}
	b.full = false
	b.wake(b.changed)
}

func exchange(b *buffer) {
	for range 3 {
		go b.take()
		go b.put()
	}
}

// TestBuffer has three readers and three writers.
func TestBuffer(t *testing.T) { exchange(newBuffer((*sync.Cond).Signal)) }

func TestBufferFixed(t *testing.T) { exchange(newBuffer((*sync.Cond).Broadcast)) }
