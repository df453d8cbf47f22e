package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// limits say which entries the cleaner removes.
type limits struct{ age, keys int }

// cleaner cleans a cache now and then.
type cleaner struct {
	cache *cache

	once  sync.Mutex // held by configure
	ready atomic.Bool
	limit limits // set before ready

	mu       sync.Mutex
	interval time.Duration // guarded by mu
	wake     chan struct{} // guarded by mu: closed to end the sleep
	sleeping bool          // whether wake can be closed; the bug: not guarded by mu
}

func newCleaner(c *cache, interval time.Duration) *cleaner {
	return &cleaner{cache: c, interval: interval}
}

// configure sets the limits at its first call.
func (c *cleaner) configure(keys int) {
	if c.ready.Load() {
		return
	}
	c.once.Lock()
	defer c.once.Unlock()
	if c.ready.Load() {
		return
	}
	c.limit.age = 4     // race:limit.age
	c.limit.keys = keys // race:limit.keys
	c.ready.Store(true)
}

// run cleans and sleeps forever.
func (c *cleaner) run(sleep func()) {
	for {
		if c.ready.Load() {
			if c.limit.keys > 0 { // race:clean.keys
				c.cache.clean(c.limit.age) // race:clean.age
			}
		}
		sleep()
	}
}

// sleep sleeps for the interval, or until it is woken.
func (c *cleaner) sleep() {
	c.sleeping = true // race:sleep
	wake, interval := c.prepare()
	doze(wake, interval)
	c.sleeping = false // race:wake
	c.retire()
}

// sleepFixed holds the lock whenever it sets sleeping, together with the channel.
func (c *cleaner) sleepFixed() {
	c.mu.Lock()
	c.sleeping = true
	c.wake = make(chan struct{})
	wake, interval := c.wake, c.interval
	c.mu.Unlock()
	doze(wake, interval)
	c.mu.Lock()
	c.sleeping = false
	c.wake = nil
	c.mu.Unlock()
}

// prepare makes the channel for the next sleep.
func (c *cleaner) prepare() (wake chan struct{}, interval time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = make(chan struct{})
	return c.wake, c.interval
}

// retire removes the channel of the last sleep.
func (c *cleaner) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = nil
}

// doze waits until wake is closed or the interval is over.
func doze(wake <-chan struct{}, interval time.Duration) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
}

// setInterval changes how long the cleaner sleeps, and wakes it.
func (c *cleaner) setInterval(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interval = d
	if c.sleeping { // race:interval
		close(c.wake)
	}
}
