// Package readwrite has a cache behind a sync.RWMutex.
package readwrite

import "sync"

type cache struct {
	mu    sync.RWMutex // guards pages
	pages map[string]string
	hits  int
}

func (c *cache) get(name string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.hits++ // the bug: others read at the same time
	return c.pages[name]
}

func (c *cache) set(name, page string) {
	c.mu.Lock()
	c.pages[name] = page
	c.mu.Unlock()
}

func (c *cache) size() int { return len(c.pages) }

func (c *cache) drop(name string) {
	delete(c.pages, name)
}
