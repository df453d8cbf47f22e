// Package lostupdate has the test data of the analyzer lostupdate.
package lostupdate

import (
	"sync"
	"sync/atomic"
)

type Counter struct {
	mu    sync.Mutex
	other sync.Mutex
	rw    sync.RWMutex
	n     int
	gen   int
	list  []int
	m     map[string]int
	free  *node
	hits  atomic.Int64
}

type node struct{ next *node }

var (
	mu    sync.Mutex
	total int
)

func work(int) int { return 1 }

func (c *Counter) Get() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *Counter) Set(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n = n // want `lost update of c.n: its new value is computed from the one in line 33, but mu is released in between`
}

func (c *Counter) Accessors() { c.Set(c.Get() + 1) }

func (c *Counter) InOneFunction() {
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	n = n*2 + work(n)
	c.mu.Lock()
	c.n = n // want `lost update of c.n`
	c.mu.Unlock()
}

func (c *Counter) Elements(k string, x int) {
	c.rw.RLock()
	v, list := c.m[k], c.list
	c.rw.RUnlock()
	c.rw.Lock()
	defer c.rw.Unlock()
	c.m[k] = v + 1           // want `lost update of c.m: .* but rw is released`
	c.list = append(list, x) // want `lost update of c.list`
}

func PackageLevel() {
	mu.Lock()
	n := total
	mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	total = n + 1 // want `lost update of total: .* but mu is released`
}

func (c *Counter) Default(k string) {
	v, ok := c.look(k)
	if !ok {
		v = 100
	}
	c.rw.Lock()
	c.m[k] = v + 1 // want `lost update of c.m`
	c.rw.Unlock()
}

func (c *Counter) look(k string) (int, bool) {
	c.rw.RLock()
	defer c.rw.RUnlock()
	v, ok := c.m[k]
	return v, ok
}

// One critical section.
func (c *Counter) Held() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	n = work(n)
	c.n = n
}

// Another lock is held all the time.
func (c *Counter) HeldByOther() {
	c.other.Lock()
	defer c.other.Unlock()
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	c.mu.Lock()
	c.n = n + 1
	c.mu.Unlock()
}

// The caller holds a lock all the time.
func (c *Counter) Calls() {
	c.other.Lock()
	defer c.other.Unlock()
	c.called()
}

func (c *Counter) called() {
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	c.mu.Lock()
	c.n = n + 1
	c.mu.Unlock()
}

// The second critical section reads the variable again.
func (c *Counter) Optimistic() bool {
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	next := work(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n != n {
		return false
	}
	c.n = n + next
	return true
}

// It decides by another variable.
func (c *Counter) Generation() {
	c.mu.Lock()
	n, gen := c.n, c.gen
	c.mu.Unlock()
	n++
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen != gen {
		return
	}
	c.n = n
	c.gen++
}

// The list is pushed to as it is then.
func (c *Counter) Push() {
	c.mu.Lock()
	x := c.free
	if x == nil {
		c.mu.Unlock()
		return
	}
	c.free = x.next
	c.mu.Unlock()
	c.mu.Lock()
	x.next = c.free
	c.free = x
	c.mu.Unlock()
}

// Different locks, different elements, and a value from elsewhere.
func (c *Counter) Others(k, l string) {
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	c.rw.Lock()
	v := c.m[k]
	c.n = n + 1
	c.rw.Unlock()
	c.rw.Lock()
	c.m[l] = v + 1
	c.rw.Unlock()
	c.mu.Lock()
	c.n = 7
	c.mu.Unlock()
}

// A value from one object, written to another one.
func Copy(from, to *Counter) {
	from.mu.Lock()
	n := from.n
	from.mu.Unlock()
	to.mu.Lock()
	to.n = n + 1
	to.mu.Unlock()
}

// A computed value fills a cache.
func (c *Counter) Cached(k string) int {
	c.rw.RLock()
	v := c.m[k]
	c.rw.RUnlock()
	if v == 0 {
		v = work(len(k))
	}
	c.rw.Lock()
	c.m[k] = v
	c.rw.Unlock()
	return v
}

// Atomic operations are reported with a flag only.
func (c *Counter) Atomic() { c.hits.Store(c.hits.Load() + 1) }

// Nobody else can reach this counter.
func Local() int {
	var c Counter
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	c.mu.Lock()
	c.n = n + 1
	c.mu.Unlock()
	return c.n
}
