//go:build !windows

package tree

import "time"

// began is the time that clock counts from.
var began = time.Now()

// clock returns the time since a fixed moment. Batches take microseconds.
func clock() time.Duration { return time.Since(began) }
