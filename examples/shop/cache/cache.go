// Package cache is a cache that loads on demand.
package cache

import "sync"

// Cache keeps the results of load.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	items map[K]V
	load  func(K) (V, error)
	loads int
}

// New makes a cache.
func New[K comparable, V any](load func(K) (V, error)) *Cache[K, V] {
	return &Cache[K, V]{items: map[K]V{}, load: load}
}

func (c *Cache[K, V]) lookup(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.items[key]
	return v, ok
}

func (c *Cache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items[key] = v
	c.loads++
}

// Get loads a key at most once.
func (c *Cache[K, V]) Get(key K) (V, error) {
	if v, ok := c.lookup(key); ok {
		return v, nil
	}
	v, err := c.load(key)
	if err != nil {
		return v, err
	}
	c.put(key, v)
	return v, nil
}

// Loads is the number of loads.
func (c *Cache[K, V]) Loads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loads
}
