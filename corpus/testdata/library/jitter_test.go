package library

import (
	"math/rand"
	"sync"
	"testing"
	"time"
)

// A retrier waits for random times. A rand.Rand may be used by one goroutine at a time.
type retrier struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (r *retrier) pause() time.Duration {
	return time.Duration(r.random.Intn(100)) * time.Millisecond // want race
}

func (r *retrier) pauseLocked() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.random.Intn(100)) * time.Millisecond
}

func retry(pause func(*retrier) time.Duration) {
	r := &retrier{random: rand.New(rand.NewSource(1))}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { time.Sleep(pause(r)) })
	}
	wg.Wait()
}

// TestJitter has two goroutines that wait.
func TestJitter(t *testing.T) { retry((*retrier).pause) }

func TestJitterFixed(t *testing.T) { retry((*retrier).pauseLocked) }
