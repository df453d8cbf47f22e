package held

import (
	"testing"
	"time"
)

// The reader wants the lock that the one holds who wants to tell it more.
func TestBoard(t *testing.T) {
	b := &board{reports: make(chan int)}
	go b.read()
	go func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reports <- 1
		b.reports <- 2
	}()
	time.Sleep(50 * time.Millisecond)
}
