// Package randomtrials runs the random trials of tests on all processors.
//
// Each tier of the tests runs a part of the trials. A test binary built with -race runs as many as -short. Under the
// race detector a trial costs ten times as much and finds nothing more: the trials test detectors,
// each of which one goroutine uses.
package randomtrials

import (
	"runtime"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// Count returns how many of n trials a test runs.
func Count(n int) int {
	part := tier.Pick(20, 5, 2, 1)
	if Raced {
		part = 20
	}
	return (n + part - 1) / part
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
