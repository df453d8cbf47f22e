package library

import (
	"sync"
	"testing"
	"time"
)

// A keepAlive closes a connection that was idle for too long.
type keepAlive struct {
	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// begin starts the timer. Its function may run before the timer is in the field.
func (k *keepAlive) begin(idle time.Duration) {
	k.timer = time.AfterFunc(idle, func() { // want race
		k.closed = true
		k.timer.Stop() // want race
	})
}

func (k *keepAlive) beginLocked(idle time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(idle, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.closed = true
		k.timer.Stop()
	})
}

func idle(begin func(*keepAlive, time.Duration)) {
	begin(new(keepAlive), time.Millisecond)
	time.Sleep(time.Second)
}

// TestTimer lets a connection be idle for a second.
func TestTimer(t *testing.T) { idle((*keepAlive).begin) }

func TestTimerFixed(t *testing.T) { idle((*keepAlive).beginLocked) }
