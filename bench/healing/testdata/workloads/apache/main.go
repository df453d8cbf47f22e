// Command apache is a web server with the bugs 25520 and 44402 of Apache, and clients that send it random requests. The
// access log is a buffer without a lock, and pools of memory are kept in a list whose links are read twice.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// pool is memory for one request.
type pool struct {
	memory []byte
	users  atomic.Int32
}

// node is a pool in the list of those that are free.
type node struct {
	pool *pool
	next *node
}

type server struct {
	free  atomic.Pointer[node]
	log   buffered
	pages [][]byte
	wrong atomic.Int64

	mu    sync.Mutex
	sizes int // bytes that were sent
}

// swap is a compare and swap that returns the old value.
func swap(at *atomic.Pointer[node], old, with *node) *node {
	if at.CompareAndSwap(old, with) {
		return old
	}
	return at.Load()
}

// idle puts a pool in the list.
func (s *server) idle(p *pool) {
	n := &node{pool: p}
	for {
		n.next = s.free.Load()
		if swap(&s.free, n.next, n) == n.next {
			return
		}
	}
}

// take takes a pool from the list, or makes one.
func (s *server) take() *pool {
	for {
		n := s.free.Load()
		if n == nil {
			return &pool{memory: make([]byte, 0, 16<<10)}
		}
		if swap(&s.free, n, n.next) == n {
			n.next = nil
			return n.pool
		}
	}
}

// buffered is the access log.
type buffered struct {
	text  [4096]byte
	count int
	out   *bytes.Buffer
}

func (b *buffered) write(line []byte) {
	if b.count+len(line) > len(b.text) {
		b.flush()
	}
	at := b.count
	copy(b.text[at:], line)
	b.count = at + len(line)
}

func (b *buffered) flush() {
	b.out.Write(b.text[:b.count])
	b.count = 0
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := s.take()
	if p.users.Add(1) > 1 {
		s.wrong.Add(1)
	}
	var page int
	fmt.Sscanf(r.URL.Path, "/%d", &page)
	p.memory = append(p.memory[:0], s.pages[page%len(s.pages)]...)
	w.Write(p.memory)
	s.mu.Lock()
	s.sizes += len(p.memory)
	s.mu.Unlock()
	s.log.write(fmt.Appendf(nil, "%s %s 200 %d\n", r.Method, r.URL.Path, len(p.memory)))
	p.users.Add(-1)
	s.idle(p)
}

func main() {
	requests := flag.Int("n", 8000, "requests")
	workers := flag.Int("workers", 8, "clients")
	flag.Parse()
	s := &server{}
	s.log.out = new(bytes.Buffer)
	for i := range 64 {
		s.pages = append(s.pages, bytes.Repeat([]byte("<p>text</p>\n"), 10+i*15))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	web := &http.Server{Handler: s}
	go web.Serve(listener)
	url := "http://" + listener.Addr().String()
	var working sync.WaitGroup
	for id := range *workers {
		working.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			random := rand.New(rand.NewPCG(1, uint64(id)))
			for range *requests / *workers {
				answer, err := client.Get(fmt.Sprintf("%s/%d", url, random.IntN(1000)))
				if err != nil {
					s.wrong.Add(1)
					continue
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
	working.Wait()
	if err := web.Shutdown(context.Background()); err != nil { // handlers end after their clients
		log.Fatal(err)
	}
	s.log.flush()
	lines := 0
	for line := range bytes.Lines(s.log.out.Bytes()) {
		var page, size int
		if n, err := fmt.Sscanf(string(line), "GET /%d 200 %d\n", &page, &size); n != 2 || err != nil {
			s.wrong.Add(1)
		}
		lines++
	}
	if wrong := s.wrong.Load(); wrong > 0 || lines != *requests / *workers * *workers {
		log.Fatalf("%d lines in the log, %d errors", lines, wrong)
	}
}
