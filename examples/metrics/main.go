// Command metrics runs jobs on a pool of workers that count what they do in a
// registry. Its read-write lock guards the map and what is in it, but the method
// that counts takes it for reading only: readers do not exclude each other, and
// counts get lost.
//
//	heisen run ./examples/metrics
//	heisen run ./examples/metrics -- -fixed
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
	counters map[string]*counter // guarded by mu, and the counters too
}

// register makes the counters with the given names.
func (r *registry) register(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		r.counters[name] = new(counter)
	}
}

// add counts.
func (r *registry) add(name string, n int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.counters[name]; c != nil {
		c.n += n // the bug: held for reading, the lock lets other readers write
	}
}

// addFixed counts and holds the lock for writing.
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
