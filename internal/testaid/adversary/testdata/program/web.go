package adversary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// get returns what a server answers.
func get(r *run, client *http.Client, url string) string {
	answer, err := client.Get(url)
	if !no(r, err, "get") {
		return ""
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	no(r, err, "body")
	return string(b)
}

// serve calls f in the handler of a server.
func serve(t testing.TB, f func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		f()
		io.WriteString(w, "served")
	}))
	defer s.Close()
	r := &run{TB: t}
	check(r, get(r, s.Client(), s.URL), "served", "what a server says")
}

// servers answers several clients, which keep their connections.
//
//adversary:fragment outside
func servers(r *run) {
	var served atomic.Int32
	var mu sync.Mutex
	seen := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		served.Add(1)
		mu.Lock()
		seen[q.URL.Path]++
		mu.Unlock()
		fmt.Fprint(w, "hello ", q.URL.Path)
	}))
	defer s.Close()
	var all sync.WaitGroup
	n := r.n(1, 2)
	for i := range n {
		all.Go(func() {
			for range 2 {
				path := fmt.Sprint("/", i)
				check(r, get(r, s.Client(), s.URL+path), "hello "+path, "what a server says")
			}
		})
	}
	all.Wait()
	check(r, int(served.Load()), 2*n, "requests")
	mu.Lock()
	defer mu.Unlock()
	check(r, len(seen), n, "paths")
}

// clientTimeouts has a generous timeout, which must not pass.
//
//adversary:fragment outside
func clientTimeouts(r *run) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, "x") }))
	defer s.Close()
	client := &http.Client{
		Timeout:   time.Duration(r.n(10, 60)) * time.Minute,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	check(r, get(r, client, s.URL), "x", "what a server says in time")
}

// canceledRequests gives up a request that the server holds.
//
//adversary:fragment outside
func canceledRequests(r *run) {
	arrived := make(chan bool, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		arrived <- true
		<-q.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-arrived
		cancel()
	}()
	q, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if !no(r, err, "request") {
		return
	}
	answer, err := s.Client().Do(q)
	if err == nil {
		answer.Body.Close()
	}
	check(r, errors.Is(err, context.Canceled), true, "error of a request that was canceled")
}

// streams sends pieces that the client reads one by one.
//
//adversary:fragment outside
func streams(r *run) {
	n := r.n(1, 4)
	next := make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		for i := range n {
			fmt.Fprintln(w, i)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	defer s.Close()
	answer, err := s.Client().Get(s.URL)
	if !no(r, err, "get") {
		return
	}
	defer answer.Body.Close()
	for i := range n {
		b := make([]byte, 2)
		_, err := io.ReadFull(answer.Body, b)
		no(r, err, "a piece")
		check(r, string(b), fmt.Sprintln(i), "a piece")
		next <- true
	}
}

// shutDown ends a server while a request is under way.
//
//adversary:fragment outside
func shutDown(r *run) {
	arrived, goOn := make(chan bool, 1), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		arrived <- true
		<-goOn
		io.WriteString(w, "late")
	}))
	defer s.Close()
	got := make(chan string, 1)
	go func() { got <- get(r, s.Client(), s.URL) }()
	<-arrived
	done := make(chan error, 1)
	go func() { done <- s.Config.Shutdown(context.Background()) }()
	close(goOn)
	check(r, <-got, "late", "a request during a shutdown")
	no(r, <-done, "shutdown")
}

// handlers calls a handler without a server, with a middleware that recovers.
//
//adversary:fragment bubble
func handlers(r *run) {
	mux := http.NewServeMux()
	var calls atomic.Int32
	mux.HandleFunc("GET /ok/{name}", func(w http.ResponseWriter, q *http.Request) {
		calls.Add(1)
		fmt.Fprint(w, q.PathValue("name"))
	})
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("handler") })
	safe := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				http.Error(w, fmt.Sprint(v), 500)
			}
		}()
		mux.ServeHTTP(w, q)
	})
	var all sync.WaitGroup
	n := r.n(1, 3)
	for range n {
		all.Go(func() {
			w := httptest.NewRecorder()
			safe.ServeHTTP(w, httptest.NewRequest("GET", "/ok/x", nil))
			check(r, w.Body.String(), "x", "what a handler says")
			w = httptest.NewRecorder()
			safe.ServeHTTP(w, httptest.NewRequest("POST", "/panic", strings.NewReader("body")))
			check(r, w.Code, 500, "status after a panic")
		})
	}
	all.Wait()
	check(r, int(calls.Load()), n, "calls of a handler")
}
