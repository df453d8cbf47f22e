// Package counter has a counter that several goroutines change without a lock.
package counter

type counter struct {
	n    int // how often
	name string
}

func (c *counter) inc() { c.n++ }

func (c *counter) value() int {
	return c.n
}
