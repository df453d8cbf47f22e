// Command program is a server of one of several shapes, with its load in the same process. Command
// bench/server/shapes measures it.
//
//	program shape requests
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// shapes has the servers by their names. Each one answers n requests.
var shapes = map[string]func(n int) error{
	"table":       table,
	"churn":       churn,
	"scan":        scan,
	"pool":        pool,
	"pipeline":    pipeline,
	"fanout":      fanout,
	"connections": connections,
	"cache":       cache,
	"http":        serveHTTP,
}

const parallel = 16 // requests at the same time

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: program shape requests"))
	}
	n, err := strconv.Atoi(os.Args[2])
	run := shapes[os.Args[1]]
	switch {
	case err != nil:
		fail(err)
	case run == nil:
		fail(fmt.Errorf("no shape %q", os.Args[1]))
	}
	if err := run(n); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "program:", err)
	os.Exit(2)
}

// load calls request with the numbers below n, from several goroutines.
func load(n int, request func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				request(int(i))
			}
		})
	}
	all.Wait()
}

// An entry is what the servers look up.
type entry struct {
	name  string
	price int
	tags  [2]int
}

// entries returns a table that is filled once.
func entries(n int) []entry {
	t := make([]entry, n)
	for i := range t {
		t[i] = entry{name: "entry " + strconv.Itoa(i), price: i, tags: [2]int{i, -i}}
	}
	return t
}

// sum reads some entries that lie apart.
func sum(t []entry, from, count int) (s int) {
	for k := range count {
		e := t[(from*131+k*257)%len(t)]
		s += e.price + len(e.name) + e.tags[k&1]
	}
	return s
}

// table starts five goroutines for each request, which waits for them. They look up entries of a
// table of 4,096.
func table(n int) error {
	t := entries(4096)
	load(n, func(i int) {
		parts := make(chan int, 5)
		for k := range 5 {
			go func() { parts <- sum(t, 5*i+k, 16) }()
		}
		for range 5 {
			<-parts
		}
	})
	return nil
}

// churn is table, but nobody waits for two of the five goroutines.
func churn(n int) error {
	t := entries(4096)
	var done atomic.Int64
	load(n, func(i int) {
		parts := make(chan int, 3)
		for k := range 2 {
			go func() { done.Add(int64(sum(t, 5*i+k, 16) & 1)) }()
		}
		for k := range 3 {
			go func() { parts <- sum(t, 5*i+k, 16) }()
		}
		for range 3 {
			<-parts
		}
	})
	return nil
}

// scan goes through a table from its start to its end in a goroutine for each request.
func scan(n int) error {
	t := entries(512)
	load(n, func(int) {
		done := make(chan int)
		go func() {
			s := 0
			for i := range t {
				s += t[i].price
			}
			done <- s
		}()
		<-done
	})
	return nil
}

// pool has workers that count what they are asked for.
func pool(n int) error {
	type job struct {
		i     int
		reply chan int
	}
	t, jobs := entries(4096), make(chan job, parallel)
	var shards [16]struct {
		sync.Mutex
		hits map[int]int
	}
	for i := range shards {
		shards[i].hits = map[int]int{}
	}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for j := range jobs {
				s := &shards[j.i%len(shards)]
				s.Lock()
				s.hits[j.i%512]++
				s.Unlock()
				j.reply <- sum(t, j.i, 16)
			}
		})
	}
	load(n, func(i int) {
		reply := make(chan int, 1)
		jobs <- job{i, reply}
		<-reply
	})
	close(jobs)
	workers.Wait()
	return nil
}

// pipeline passes each request through four stages of two goroutines.
func pipeline(n int) error {
	type message struct {
		i, total int
		text     string
		reply    chan int
	}
	t := entries(4096)
	first := make(chan *message, parallel)
	var all sync.WaitGroup
	in := first
	for stage := range 4 {
		from, to := in, make(chan *message, parallel)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for m := range from {
					m.total += sum(t, m.i+stage, 4)
					m.text += t[m.i%len(t)].name
					if stage == 3 {
						m.reply <- m.total + len(m.text)
					} else {
						to <- m
					}
				}
			})
		}
		all.Go(func() { both.Wait(); close(to) })
		in = to
	}
	load(n, func(i int) {
		m := &message{i: i, reply: make(chan int, 1)}
		first <- m
		<-m.reply
	})
	close(first)
	all.Wait()
	return nil
}

// fanout asks four goroutines under a context with a deadline; the first two answers suffice.
func fanout(n int) error {
	t := entries(4096)
	load(n, func(i int) {
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), entry{}, i), time.Minute)
		defer cancel()
		answers := make(chan int)
		for k := range 4 {
			go func() {
				s := sum(t, ctx.Value(entry{}).(int)+k, 8)
				select {
				case answers <- s:
				case <-ctx.Done():
				}
			}()
		}
		<-answers
		<-answers
	})
	return nil
}

// connections answers lines on 64 connections that stay.
func connections(n int) error {
	t := entries(4096)
	byName := map[string]int{}
	for i := range t {
		byName[t[i].name] = i
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		client, server := net.Pipe()
		all.Go(func() {
			lines := bufio.NewScanner(server)
			for lines.Scan() {
				fmt.Fprintf(server, "%d\n", t[byName[lines.Text()]].price)
			}
		})
		all.Go(func() {
			answers := bufio.NewReader(client)
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				io.WriteString(client, t[i%4096].name+"\n")
				if _, err := answers.ReadString('\n'); err != nil {
					return
				}
			}
			client.Close()
		})
	}
	all.Wait()
	return nil
}

// cache reads a configuration that is replaced now and then, and a map under a lock for readers, in a
// goroutine for each request.
func cache(n int) error {
	type configuration struct {
		limits map[string]int
		names  []string
	}
	configured := func(i int) *configuration {
		c := &configuration{limits: map[string]int{}}
		for k := range 64 {
			c.names = append(c.names, "limit "+strconv.Itoa(k))
			c.limits[c.names[k]] = i
		}
		return c
	}
	var current atomic.Pointer[configuration]
	current.Store(configured(0))
	var mu sync.RWMutex
	pages := map[int]string{}
	load(n, func(i int) {
		done := make(chan string, 1)
		go func() {
			c := current.Load()
			limit := c.limits[c.names[i%64]]
			mu.RLock()
			page, ok := pages[i%1000]
			mu.RUnlock()
			if !ok {
				page = strings.Repeat("page", 1+limit%8)
				mu.Lock()
				pages[i%1000] = page
				mu.Unlock()
			}
			done <- page
		}()
		<-done
		if i%5000 == 0 {
			current.Store(configured(i))
		}
	})
	return nil
}

// serveHTTP answers HTTP requests on connections that stay, within the process.
func serveHTTP(n int) error {
	listener := pipes(make(chan net.Conn))
	t := entries(4096)
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, _ := strconv.Atoi(r.URL.Query().Get("i"))
		part := make(chan int, 1)
		go func() { part <- sum(t, i, 16) }()
		fmt.Fprintf(w, "%d\n", <-part)
	})}
	go server.Serve(listener)
	client := http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: parallel,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			c, s := net.Pipe()
			listener <- s
			return c, nil
		},
	}}
	var failed atomic.Pointer[error]
	load(n, func(i int) {
		resp, err := client.Get("http://server/?i=" + strconv.Itoa(i))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err != nil {
			failed.Store(&err)
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// pipes is a listener whose connections are sent to it.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) { return <-p, nil }
func (p pipes) Close() error              { return nil }
func (p pipes) Addr() net.Addr            { return &net.UnixAddr{Name: "pipes", Net: "unix"} }
