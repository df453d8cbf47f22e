// Command config serves requests with a pool of workers that share a
// configuration. The first worker loads it, with double-checked locking: the
// first check reads the pointer without the lock. A worker that finds the pointer
// set is not guaranteed to see the configuration that it points to.
//
//	heisen run ./examples/config
//	heisen run ./examples/config -fixed
package main

import (
	"flag"
	"fmt"
	"sync"
	"time"
)

// settings is the configuration of the workers.
type settings struct {
	greeting string
	retries  int
}

func load() *settings {
	s := new(settings)
	s.greeting = "hello"
	s.retries = 3
	return s
}

// A cache holds the settings after the first request for them.
type cache struct {
	mu     sync.Mutex
	loaded *settings // guarded by mu
}

// get loads the settings at the first call.
func (c *cache) get() *settings {
	if c.loaded == nil { // the bug: reads without the lock
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.loaded == nil {
			c.loaded = load()
		}
	}
	return c.loaded
}

// getFixed holds the lock for every access.
func (c *cache) getFixed() *settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil {
		c.loaded = load()
	}
	return c.loaded
}

// A request is a request with its time of arrival.
type request struct {
	name string
	at   time.Duration
}

var requests = []request{
	{"ann", 0},
	{"bob", 250 * time.Millisecond},
	{"eve", 500 * time.Millisecond},
}

// handle answers one request.
func handle(get func() *settings, r request) string {
	s := get()
	return fmt.Sprintf("%s %s (%d retries)", s.greeting, r.name, s.retries)
}

func main() {
	fixed := flag.Bool("fixed", false, "look at the settings with the lock only")
	flag.Parse()
	c := new(cache)
	get := c.get
	if *fixed {
		get = c.getFixed
	}

	answers := make([]string, len(requests))
	var workers sync.WaitGroup
	for i, r := range requests {
		workers.Add(1)
		go func() {
			defer workers.Done()
			time.Sleep(r.at)
			answers[i] = handle(get, r)
		}()
	}
	workers.Wait()
	for _, a := range answers {
		fmt.Println(a)
	}
}
