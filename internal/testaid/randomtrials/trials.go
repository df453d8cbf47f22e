// Package trials makes the random trials of tests, on all cores: a part of them with -short,
// and where the race detector watches. There each costs ten times as much, and what is tried,
// detectors that belong to one goroutine each, has nothing for it to find.
package randomtrials

import (
	"runtime"
	"sync"
	"testing"
)

// part is which part of the trials is made if not all are.
const part = 20

// Count returns how many of n trials a test is to make.
func Count(n int) int {
	if Raced || testing.Short() {
		return (n + part - 1) / part
	}
	return n
}

// Each makes Count(n) trials, on all cores, each with a seed of its own: the numbers from 0.
// The error of a trial fails the test, and ends the trials of that core.
func Each(t testing.TB, n int, trial func(seed uint64) error) {
	t.Helper()
	n = Count(n)
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for first := range workers {
		all.Go(func() {
			for seed := first; seed < n; seed += workers {
				if err := trial(uint64(seed)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
			}
		})
	}
	all.Wait()
}
