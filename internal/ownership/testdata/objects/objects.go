// Package objects has variables that need no lock, and some that would.
package objects

import (
	"sync"
	"sync/atomic"
	"time"
)

// point stays with the function that makes it.
type point struct {
	x int // want local
	y int // want local
}

func length() int {
	p := &point{}
	p.x = 3
	p.double()
	return p.x + p.y
}

func (p *point) double() { p.y = 2 * p.x }

// walk calls itself with its object, which nobody else knows.
type walk struct {
	steps int // want local
	known int // want unsafe: written without a lock
}

func (w *walk) step(n int) {
	w.steps++
	if n > 0 {
		w.step(n - 1)
	}
}

func (w *walk) leak(n int) {
	w.known++
	if n > 0 {
		w.leak(n - 1)
	}
	if n == 1 {
		go println(w)
	}
}

func walkAlone() int {
	w, v := &walk{}, &walk{}
	w.step(3)
	v.leak(2)
	v.known++
	return w.steps
}

// settings are read-only, and get known through a channel, a go statement and a variable with a lock.
type settings struct {
	size int       // want read-only
	next *settings // want read-only
	at   time.Time // want read-only
	mode mode      // want read-only
}

type mode uint8

type box struct {
	mu      sync.Mutex
	current *settings // want guarded by mu
}

func newSettings(size int) *settings {
	s := &settings{size: size}
	s.at = time.Now()
	if size > 3 {
		s.size = 3
	}
	s.next = new(settings)
	return s
}

func publish(b *box, c chan *settings) {
	s := newSettings(4)
	c <- s
	go func() { println(s.size, s.mode, s.next, s.at.IsZero()) }()
	b.mu.Lock()
	b.current = s
	b.mu.Unlock()
}

// careless objects get known through a variable without a lock.
type careless struct {
	size int // want unsafe: stored in objects.shared, which is race-unsafe
	zero int // want read-only
}

var shared *careless // want unsafe: written without a lock

func publishCarelessly() {
	shared = &careless{size: 1}
}

// changed is written after others know it.
type changed struct {
	n int // want unsafe: written without a lock
	m int // want unsafe: written without a lock
}

func change() {
	c := &changed{n: 1}
	go func() { println(c.n, c.m) }()
	c.n = 2
	var last *changed
	for range 2 {
		if last != nil {
			last.m = 1 // an object of the turn before, which is known by now
		}
		c := &changed{}
		go func() { println(c.m) }()
		last = c
	}
}

type counter struct {
	hits   int64 // want synchronization
	misses int64 // want unsafe: written without a lock
	flag   atomic.Bool
}

func (c *counter) count() int64 {
	atomic.AddInt64(&c.hits, 1)
	atomic.AddInt64(&c.misses, 1)
	return c.misses + atomic.LoadInt64(&c.hits)
}

// result is handed back by a variable that a literal captures.
type result struct {
	n int // want unsafe: stored in memory that is race-unsafe
}

func captured() *result {
	var r *result
	done := make(chan bool)
	go func() {
		r = &result{n: 1}
		done <- true
	}()
	<-done
	return r
}

func run() {
	b, c, n := &box{}, make(chan *settings, 9), &counter{}
	for range 2 {
		go func() {
			println(length(), walkAlone(), n.count(), captured().n)
			publish(b, c)
			publishCarelessly()
			println(shared.size, shared.zero)
			change()
		}()
	}
}

var start = run // want local
