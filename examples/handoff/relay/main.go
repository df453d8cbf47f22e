// Command relay is a relay race. The baton is a mutex that each runner locks and the next one
// unlocks. With -fixed the baton is a channel.
package main

import (
	"flag"
	"fmt"
	"sync"
)

type team struct {
	baton sync.Mutex
	laps  int
}

// run takes the baton, runs a lap and keeps the baton for the next runner.
func (t *team) run(arrived chan<- bool) {
	t.baton.Lock()
	t.laps++
	arrived <- true
}

func relay(runners int) int {
	var t team
	arrived := make(chan bool)
	for range runners {
		go t.run(arrived)
		<-arrived
		t.baton.Unlock()
	}
	return t.laps
}

func fixed(runners int) int {
	baton := make(chan int, 1)
	baton <- 0
	arrived := make(chan bool)
	for range runners {
		go func() {
			baton <- <-baton + 1
			arrived <- true
		}()
		<-arrived
	}
	return <-baton
}

func main() {
	useFixed := flag.Bool("fixed", false, "hand on the baton in a channel")
	flag.Parse()
	laps := relay
	if *useFixed {
		laps = fixed
	}
	fmt.Println("laps:", laps(4))
}
