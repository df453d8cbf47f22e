// Package metrics counts.
package metrics

import "sync/atomic"

// Counter counts requests and failures.
type Counter struct {
	requests atomic.Int64
	failures int
}

// Request counts a request.
func (c *Counter) Request() { c.requests.Add(1) }

// Failure counts a failure.
func (c *Counter) Failure() { c.failures++ }

// Snapshot returns both.
func (c *Counter) Snapshot() (requests int64, failures int) {
	return c.requests.Load(), c.failures
}
