//go:build race

package tree_test

// raced says that the race detector watches the tests: it is after the tests' own
// races, and makes everything many times as slow.
const raced = true
