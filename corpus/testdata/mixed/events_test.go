package mixed

import (
	"sync"
	"testing"
)

// A monitor sends events and counts them. Its state is guarded by a lock.
type monitor struct {
	mu     sync.Mutex
	events chan string
	sent   int
	seen   int
}

// report sends while it has the lock that the receiver wants.
func (m *monitor) report(event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent++
	m.events <- event // want leak, deadlock
}

func (m *monitor) reportUnlocked(event string) {
	m.mu.Lock()
	m.sent++
	m.mu.Unlock()
	m.events <- event
}

func (m *monitor) watch() {
	for range m.events {
		m.mu.Lock() // want leak, deadlock
		m.seen++
		m.mu.Unlock()
	}
}

func monitorAll(report func(*monitor, string)) {
	m := &monitor{events: make(chan string)}
	go m.watch()
	var wg sync.WaitGroup
	for _, event := range []string{"start", "stop"} {
		wg.Go(func() { report(m, event) })
	}
	wg.Wait()
	close(m.events)
}

// TestEvents reports two events at the same time.
func TestEvents(t *testing.T) { monitorAll((*monitor).report) }

func TestEventsFixed(t *testing.T) { monitorAll((*monitor).reportUnlocked) }
