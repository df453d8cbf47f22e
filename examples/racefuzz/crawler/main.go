// Command crawler copies a web site page by page, with workers that share a queue of
// addresses and a set of those seen, as WebLech does. The site is in memory, and
// answers after some time.
//
// The spider is done when no address waits and nobody is busy. Who waits for that
// looks at the two numbers without the lock that guards them, first at the one and
// then at the other. Each of these reads races with each write. Worst is what can
// happen between them: no address waits; then the worker that fetched the last page
// queues what the page links to, and is not busy any more; so nobody is busy, the
// spider is stopped, and pages are missing, which the program panics about. It takes
// two races, each in the right order.
//
// Much else only looks as if it raced: pages are filled by who fetches them, and read
// after a look into the locked store; each worker's log is read by who sees under the
// lock that the worker has left. That is how JSpider works, where 29 pairs are reported
// and none is a race.
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
	fixed := flag.Bool("fixed", false, "look at both numbers under the lock")
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

// poll is how often somebody looks whether the spider is done.
const poll = time.Millisecond
