package rwmutex

import (
	"sync"
	"testing"
)

// A catalog is read by many and changed by few.
type catalog struct {
	mu     sync.RWMutex
	prices map[string]int
}

func (c *catalog) price(item string) int {
	c.mu.RLock() // want deadlock, leak
	defer c.mu.RUnlock()
	return c.prices[item]
}

// sum takes the read lock again for each item. A writer that waits between the two keeps the second one
// waiting.
func (c *catalog) sum(items ...string) (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, item := range items {
		n += c.price(item)
	}
	return n
}

// sumLocked looks the prices up under the lock that it has.
func (c *catalog) sumLocked(items ...string) (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, item := range items {
		n += c.prices[item]
	}
	return n
}

func (c *catalog) set(item string, price int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prices[item] = price
}

func changeDuring(c *catalog, sum func(...string) int) {
	var wg sync.WaitGroup
	wg.Go(func() { sum("tea", "milk") })
	wg.Go(func() { c.set("tea", 3) })
	wg.Wait()
}

// TestCatalog changes a price while another goroutine adds up prices.
func TestCatalog(t *testing.T) {
	c := &catalog{prices: map[string]int{}}
	changeDuring(c, c.sum)
}

func TestCatalogFixed(t *testing.T) {
	c := &catalog{prices: map[string]int{}}
	changeDuring(c, c.sumLocked)
}
