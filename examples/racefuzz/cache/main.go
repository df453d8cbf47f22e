// Command cache is a counterpart of cache4j, in which RaceFuzzer found an uncaught exception (Sen,
// PLDI 2008, section 5.3). It has a cache with a cleaner. The cleaner sets a flag when it sleeps. A
// goroutine that changes the cleaner's interval reads the flag and then wakes the cleaner:
//
//	c.sleeping = true             c.mu.Lock()
//	c.mu.Lock()                   if c.sleeping {
//	c.wake = make(chan ...)           close(c.wake)
//
// cache4j interrupts a thread that is not in its try block yet. Here there is no channel yet, and
// close panics.
//
// The races are on the flag sleeping, which the cleaner sets and resets without the lock:
//
//   - The write that sets it races with the read. The program panics if the flag is set first and
//     the reader continues before the cleaner has its new channel. In the usual order the cleaner
//     has released its lock long before, which orders the two accesses.
//   - The write that resets it races with the read. If the read comes first, the channel of a sleep
//     that has just ended is closed without need, which is harmless.
//
// Other accesses look like races, because they are made without the lock that orders them. Entries
// are filled before they are put into the map under the cache's lock, and their values are read
// after the lock was released. The counts of all workers are added up by the last worker, as a
// counter under a lock shows. The cleaner's limits are set before an atomic flag, and read by
// goroutines that have seen the flag.
//
//	heisen run -detect hybrid ./examples/racefuzz/cache
//	heisen run -detect hybrid ./examples/racefuzz/cache -fixed
package main

import (
	"flag"
	"fmt"
	"sync"
	"time"
)

const (
	workers = 3
	rounds  = 40
	keys    = 8
)

// worker is a user of the cache with its counts.
type worker struct {
	id                 int
	hits, misses, lost int
}

// work looks keys up, and computes the values that are missing.
func (w *worker) work(c *cache) {
	for i := range rounds {
		key := (w.id + i*i) % keys
		e := c.get(key)
		if e == nil {
			w.misses++ // race:count.misses
			c.put(key, key*key)
			continue
		}
		w.hits++                // race:count.hits
		if e.value != key*key { // race:entry.value
			w.lost++
		}
	}
}

// crew is a group of workers. The last one adds up the counts of all.
type crew struct {
	workers []*worker

	mu   sync.Mutex
	left int // guarded by mu
}

// done is called by each worker at its end. It returns the sums to the last one.
func (c *crew) done() (sum worker, last bool) {
	c.mu.Lock()
	c.left--
	last = c.left == 0
	c.mu.Unlock()
	if !last {
		return worker{}, false
	}
	for _, w := range c.workers {
		sum.hits += w.hits     // race:sum.hits
		sum.misses += w.misses // race:sum.misses
		sum.lost += w.lost
	}
	return sum, true
}

func main() {
	fixed := flag.Bool("fixed", false, "hold the lock when the flag for sleeping is set")
	flag.Parse()

	c := newCache()
	cleaner := newCleaner(c, time.Millisecond)
	sleep := cleaner.sleep
	if *fixed {
		sleep = cleaner.sleepFixed
	}
	go cleaner.run(sleep) // a daemon: it runs as long as the program

	all := &crew{left: workers}
	for id := range workers {
		all.workers = append(all.workers, &worker{id: id})
	}
	sums := make(chan worker)
	for _, w := range all.workers {
		go func() {
			cleaner.configure(keys)
			w.work(c)
			if sum, last := all.done(); last {
				sums <- sum
			}
		}()
	}
	time.Sleep(3 * time.Millisecond) // the user waits
	cleaner.setInterval(10 * time.Millisecond)
	sum := <-sums
	if n := sum.hits + sum.misses; n != workers*rounds || sum.lost > 0 {
		panic(fmt.Sprintf("%d of %d lookups, %d of them wrong", n, workers*rounds, sum.lost))
	}
	fmt.Printf("%d lookups\n", sum.hits+sum.misses)
}
