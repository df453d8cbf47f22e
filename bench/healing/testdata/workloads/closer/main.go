// Command closer has sessions of a chat that are closed by their client and by a clock. Closing tests and acts in two
// critical sections, so that a session may be closed twice. This is no data race.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log"
	"sync"
	"sync/atomic"
)

type message struct {
	From, To, Text string
	Number         int
}

type session struct {
	mu     sync.Mutex
	closed bool
	log    []string
	sent   int
	slots  *atomic.Int64
}

// send takes a message apart, and puts another one together.
func (s *session) send(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	var got message
	if err := json.Unmarshal(text, &got); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got.Number%8 == 0 {
		s.log = append(s.log, got.Text)
	}
	s.sent++
}

func (s *session) close() {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	s.save()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.slots.Add(1)
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

func main() {
	sessions := flag.Int("n", 2000, "sessions")
	workers := flag.Int("workers", 8, "goroutines")
	flag.Parse()
	slots := new(atomic.Int64)
	expired := make(chan *session, *workers)
	var clients, clock sync.WaitGroup
	for range *workers / 2 {
		clock.Go(func() {
			for s := range expired {
				s.close()
			}
		})
	}
	each := *sessions / *workers
	for range *workers {
		clients.Go(func() {
			for range each {
				s := &session{slots: slots}
				for i := range 40 {
					s.send(message{"ann", "bob", "How are you today?", i})
				}
				expired <- s
				s.close()
			}
		})
	}
	clients.Wait()
	close(expired)
	clock.Wait()
	if got, want := slots.Load(), int64(each**workers); got != want {
		log.Fatalf("%d slots are free after %d sessions", got, want)
	}
}
