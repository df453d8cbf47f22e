// Command montecarlo guesses what a share will be worth from many random walks, as the
// kernel of that name in the Java Grande benchmarks does. Goroutines take walks by
// number, each with random numbers of its own, and put what came of them into a list
// under a lock.
//
// What races is a mark that says how much the walks are to print. It is the same for
// all, but each walk sets it again, as the constructor of a path does in the benchmark.
// Nobody reads it before all have ended, and all write the same, so it harms nobody.
//
// Results look as if they raced: they are made without a lock, and who adds the last
// one to the list reads all of them without one. Each was put into the list under the
// lock, and the last one has seen there how many there are.
//
// With -fixed the mark is set once.
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

// result is what came of one walk.
type result struct {
	walk int
	end  float64
	high float64
}

// study is walks, and what came of them.
type study struct {
	walks, steps int
	fixed        bool

	mu      sync.Mutex
	next    int       // walk to be taken, guarded by mu
	results []*result // guarded by mu

	mean, highest float64 // set by who adds the last result
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

// take returns the number of a walk that nobody has taken.
func (s *study) take() (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == s.walks {
		return 0, false
	}
	s.next++
	return s.next, true
}

// walk walks.
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

// sum adds up all results in the order of the walks, so that the sum is the same
// whichever came first.
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
