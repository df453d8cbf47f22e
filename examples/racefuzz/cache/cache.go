package main

import "sync"

// entry is a value in the cache. Once it is in the map only its age changes, which the cache's lock
// guards.
type entry struct {
	value int
	age   int
}

// cache maps keys to values for a while.
type cache struct {
	mu      sync.Mutex
	entries map[int]*entry // guarded by mu
	evicted int            // guarded by mu
}

func newCache() *cache { return &cache{entries: map[int]*entry{}} }

// get returns the entry of a key, or nil.
func (c *cache) get(key int) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e != nil {
		e.age = 0 // race:entry.touch
	}
	return e
}

// put stores a value.
func (c *cache) put(key, value int) {
	e := new(entry)
	e.value = value // race:entry.new
	e.age = 0       // race:entry.young
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = e
}

// clean increases the age of all entries and removes those that are too old.
func (c *cache) clean(limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		e.age++            // race:entry.grow
		if e.age > limit { // race:entry.old
			delete(c.entries, key)
			c.evicted++
		}
	}
}
