package library

import (
	"testing"
	"time"
)

// A scheduler runs a job later and logs it.
type scheduler struct {
	log  func(...any)
	wait chan struct{}
}

func (s *scheduler) schedule(job string, after time.Duration) {
	time.AfterFunc(after, func() {
		s.log("ran", job) // want failure "after TestLateLog has completed", race
		close(s.wait)
	})
}

// TestLateLog does not wait for the job, which logs by the test.
func TestLateLog(t *testing.T) {
	s := &scheduler{log: t.Log, wait: make(chan struct{})}
	s.schedule("backup", time.Second)
	select {
	case <-s.wait:
	case <-time.After(time.Second):
	}
}

func TestLateLogFixed(t *testing.T) {
	s := &scheduler{log: t.Log, wait: make(chan struct{})}
	s.schedule("backup", time.Second)
	<-s.wait
}
