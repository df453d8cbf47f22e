package library

import (
	"net/textproto"
	"sync"
	"testing"
	"time"
)

// Package testing writes without a lock that a test has ended, so that a goroutine that logs at the same
// time is a race. A goroutine that logs later gets a panic. The lock that both use by then orders it.
func TestNoRaceLogAfterEnd(t *testing.T) {
	var stopped sync.WaitGroup
	t.Run("ended", func(t *testing.T) {
		stopped.Go(func() {
			defer func() { recover() }()
			time.Sleep(50 * time.Millisecond)
			t.Log("late")
		})
	})
	stopped.Wait()
}

func TestNoRaceLogBeforeEnd(t *testing.T) {
	t.Run("waits", func(t *testing.T) {
		var done sync.WaitGroup
		done.Go(func() { t.Log("in time") })
		done.Wait()
	})
}

// What a sync.Once guards, here in the standard library, is read by all without a lock.
func TestNoRaceOnce(t *testing.T) {
	canonical := func() { textproto.CanonicalMIMEHeaderKey("accept-encoding") }
	concurrently(canonical, canonical, canonical, canonical)
}

func TestRaceOnce(t *testing.T) {
	var once sync.Once
	table := map[string]int{}
	use := func() {
		once.Do(func() { table["a"] = 1 })
		table["b"]++
	}
	concurrently(use, use)
}
