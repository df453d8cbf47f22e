// Command desk sells a ticket at the desk, early in the evening, and puts out the tickets of the
// next show when the first is over. A sale reads the number of tickets left in one critical section
// and stores one less in another. New tickets that come in between are lost.
//
// In every execution they come much later. But no synchronization makes them wait, so mcm predicts
// an execution in which they come in between.
//
//	heisen run -detect mcm -sections heisen.sections ./examples/atomicity/desk
//	heisen run -detect mcm -sections heisen.sections ./examples/atomicity/desk -fixed
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// desk sells tickets.
type desk struct {
	mu   sync.Mutex
	left int // tickets not sold yet
}

// sell sells a ticket.
func (d *desk) sell() {
	d.mu.Lock()
	left := d.left
	d.mu.Unlock()
	d.mu.Lock()
	d.left = left - 1 // the bug: there may be new tickets
	d.mu.Unlock()
}

// sellFixed sells a ticket in one critical section.
func (d *desk) sellFixed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left--
}

// fill puts out the tickets of the next show.
func (d *desk) fill(tickets int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = tickets
}

// run spends an evening at the desk and prints how many tickets are left.
func run(w io.Writer, fixed bool) {
	d := desk{left: 300}
	sell := d.sell
	if fixed {
		sell = d.sellFixed
	}
	var working sync.WaitGroup
	working.Go(sell)
	working.Go(func() {
		time.Sleep(time.Second) // the first show
		d.fill(300)
	})
	working.Wait()
	fmt.Fprintf(w, "%d tickets left\n", d.left)
}

func main() {
	fixed := flag.Bool("fixed", false, "sell in one critical section")
	flag.Parse()
	run(os.Stdout, *fixed)
}
