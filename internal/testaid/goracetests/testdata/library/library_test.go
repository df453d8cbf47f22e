// Package library has pairs of functions whose accesses lie in the standard library or in
// dependencies. As in the test data of Go's race detector, a function TestRaceX has a data race, and
// TestNoRaceX does the same under a lock.
package library

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// concurrently runs the functions in goroutines of their own and waits for them.
func concurrently(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}

// A meeting lets two goroutines go on together. Much of the standard library takes memory from a
// sync.Pool, which orders whoever puts memory there before the next one who gets it. Where both
// goroutines have got theirs before they meet, that cannot order what they do next.
type meeting struct{ arrived atomic.Int32 }

// meet waits until two goroutines have called it, or for a while if only one can, under a lock.
func (m *meeting) meet() {
	m.arrived.Add(1)
	for end := time.Now().Add(20 * time.Millisecond); m.arrived.Load() < 2 && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
}

// meetingWriter meets before it writes.
type meetingWriter struct {
	meeting
	w io.Writer
}

func (m *meetingWriter) Write(p []byte) (int, error) {
	m.meet()
	return m.w.Write(p)
}

// readerFunc is an empty reader that calls a function when it is read.
type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// race calls use from two goroutines without synchronization.
func race(_ *testing.T, use func()) { concurrently(use, use) }

// noRace calls use from two goroutines under a lock.
func noRace(_ *testing.T, use func()) {
	var mu sync.Mutex
	locked := func() {
		mu.Lock()
		defer mu.Unlock()
		use()
	}
	concurrently(locked, locked)
}
