// Command closer runs a pool of sessions that end for two reasons: the user logs out, or the
// session has been idle. To end a session, a goroutine tests whether it is closed, saves its log,
// and marks it closed. Each step holds the session's lock, but another goroutine can come in
// between. Then the session is closed twice and gives back its slot twice, and the pool admits more
// sessions than it has room for.
//
// No access is a data race. The file heisen.sections says that testing the mark and setting it
// belong together.
//
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/closer
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/closer -fixed
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// pool counts the free slots for sessions.
type pool struct{ free atomic.Int64 }

// session is the session of a user.
type session struct {
	pool *pool
	user string

	mu     sync.Mutex
	closed bool     // guarded by mu
	log    []string // guarded by mu
}

// close ends the session, unless it has ended.
func (s *session) close(why string) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	s.save(why) // may be slow, so without the lock
	s.mu.Lock()
	s.closed = true // the bug: another goroutine may have set it since
	s.mu.Unlock()
	s.pool.free.Add(1)
}

// closeFixed tests the mark and sets it while it holds the lock.
func (s *session) closeFixed(why string) {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	s.save(why)
	s.pool.free.Add(1)
}

// save encodes the log of the user's actions.
func (s *session) save(why string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, why)
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(s.log); err != nil {
		return 0 // strings can always be encoded
	}
	return b.Len()
}

const (
	slots    = 8
	sessions = 200
)

// run opens and closes sessions and prints how many slots are free at the end.
func run(w io.Writer, fixed bool) {
	p := new(pool)
	p.free.Store(slots)
	idle := make(chan *session, slots) // sessions for the janitor
	end := (*session).close
	if fixed {
		end = (*session).closeFixed
	}

	var working sync.WaitGroup
	working.Go(func() { // the janitor
		for s := range idle {
			end(s, "idle")
		}
	})
	for i := range sessions {
		p.free.Add(-1)
		s := &session{pool: p, user: fmt.Sprintf("user %d", i)}
		s.log = append(s.log, "login of "+s.user)
		if i%3 == 0 {
			idle <- s
		}
		for page := range 5 + i%7 {
			s.visit(fmt.Sprintf("page %d", page))
		}
		end(s, "logout")
	}
	close(idle)
	working.Wait()
	fmt.Fprintf(w, "%d slots free of %d\n", p.free.Load(), slots)
}

// visit logs that the user has visited a page.
func (s *session) visit(page string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.log = append(s.log, page)
	}
}

func main() {
	fixed := flag.Bool("fixed", false, "test and set the mark in one critical section")
	flag.Parse()
	run(os.Stdout, *fixed)
}
