package main

import "sync"

const (
	counters = 4
	counts   = 20_000
)

// counting makes counters times counts writes in bump.
func counting() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for g := range counters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range counts {
				if i%64 == 0 {
					mu.Lock()
					mu.Unlock()
				}
				bump(g)
			}
		}()
	}
	wg.Wait()
}

var counted [counters]int

//go:noinline
func bump(i int) { counted[i]++ }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
