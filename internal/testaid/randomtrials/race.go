//go:build race

package trials

// Raced reports whether the race detector watches.
const Raced = true
