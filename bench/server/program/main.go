// Command program is the server that bench/server loads. It prints its address and serves until it is
// asked to quit. Each request takes some locks and starts goroutines that nobody waits for.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// A shard is a part of the server's data.
type shard struct {
	mu   sync.Mutex
	hits map[string]int
}

type server struct {
	plant   int64 // the first request that races with the following ones; 0 if none
	planted int64 // what they race on

	requests atomic.Int64
	shards   [32]shard
	mu       sync.RWMutex
	greeting string // guarded by mu
	buffers  sync.Pool
	audit    chan string
}

func main() {
	var s server
	flag.Int64Var(&s.plant, "plant", 0, "the number of a request that races with the following ones; 0 is none")
	flag.Parse()
	if err := s.run(); err != nil {
		log.Fatal(err)
	}
}

func (s *server) run() error {
	s.greeting = "hello"
	s.buffers.New = func() any { return new([4096]byte) }
	s.audit = make(chan string, 64)
	for i := range s.shards {
		s.shards[i].hits = map[string]int{}
	}
	go func() {
		lines := 0
		for range s.audit {
			lines++
		}
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("%d %s\n", os.Getpid(), listener.Addr())
	http.HandleFunc("/work", s.work)
	http.HandleFunc("/quit", func(w http.ResponseWriter, r *http.Request) { listener.Close() })
	if err := http.Serve(listener, nil); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// work handles a request.
func (s *server) work(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	if s.plant != 0 && n >= s.plant {
		s.planted = n
	}
	user := r.URL.Query().Get("user")
	go s.count(user)
	go func() { s.audit <- user }()
	if n%1000 == 0 {
		s.mu.Lock()
		s.greeting = "hello " + strconv.FormatInt(n, 10)
		s.mu.Unlock()
	}
	done := make(chan []byte, 1)
	go s.render(user, done)
	select {
	case page := <-done:
		w.Write(page)
	case <-r.Context().Done():
	}
}

// count counts a visit.
func (s *server) count(user string) {
	h := 0
	for _, c := range user {
		h = 31*h + int(c)
	}
	d := &s.shards[uint(h)%uint(len(s.shards))]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hits[user]++
}

// render makes the page for a user.
func (s *server) render(user string, done chan<- []byte) {
	s.mu.RLock()
	greeting := s.greeting
	s.mu.RUnlock()
	b := s.buffers.Get().(*[4096]byte)
	defer s.buffers.Put(b)
	page := fmt.Appendf(b[:0], "%s, %s\n", greeting, user)
	done <- append([]byte(nil), page...)
}
