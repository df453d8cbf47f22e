// Package quotes asks suppliers for their prices.
package quotes

import "sync"

// A Supplier returns its price for an article, in cents.
type Supplier func(article string) int

// A Collector keeps the best of several prices.
type Collector struct {
	mu   sync.Mutex
	log  []string // guarded by mu
	best int      // the lowest price so far, 0 if there is none
}

// Collect asks all suppliers at the same time and returns the lowest price.
func (c *Collector) Collect(article string, suppliers ...Supplier) int {
	var asked sync.WaitGroup
	for _, ask := range suppliers {
		asked.Go(func() {
			price := ask(article)
			c.note("reply")
			c.compare(price)
			c.note("compared")
		})
	}
	asked.Wait()
	return c.best
}

// compare keeps the price if it is the lowest one.
func (c *Collector) compare(price int) {
	if c.best == 0 || price < c.best {
		c.best = price
	}
}

// note writes the log.
func (c *Collector) note(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, event)
}
