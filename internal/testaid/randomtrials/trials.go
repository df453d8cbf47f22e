// Package randomtrials runs the random trials of tests on all processors.
//
// With -short, and in a test binary built with -race, it runs a twentieth of the trials. Under the
// race detector a trial costs ten times as much and finds nothing more: the trials test detectors,
// each of which one goroutine uses.
package randomtrials

import (
	"runtime"
	"sync"
	"testing"
)

// A reduced run makes one trial out of part.
const part = 20

// Count returns how many of n trials a test runs.
func Count(n int) int {
	if Raced || testing.Short() {
		return (n + part - 1) / part
	}
	return n
}

// Each runs Count(n) trials with the seeds 0, 1, 2 and so on, on as many goroutines as there are
// processors. If a trial returns an error, the test fails and the goroutine of that trial stops.
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
