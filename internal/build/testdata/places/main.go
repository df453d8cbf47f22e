// Command places makes accesses on many call paths, and under many locks, in several goroutines at
// the same time. Then it looks for places that the recorder has numbered twice.
package main

import (
	"fmt"
	"sync"
	_ "unsafe" // for linkname
)

const goroutines, rounds, locks, depth = 4, 3, 20_000, 14

// places has the first fields of the recorder's tree of places.
//
//go:linkname places runtime.heisenPlaces
var places struct {
	nodes *[1 << 24]uint64
	most  uint32
	count uint32
}

type account struct {
	mu    sync.Mutex
	value int
}

var all sync.RWMutex

func main() {
	accounts := make([]account, locks)
	together(func() {
		for path := range 1 << depth {
			walk(&accounts[path%locks], path, depth) // a lock that is taken again and again has no new places
		}
	})
	paths := count()
	together(func() {
		for i := range accounts {
			add(&accounts[i])
			all.RLock()
			set(&accounts[i])
			all.RUnlock()
		}
	})
	fmt.Println(paths > 1<<depth, count()-paths < 100, twice())
}

func together(do func()) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				do()
			}
		})
	}
	wg.Wait()
}

// walk makes an access on one of 1<<depth paths.
//
//go:noinline
func walk(a *account, path, depth int) {
	switch {
	case depth == 0:
		add(a)
	case path&1 == 0:
		walk(a, path>>1, depth-1)
	default:
		walk(a, path>>1, depth-1)
	}
}

//go:noinline
func add(a *account) {
	a.mu.Lock()
	a.value++
	if a.value%2 == 0 {
		a.value += 2
	}
	a.mu.Unlock()
}

//go:noinline
func set(a *account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value = 1
}

//go:norace
func count() uint32 { return places.count }

//go:norace
func twice() (twice int) {
	known := make(map[uint64]bool)
	for _, node := range places.nodes[1:places.count] {
		if known[node] {
			twice++
		}
		known[node] = true
	}
	return twice
}
