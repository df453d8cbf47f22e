//go:build !race

package randomtrials

// Raced reports whether the race detector watches.
const Raced = false
