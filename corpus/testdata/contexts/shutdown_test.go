package contexts

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A service has a job that it does in intervals and one that it does on demand.
type service struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
	demand chan int
}

func start() *service {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{cancel: cancel, demand: make(chan int, 1)}
	s.wg.Go(func() { s.onDemand(ctx) })
	return s
}

func (s *service) onDemand(ctx context.Context) {
	for {
		select { // want leak, deadlock
		case <-s.demand:
		case <-ctx.Done():
			return
		}
	}
}

// stop cancels the jobs when they have ended.
func (s *service) stop() {
	defer s.cancel()
	s.wg.Wait() // want leak, deadlock
}

func (s *service) cancelAndStop() {
	s.cancel()
	s.wg.Wait()
}

func stopInTime(stop func(*service)) {
	s := start()
	s.demand <- 1
	stopped := make(chan struct{})
	go func() {
		stop(s)
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
	}
}

// TestShutdown stops a service and gives up after a minute.
func TestShutdown(t *testing.T) { stopInTime((*service).stop) }

func TestShutdownFixed(t *testing.T) { stopInTime((*service).cancelAndStop) }
