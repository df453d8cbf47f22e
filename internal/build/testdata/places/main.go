// Command places acquires many locks in several goroutines at the same time. Then it looks for
// places that the recorder has numbered twice.
package main

import (
	"fmt"
	"sync"
	_ "unsafe" // for linkname
)

const goroutines, rounds, locks = 4, 3, 20_000

// places has the first fields of the recorder's tree of places.
//
//go:linkname places runtime.heisenPlaces
var places struct {
	nodes *[1 << 24]uint64
	count uint32
}

type account struct {
	mu    sync.Mutex
	value int
}

func main() {
	accounts := make([]account, locks)
	var all sync.RWMutex
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				for i := range accounts {
					add(&accounts[i])
				}
				for i := range accounts {
					all.RLock()
					set(&accounts[i])
					all.RUnlock()
				}
			}
		})
	}
	wg.Wait()
	look()
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
func look() {
	known, twice := make(map[uint64]bool), 0
	count := places.count
	for _, node := range places.nodes[1:count] {
		if known[node] {
			twice++
		}
		known[node] = true
	}
	fmt.Println(count > 5*locks, twice)
}
