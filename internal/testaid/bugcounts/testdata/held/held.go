package held

import "sync"

// board takes reports with its lock held.
type board struct {
	mu      sync.Mutex
	reports chan int
	seen    int
}

func (b *board) read() {
	for n := range b.reports {
		b.mu.Lock()
		b.seen += n
		b.mu.Unlock()
	}
}
