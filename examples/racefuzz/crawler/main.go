// Command crawler copies a web site page by page, like WebLech. Its workers share a queue of
// addresses and a set of known addresses. The site is in memory and answers after some time.
//
// The spider is done when no address waits and no worker is busy. The main goroutine reads the two
// numbers without the lock that guards them, one after the other. Each of these reads races with
// each write. The worst case is the following: no address waits; then the worker that fetched the
// last page queues the links of the page and is not busy any more. So no worker is busy and the
// spider is stopped, but pages are missing, and the program panics. It takes two races, each in the
// right order.
//
// Other accesses only look like races. A worker fills a page, and the main goroutine reads it after
// it has looked into the locked store. Each worker's count is read after the lock has shown that
// the worker has left. JSpider works in this way: 29 pairs are reported there, and none is a race.
//
//	heisen run -detect hybrid ./examples/racefuzz/crawler
//	heisen run -detect hybrid ./examples/racefuzz/crawler -fixed
package main

import (
	"flag"
	"fmt"
	"time"
)

func main() {
	fixed := flag.Bool("fixed", false, "read both numbers under the lock")
	flag.Parse()

	web := newSite(12)
	s := newSpider(web, 4)
	idle := s.idle
	if *fixed {
		idle = s.idleFixed
	}
	s.add("/0")
	for !idle() {
		time.Sleep(poll)
	}
	s.stop()
	for !s.left() {
		time.Sleep(poll)
	}
	pages, bytes, fetched := s.total()
	if pages != len(web) || fetched != pages {
		panic(fmt.Sprintf("%d pages of %d, fetched %d times", pages, len(web), fetched))
	}
	fmt.Printf("%d pages, %d bytes\n", pages, bytes)
}

// poll is the interval at which main checks whether the spider is done.
const poll = time.Millisecond
