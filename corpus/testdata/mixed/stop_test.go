package mixed

import (
	"sync"
	"testing"
)

// An agent collects measurements in the background until it is stopped.
type agent struct {
	mu     sync.Mutex
	wg     sync.WaitGroup
	quit   chan struct{}
	values []int
}

func (a *agent) run(values <-chan int) {
	for {
		select {
		case v := <-values:
			a.mu.Lock() // want leak, deadlock
			a.values = append(a.values, v)
			a.mu.Unlock()
		case <-a.quit:
			return
		}
	}
}

// stop waits for the background with the lock that the background may want.
func (a *agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.quit)
	a.wg.Wait()
	a.values = nil
}

func (a *agent) stopUnlocked() {
	close(a.quit)
	a.wg.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.values = nil
}

func collect(stop func(*agent)) {
	a := &agent{quit: make(chan struct{})}
	values := make(chan int, 2)
	a.wg.Go(func() { a.run(values) })
	values <- 1
	values <- 2
	stop(a)
}

// TestStop stops an agent that may have a value to store.
func TestStop(t *testing.T) { collect((*agent).stop) }

func TestStopFixed(t *testing.T) { collect((*agent).stopUnlocked) }
