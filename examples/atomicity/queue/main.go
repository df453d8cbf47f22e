// Command queue has workers that take jobs from a shared stack, the latest first. A worker reads
// the number of jobs and takes the job at that position. Both methods hold the stack's lock, and
// each is correct by itself. But if another worker has taken a job in between, the length is stale
// and there is no job at the position.
//
// There is no data race. The file heisen.sections says that the length and its use belong together,
// although they are in two methods.
//
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/queue
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/queue -fixed
package main

import (
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"sync"
)

// stack has the waiting jobs: numbers to be tested.
type stack struct {
	mu   sync.Mutex
	jobs []int64 // guarded by mu
}

// len returns how many jobs there are.
func (s *stack) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

// take removes the job at position i and those after it. There should be none after it. It reports
// whether there is a job at that position.
func (s *stack) take(i int) (job int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.jobs) {
		return 0, false
	}
	job = s.jobs[i]
	s.jobs = s.jobs[:i]
	return job, true
}

// latest takes the latest job. stale says that there were jobs but that it got none.
func (s *stack) latest() (job int64, ok, stale bool) {
	n := s.len()
	if n == 0 {
		return 0, false, false
	}
	job, ok = s.take(n - 1) // the bug: n may be out of date
	return job, ok, !ok
}

// latestFixed takes the latest job in one critical section.
func (s *stack) latestFixed() (job int64, ok, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.jobs)
	if n == 0 {
		return 0, false, false
	}
	job = s.jobs[n-1]
	s.jobs = s.jobs[:n-1]
	return job, true, false
}

const (
	workers = 4
	jobs    = 300
)

// run processes all jobs and prints the results.
func run(w io.Writer, fixed bool) {
	var s stack
	for i := range int64(jobs) {
		s.jobs = append(s.jobs, 1_000_000_007+2*i)
	}
	latest := s.latest
	if fixed {
		latest = s.latestFixed
	}
	done, primes, missed := make([]int, workers), make([]int, workers), make([]int, workers)
	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() {
			for {
				job, ok, stale := latest()
				switch {
				case stale:
					missed[id]++
				case !ok:
					return
				default:
					done[id]++
					if big.NewInt(job).ProbablyPrime(16) {
						primes[id]++
					}
				}
			}
		})
	}
	working.Wait()
	fmt.Fprintf(w, "%d jobs of %d done, %d primes, %d misses\n", sum(done), jobs, sum(primes), sum(missed))
}

func sum(all []int) (n int) {
	for _, x := range all {
		n += x
	}
	return n
}

func main() {
	fixed := flag.Bool("fixed", false, "take the latest job in one critical section")
	flag.Parse()
	run(os.Stdout, *fixed)
}
