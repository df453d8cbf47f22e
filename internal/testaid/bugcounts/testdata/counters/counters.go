// Package counters has nothing but tests.
package counters
