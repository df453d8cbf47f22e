// Command select has goroutines that wait for several channels at the same time, and logs what came
// first; see package replay.
package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

const each = 8

// merge copies two channels into one until both are closed.
func merge(j *journal.Journal, id int, left, right <-chan int, out chan<- int) {
	defer close(out)
	for left != nil || right != nil {
		var n int
		var ok bool
		select {
		case n, ok = <-left:
			j.Notef("merger %d takes the left: %d %t", id, n, ok)
			if !ok {
				left = nil
				continue
			}
		case n, ok = <-right:
			j.Notef("merger %d takes the right: %d %t", id, n, ok)
			if !ok {
				right = nil
				continue
			}
		}
		out <- n
	}
}

// source sends each number on the first of two channels that is ready, or takes the default case.
func source(j *journal.Journal, id int, a, b chan<- int) {
	for i := range each {
		n := id*each + i
		select {
		case a <- n:
			j.Notef("source %d: %d to a", id, n)
		case b <- n:
			j.Notef("source %d: %d to b", id, n)
		default:
			j.Notef("source %d: nobody takes %d", id, n)
			select {
			case a <- n:
			case b <- n:
			}
		}
	}
}

func main() {
	var j journal.Journal
	a, b := make(chan int, 1), make(chan int)
	c, d := make(chan int, 2), make(chan int, 2)
	all, stop := make(chan int), make(chan struct{})

	var sending sync.WaitGroup
	for id := range 3 {
		sending.Go(func() { source(&j, id, a, b) })
	}
	go merge(&j, 0, a, b, c)
	go merge(&j, 1, c, d, all)
	sending.Go(func() { source(&j, 3, d, d) })
	ticks := make(chan int)
	go func() {
		for i := 0; ; i++ {
			select {
			case ticks <- i:
			case <-stop:
				j.Notef("the ticks end")
				close(ticks)
				return
			}
		}
	}()
	go func() {
		sending.Wait()
		close(a)
		close(b)
		close(d)
	}()
	count, sum, open := 0, 0, true
	for open {
		var n int
		select {
		case n, open = <-all:
			if open {
				count++
				sum += n
			}
		case t := <-ticks:
			if t%8 == 0 {
				j.Notef("tick %d after %d numbers", t, count)
			}
		}
	}
	close(stop)
	for range ticks {
	}
	if n := 4 * each; count != n || sum != n*(n-1)/2 {
		panic(fmt.Sprintf("%d numbers with the sum %d", count, sum))
	}
	if err := j.Print(os.Stdout, "select"); err != nil {
		panic(err)
	}
}
