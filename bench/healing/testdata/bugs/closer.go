package main

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"
)

// session is that of examples/atomicity/closer: a test and an act in two critical sections, and another one between.
type session struct {
	mu     sync.Mutex
	closed bool
	log    []string
	slots  *atomic.Int64
}

func (s *session) close() bool {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return true
	}
	pause()
	s.save()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.slots.Add(1)
	return true
}

func (s *session) save() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "closed")
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(s.log); err != nil {
		return 0
	}
	return b.Len()
}

func closer() bool {
	s := &session{slots: new(atomic.Int64)}
	together(s.close, s.close)
	return s.slots.Load() == 1
}
