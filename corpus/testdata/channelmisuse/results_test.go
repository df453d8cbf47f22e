package channelmisuse

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A search has a result channel that the last of its workers closes.
type search struct {
	results chan string
	left    atomic.Int32
}

// finish counts down and looks at the count in two steps, so that two workers may think to be last.
func (s *search) finish() {
	s.left.Add(-1)
	if s.left.Load() == 0 {
		close(s.results) // want failure "close of closed channel"
	}
}

func (s *search) finishOnce() {
	if s.left.Add(-1) == 0 {
		close(s.results)
	}
}

func searchAll(finish func(*search), shards ...string) (n int) {
	s := &search{results: make(chan string, len(shards))}
	s.left.Store(int32(len(shards)))
	var wg sync.WaitGroup
	for _, shard := range shards {
		wg.Go(func() {
			s.results <- shard
			finish(s)
		})
	}
	wg.Wait()
	for range s.results {
		n++
	}
	return n
}

// TestResults searches two shards.
func TestResults(t *testing.T) {
	if n := searchAll((*search).finish, "a", "b"); n != 2 {
		t.Errorf("%d results", n)
	}
}

func TestResultsFixed(t *testing.T) {
	if n := searchAll((*search).finishOnce, "a", "b"); n != 2 {
		t.Errorf("%d results", n)
	}
}
