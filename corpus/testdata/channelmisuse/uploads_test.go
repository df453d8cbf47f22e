package channelmisuse

import (
	"sync"
	"testing"
)

// An uploader has producers that enqueue files, and is closed when the user quits.
type uploader struct {
	mu     sync.RWMutex
	closed bool
	queue  chan string
}

// enqueue sends after it has released the lock under which it looked.
func (u *uploader) enqueue(file string) bool {
	u.mu.RLock()
	closed := u.closed
	u.mu.RUnlock()
	if closed {
		return false
	}
	u.queue <- file // want failure "send on closed channel", race
	return true
}

func (u *uploader) enqueueLocked(file string) bool {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.closed {
		return false
	}
	u.queue <- file
	return true
}

func (u *uploader) quit() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	close(u.queue) // want race
}

func quitDuring(enqueue func(*uploader, string) bool) {
	u := &uploader{queue: make(chan string, 4)}
	var wg sync.WaitGroup
	wg.Go(func() { enqueue(u, "a") })
	wg.Go(func() { enqueue(u, "b") })
	wg.Go(u.quit)
	wg.Wait()
}

// TestUploads quits while files are enqueued.
func TestUploads(t *testing.T) { quitDuring((*uploader).enqueue) }

func TestUploadsFixed(t *testing.T) { quitDuring((*uploader).enqueueLocked) }
