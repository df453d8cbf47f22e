//go:build !race

package randomtrials

// Raced reports whether the test binary was built with -race.
const Raced = false
