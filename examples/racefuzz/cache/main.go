// Command cache has a cache with a cleaner, as cache4j, in which RaceFuzzer found an
// uncaught exception (Sen, PLDI 2008, section 5.3). The cleaner says that it sleeps,
// and who changes its interval then wakes it:
//
//	c.sleeping = true             c.mu.Lock()
//	c.mu.Lock()                   if c.sleeping {
//	c.wake = make(chan ...)           close(c.wake)
//
// cache4j interrupts a thread that is not in its try block yet; here there is no
// channel yet, and close panics.
//
// What races is sleeping, which the cleaner sets and resets without the lock:
//
//   - it is set, and read by who changes the interval. If it is set first and the
//     reader goes on before the cleaner has its new channel, the program panics. In the
//     usual order the cleaner has long been through its lock, which orders the two.
//   - it is reset, and read. If it is read first, the channel of a sleep that has just
//     ended is closed for nothing, which harms nobody.
//
// Much else looks as if it raced, since it is accessed without the lock that hands it
// over: entries are made before they are put into the map under the cache's lock, and
// their values read after it was released; what each worker counted is added up by
// the one that is last by a locked count; the cleaner's limits are made before an
// atomic mark that they are there is set, and read by who has seen it.
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

// worker is a user of the cache, and what it counts.
type worker struct {
	id                 int
	hits, misses, lost int
}

// work looks keys up, and computes those that are not there.
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

// crew is workers of which the last adds up what all have counted.
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
	fixed := flag.Bool("fixed", false, "say under the lock that the cleaner sleeps")
	flag.Parse()

	c := newCache()
	cleaner := newCleaner(c, time.Millisecond)
	sleep := cleaner.sleep
	if *fixed {
		sleep = cleaner.sleepFixed
	}
	go cleaner.run(sleep) // as long as the program: a daemon

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
	time.Sleep(3 * time.Millisecond) // the user thinks
	cleaner.setInterval(10 * time.Millisecond)
	sum := <-sums
	if n := sum.hits + sum.misses; n != workers*rounds || sum.lost > 0 {
		panic(fmt.Sprintf("%d of %d lookups, %d of them wrong", n, workers*rounds, sum.lost))
	}
	fmt.Printf("%d lookups\n", sum.hits+sum.misses)
}
