// Command churn is a race-free program with the load of a server's day in a few minutes: many
// goroutines that come and go, a large heap whose addresses are used again and again, and locks,
// channels and atomics that are allocated with everything else. Now and then it prints how many
// goroutines it has started.
package main

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// block is a piece of the heap: made by one goroutine, filled by another, read by
// all, dropped.
type block struct {
	mu    sync.Mutex
	done  atomic.Uint32
	ready chan struct{}
	words [1000]uint64
}

func main() {
	goroutines := flag.Int("goroutines", 10_000_000, "goroutines to start, in all")
	touched := flag.Int("touched", 50, "words that each accesses")
	heap := flag.Int("live", 2048, "size of the live heap in MiB")
	workers := flag.Int("workers", 8, "goroutines that live as long as the program")
	flag.Parse()

	var wg sync.WaitGroup
	var started atomic.Int64
	for w := range *workers {
		wg.Go(func() {
			ring := make([]*block, max(1, *heap<<20/8200 / *workers))
			for n := 0; started.Add(batch) <= int64(*goroutines); n++ {
				b := &block{ready: make(chan struct{})}
				fill(b, *touched, n+w)
				ring[n%len(ring)] = b
				if w == 0 && n%1000 == 0 {
					fmt.Println(started.Load())
				}
			}
		})
	}
	wg.Wait()
	fmt.Println(started.Load())
}

// batch is the number of goroutines that work on a block.
const batch = 8

// fill starts goroutines that write parts of b, waits for them in one of several ways, and reads
// what they wrote.
func fill(b *block, touched, n int) {
	var wg sync.WaitGroup
	part := len(b.words) / batch
	for i := range batch {
		words := b.words[i*part:][:min(touched/2, part)]
		switch i % 4 {
		case 0: // waited for by a WaitGroup
			wg.Add(1)
			go func() { write(words, n); wg.Done() }()
		case 1: // by an atomic counter
			go func() { write(words, n); b.done.Add(1) }()
		case 2: // under a lock, and by a channel
			go func() {
				b.mu.Lock()
				write(words, n)
				b.mu.Unlock()
				b.ready <- struct{}{}
			}()
		case 3: // by a channel alone
			go func() { write(words, n); b.ready <- struct{}{} }()
		}
	}
	wg.Wait()
	for range batch / 2 {
		<-b.ready
	}
	for b.done.Load() < batch/4 {
		runtime.Gosched()
	}
	for i := range batch {
		read(b.words[i*part:][:min(touched/2, part)], n)
	}
}

func write(words []uint64, n int) {
	for i := range words {
		words[i] = uint64(n)
	}
}

func read(words []uint64, n int) {
	for i := range words {
		if words[i] != uint64(n) {
			panic("lost a write")
		}
	}
}
