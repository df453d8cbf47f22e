// Command server is a web server without the web: its goroutines answer requests
// for short links that arrive on a channel. Five variables are shared without a
// lock. Accesses to them are rare or short, so the races hardly ever do harm. Two
// accesses almost never happen at the same time. It takes noise to see them
// overlap.
//
//   - routes, the table of links, which a reload replaces;
//   - served, a count that each worker adds to now and then;
//   - worst, the longest time of a request, read for each request, but rarely written;
//   - lastError, the text of the last request that failed;
//   - draining, set once, when the server stops.
//
// With -fixed a lock guards them.
//
//	heisen run -detect atomrace ./examples/server -requests 4000
//	heisen run -detect atomrace ./examples/server -requests 4000 -fixed
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// A table maps short links to their targets. It does not change after its creation.
type table map[string]string

// server answers requests.
type server struct {
	mu sync.Locker // should guard the fields below

	routes    table
	served    int
	worst     int
	lastError string
	draining  bool
}

// noLock is a lock that excludes no goroutine.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// A request is a request for a path.
type request struct {
	id   int
	path string
}

var (
	errNotFound = errors.New("no such link")
	errDraining = errors.New("server is draining")
)

// links is the number of links, linkLife the number of requests after which the table is
// loaded again. Every statusEvery-th request asks for the status, and every strayEvery-th
// one for a link that does not exist.
const (
	links       = 100
	linkLife    = 997
	statusEvery = 499
	strayEvery  = 251
)

// load returns the table of a generation.
func load(generation int) table {
	t := table{}
	for i := range links {
		t[fmt.Sprintf("/l/%d", i)] = fmt.Sprintf("https://example.com/v%d/page/%d", generation, i)
	}
	return t
}

// handle answers a request.
func (s *server) handle(r request) (answer string, err error) {
	if s.isDraining() {
		return "", errDraining
	}
	switch r.path {
	case "/reload":
		s.replace(load(r.id))
		return "loaded", nil
	case "/status":
		return s.status(), nil
	}
	target, ok := s.table()[r.path]
	if !ok {
		s.fail(fmt.Sprintf("request %d: %s: %v", r.id, r.path, errNotFound))
		return "", errNotFound
	}
	answer, took := sign(target)
	s.took(took)
	return answer, nil
}

// sign signs a target and returns the number of rounds, which is usually small.
func sign(target string) (signed string, rounds int) {
	sum := sha256.Sum256([]byte(target))
	for rounds = 20; sum[0] > 32 && rounds < 120; rounds++ {
		sum = sha256.Sum256(sum[:])
	}
	for range 20 {
		sum = sha256.Sum256(sum[:])
	}
	return target + "?sig=" + hex.EncodeToString(sum[:4]), rounds
}

func (s *server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// drain makes the server refuse further requests.
func (s *server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

func (s *server) table() table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routes
}

func (s *server) replace(t table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes = t
}

// fail stores the error of a request.
func (s *server) fail(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastError = text
}

// took stores the duration of a request.
func (s *server) took(rounds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rounds > s.worst {
		s.worst = rounds
	}
}

// add adds to the number of requests.
func (s *server) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served += n
}

// status describes the server.
func (s *server) status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d served, worst %d, last error %q", s.served, s.worst, s.lastError)
}

const (
	workers = 8
	batch   = 64 // number of requests that a worker counts before it adds them to the total
)

// totals has the outcomes of requests. Each worker has its own.
type totals struct{ answered, missing, refused int }

// work answers requests until there are no more.
func (s *server) work(requests <-chan request) (sum totals) {
	n := 0
	for r := range requests {
		switch _, err := s.handle(r); {
		case err == nil:
			sum.answered++
		case errors.Is(err, errDraining):
			sum.refused++
		default:
			sum.missing++
		}
		if n++; n == batch {
			s.add(n)
			n = 0
		}
	}
	if n > 0 {
		s.add(n)
	}
	return sum
}

// path returns the path of the n-th request.
func path(n int) string {
	switch {
	case n%linkLife == 0:
		return "/reload"
	case n%statusEvery == 0:
		return "/status"
	case n%strayEvery == 0:
		return fmt.Sprintf("/stray/%d", n)
	}
	return fmt.Sprintf("/l/%d", n*7%links)
}

// run serves requests, stops, and prints their outcomes.
func run(w io.Writer, requests int, fixed bool) {
	s := &server{mu: noLock{}, routes: load(0)}
	if fixed {
		s.mu = new(sync.Mutex)
	}
	waiting := make(chan request, 2*workers)
	sums := make([]totals, workers)
	var working sync.WaitGroup
	for i := range workers {
		working.Go(func() { sums[i] = s.work(waiting) })
	}
	for n := 1; n <= requests; n++ {
		waiting <- request{n, path(n)}
	}
	s.drain() // waiting requests are refused
	close(waiting)
	working.Wait()

	var all totals
	for _, sum := range sums {
		all.answered += sum.answered
		all.missing += sum.missing
		all.refused += sum.refused
	}
	fmt.Fprintf(w, "%d requests: %d answered, %d not found, %d refused\n", requests, all.answered, all.missing, all.refused)
	fmt.Fprintln(w, s.status())
}

func main() {
	requests := flag.Int("requests", 4000, "how many `requests` are served")
	fixed := flag.Bool("fixed", false, "guard what is shared with a lock")
	flag.Parse()
	if *requests < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "server: -requests is 0 or more, and there are no arguments")
		os.Exit(2)
	}
	run(os.Stdout, *requests, *fixed)
}
