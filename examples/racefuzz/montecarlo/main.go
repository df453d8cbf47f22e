// Command montecarlo estimates the future price of a share from many random walks, like the kernel
// montecarlo of the Java Grande benchmarks. Goroutines take walks by number, each with its own
// random numbers, and add the results to a list under a lock.
//
// The only race is on a flag that says whether results are printed. Every walk sets the flag again,
// to the same value, like the constructor of a path in the benchmark. It is not read before all
// walks have ended, so the race is harmless.
//
// Accesses to results look like races. A result is filled without a lock, and the goroutine that
// adds the last one to the list reads all of them without a lock. But each result was added to the
// list under the lock, and the last goroutine has read the length of the list under the lock.
//
// With -fixed the flag is set once.
//
//	heisen run -detect hybrid ./examples/racefuzz/montecarlo -walks 12 -steps 10
//	heisen run -detect hybrid ./examples/racefuzz/montecarlo -walks 12 -steps 10 -fixed
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
)

const workers = 3

// verbose says whether results are printed.
var verbose bool

// result is the result of one walk.
type result struct {
	walk int
	end  float64
	high float64
}

// study has the walks and their results.
type study struct {
	walks, steps int
	fixed        bool

	mu      sync.Mutex
	next    int       // number of the next walk, guarded by mu
	results []*result // guarded by mu

	mean, highest float64 // set by the goroutine that adds the last result
}

// work takes walks until there are none.
func (s *study) work() {
	for {
		n, ok := s.take()
		if !ok {
			return
		}
		if s.add(s.walk(n)) {
			s.sum()
		}
	}
}

// take returns the number of a walk that no goroutine has taken yet.
func (s *study) take() (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == s.walks {
		return 0, false
	}
	s.next++
	return s.next, true
}

// walk computes one random walk.
func (s *study) walk(n int) *result {
	if !s.fixed {
		verbose = false // race:verbose
	}
	random := rand.New(rand.NewPCG(uint64(n), 1))
	at, high := 100.0, 100.0
	for range s.steps {
		at *= math.Exp(0.0001 + 0.01*random.NormFloat64())
		high = max(high, at)
	}
	r := new(result)
	r.walk = n    // race:result.walk
	r.end = at    // race:result.end
	r.high = high // race:result.high
	return r
}

// add adds a result, and reports whether it was the last.
func (s *study) add(r *result) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r) // race:add
	return len(s.results) == s.walks
}

// sum adds up all results in the order of the walks, which makes the sum independent of the
// schedule.
func (s *study) sum() {
	ordered := make([]*result, s.walks)
	for _, r := range s.results { // race:sum.results
		ordered[r.walk-1] = r // race:sum.walk
	}
	for _, r := range ordered {
		s.mean += r.end / float64(s.walks) // race:sum.end
		s.highest = max(s.highest, r.high) // race:sum.high
	}
}

func main() {
	walks := flag.Int("walks", 600, "how many `walks` are taken")
	steps := flag.Int("steps", 8000, "how many `steps` each has")
	fixed := flag.Bool("fixed", false, "set the mark once")
	flag.Parse()
	if *walks < 1 || *steps < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "montecarlo: -walks is 1 or more, -steps 0 or more, and there are no arguments")
		os.Exit(2)
	}

	s := &study{walks: *walks, steps: *steps, fixed: *fixed}
	var working sync.WaitGroup
	for range workers {
		working.Go(s.work)
	}
	working.Wait()
	if !(s.mean > 0) || s.highest < s.mean {
		panic(fmt.Sprintf("the mean is %v, and the highest %v", s.mean, s.highest))
	}
	fmt.Printf("%d walks, mean %.6f, highest %.6f\n", *walks, s.mean, s.highest)
	if verbose {
		for _, r := range s.results {
			fmt.Println(*r)
		}
	}
}
