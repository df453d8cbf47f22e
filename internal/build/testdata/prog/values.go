package main

import "sync"

// words are apart, so that the eight bytes at a word are its own.
type words struct{ a, b, c int64 }

// values returns the program for the test of recorded values.
func values() map[string]func() {
	return map[string]func(){
		"values": func() {
			var mu sync.Mutex
			var wg sync.WaitGroup
			shared := &words{a: 1}
			for i := range int64(3) {
				wg.Go(func() {
					for range 5 {
						mu.Lock()
						shared.a = shared.a*3 + i        // at: updated
						shared.b, shared.c = i, shared.a // at: copied
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			var own words
			fill(&own, shared)
			println(own.a, own.b, own.c)
		},
	}
}

// fill copies words to what may be a stack.
//
//go:noinline
func fill(to, from *words) {
	to.a = from.a // at: filled-a
	to.b = from.b // at: filled-b
	to.c = from.c // at: filled-c
}
