// Package other has functions that are expanded where they are called.
package other

type Counter struct{ n int }

func (c *Counter) Add(d int) {
	c.n += d // want read write
}

func (c *Counter) Value() int {
	return c.n // want read?
}

func First[T any](s []T) T {
	return s[0] // want read?
}
