package waitgroupmisuse

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A request ends when it is answered or when it is canceled.
type request struct {
	pending *sync.WaitGroup
	ended   atomic.Bool
}

// end may be called by two goroutines that both have seen that the request has not ended.
func (r *request) end() {
	if !r.ended.Load() {
		r.ended.Store(true)
		r.pending.Done() // want failure "negative WaitGroup counter"
	}
}

func (r *request) endOnce() {
	if r.ended.CompareAndSwap(false, true) {
		r.pending.Done()
	}
}

func cancelDuring(end func(*request)) {
	var wg sync.WaitGroup
	r := &request{pending: &wg}
	wg.Add(1)
	done := make(chan struct{})
	for range 2 { // answer and cancellation
		go func() {
			end(r)
			done <- struct{}{}
		}()
	}
	wg.Wait()
	<-done
	<-done
}

// TestRequests cancels a request that is answered at the same time.
func TestRequests(t *testing.T) { cancelDuring((*request).end) }

func TestRequestsFixed(t *testing.T) { cancelDuring((*request).endOnce) }
