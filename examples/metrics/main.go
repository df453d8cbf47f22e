// Command metrics runs jobs on a pool of workers that count their work in a
// registry. A read-write lock protects the map of counters and the counters, but
// the method that counts acquires it for reading only. Readers do not exclude
// each other, so counts get lost.
//
//	heisen run ./examples/metrics
//	heisen run ./examples/metrics -fixed
package main

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// counter is one metric.
type counter struct{ n int }

// registry holds metrics by name.
type registry struct {
	mu       sync.RWMutex
	counters map[string]*counter // guarded by mu, with the counters in it
}

// register creates counters with the given names.
func (r *registry) register(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.counters[name] = new(counter)
	}
}

// add adds n to a counter.
func (r *registry) add(name string, n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.counters[name]; c != nil {
		c.n += n // the bug: the lock is held for reading only
	}
}

// addFixed holds the lock for writing.
func (r *registry) addFixed(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.counters[name]; c != nil {
		c.n += n
	}
}

// print prints all counters in the order of their names.
func (r *registry) print() {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(r.counters)) {
		fmt.Printf("%s %d\n", name, r.counters[name].n)
	}
}

const (
	workers = 3
	jobs    = 20 // of each worker
)

func main() {
	fixed := flag.Bool("fixed", false, "hold the lock for writing while counting")
	flag.Parse()
	r := &registry{counters: map[string]*counter{}}
	r.register("jobs")
	add := r.add
	if *fixed {
		add = r.addFixed
	}

	var pool sync.WaitGroup
	for range workers {
		pool.Add(1)
		go func() {
			defer pool.Done()
			for range jobs {
				add("jobs", 1)
			}
		}()
	}
	pool.Wait()
	r.print()
}
