// Package booking takes a seat if one is free, in two steps.
package booking

import "sync"

type flight struct {
	mu   sync.Mutex
	free int
}

func (f *flight) seats() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.free
}

func (f *flight) take() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free--
}

func book(f *flight) bool {
	if f.seats() > 0 {
		f.take()
		return true
	}
	return false
}
