package atomicity

import (
	"sync"
	"testing"
)

// A hall has seats. Its methods lock it.
type hall struct {
	mu   sync.Mutex
	free []int
}

func (h *hall) available() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.free) > 0
}

// take panics if no seat is free.
func (h *hall) take() (seat int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seat, h.free = h.free[0], h.free[1:] // want failure "out of range"
	return seat
}

// book takes a seat that was free when it looked.
func book(h *hall) (seat int, ok bool) {
	if !h.available() {
		return 0, false
	}
	return h.take(), true
}

func bookAtOnce(h *hall) (seat int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.free) == 0 {
		return 0, false
	}
	seat, h.free = h.free[0], h.free[1:]
	return seat, true
}

func bookAll(book func(*hall) (int, bool)) {
	h := &hall{free: []int{1, 2}}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { book(h) })
	}
	wg.Wait()
}

// TestSeats has three visitors for two seats.
func TestSeats(t *testing.T) { bookAll(book) }

func TestSeatsFixed(t *testing.T) { bookAll(bookAtOnce) }
