package waitgroup

import (
	"sync"
	"testing"
)

// A crawl visits each page of a site once.
type crawl struct {
	wg      sync.WaitGroup
	mu      sync.Mutex
	visited map[string]bool
}

var links = map[string][]string{"/": {"/a", "/b"}, "/a": {"/"}, "/b": {"/a"}}

// visit counts the links that it finds before it knows which of them are new.
func (c *crawl) visit(page string) {
	defer c.wg.Done()
	c.wg.Add(len(links[page]))
	for _, l := range links[page] {
		if c.first(l) {
			go c.visit(l)
		}
	}
}

func (c *crawl) visitNew(page string) {
	defer c.wg.Done()
	for _, l := range links[page] {
		if c.first(l) {
			c.wg.Add(1)
			go c.visitNew(l)
		}
	}
}

func (c *crawl) first(page string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.visited[page]
	c.visited[page] = true
	return !seen
}

func crawlSite(visit func(*crawl, string)) {
	c := &crawl{visited: map[string]bool{"/": true}}
	c.wg.Add(1)
	go visit(c, "/")
	go func() {
		c.wg.Wait() // want leak
		c.mu.Lock()
		defer c.mu.Unlock()
		clear(c.visited)
	}()
}

// TestCrawl visits a site with links that lead back.
func TestCrawl(t *testing.T) { crawlSite((*crawl).visit) }

func TestCrawlFixed(t *testing.T) { crawlSite((*crawl).visitNew) }
