// Command montecarlo estimates the price of an option by many random paths. Each goroutine simulates the
// paths of its tasks, and the results are collected under a lock.
package main

import (
	"flag"
	"fmt"
	"math"
	"sync"
)

// parameters are the same for all paths. Nobody changes them.
type parameters struct {
	start, drift, volatility float64
	steps                    int
}

// random is a source of random numbers. One path has it.
type random struct {
	state uint64
	spare float64
	saved bool
}

func (r *random) uniform() float64 {
	r.state = r.state*6364136223846793005 + 1442695040888963407
	return float64(r.state>>11) / (1 << 53)
}

func (r *random) normal() float64 {
	if r.saved {
		r.saved = false
		return r.spare
	}
	for {
		u, v := 2*r.uniform()-1, 2*r.uniform()-1
		if s := u*u + v*v; s > 0 && s < 1 {
			f := math.Sqrt(-2 * math.Log(s) / s)
			r.spare, r.saved = v*f, true
			return u * f
		}
	}
}

// path is one simulated course of prices.
type path struct {
	prices []float64
	random random
}

func (p *path) simulate(with *parameters) {
	dt := 1 / float64(with.steps)
	p.prices[0] = with.start
	for i := 1; i < len(p.prices); i++ {
		p.prices[i] = p.prices[i-1] * math.Exp(with.drift*dt+with.volatility*math.Sqrt(dt)*p.random.normal())
	}
}

// volatility is estimated from a path, as the original program does.
func (p *path) volatility() float64 {
	var sum, squares float64
	for i := 1; i < len(p.prices); i++ {
		change := math.Log(p.prices[i] / p.prices[i-1])
		sum += change
		squares += change * change
	}
	n := float64(len(p.prices) - 1)
	return math.Sqrt((squares/n - sum/n*sum/n) * n)
}

// result is what a path has shown. It does not change once it is made.
type result struct {
	number            int
	final, volatility float64
}

// application gives out tasks and collects results.
type application struct {
	parameters *parameters
	tasks      int

	mu      sync.Mutex
	next    int
	results []*result
}

func (a *application) task() (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == a.tasks {
		return 0, false
	}
	a.next++
	return a.next - 1, true
}

func (a *application) add(r *result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results = append(a.results, r)
}

func (a *application) run() {
	p := &path{prices: make([]float64, a.parameters.steps+1)}
	for number, more := a.task(); more; number, more = a.task() {
		p.random = random{state: uint64(number) * 0x9E3779B97F4A7C15}
		p.simulate(a.parameters)
		a.add(&result{number, p.prices[len(p.prices)-1], p.volatility()})
	}
}

func main() {
	n := flag.Int("n", 40_000, "`paths`")
	flag.Parse()
	a := &application{parameters: &parameters{start: 100, drift: 0.03, volatility: 0.2, steps: 250}, tasks: *n}
	var done sync.WaitGroup
	for range 4 {
		done.Go(a.run)
	}
	done.Wait()
	var final, volatility float64
	for _, r := range a.results {
		final += r.final
		volatility += r.volatility
	}
	fmt.Printf("%d paths, mean %.1f, volatility %.2f\n", len(a.results), final/float64(len(a.results)), volatility/float64(len(a.results)))
}
