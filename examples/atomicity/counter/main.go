// Command counter sells tickets at several counters. The number of tickets left is atomic, so there
// is no data race. But a sale loads the number and then stores one less. Another sale in between is
// undone, and a ticket is sold twice.
//
// The file heisen.sections says that the load and the store belong together.
//
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/counter
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/counter -fixed
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// show is an evening at the theater.
type show struct {
	left atomic.Int64 // tickets not sold yet
}

// sell sells a ticket and reports whether there was one.
func (s *show) sell() bool {
	left := s.left.Load()
	if left == 0 {
		return false
	}
	s.left.Store(left - 1) // the bug: another counter may have sold one in between
	return true
}

// sellFixed sells a ticket only if none was sold since it loaded the number.
func (s *show) sellFixed() bool {
	for {
		left := s.left.Load()
		if left == 0 {
			return false
		}
		if s.left.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// number returns the number printed on a customer's ticket.
func number(counter, customer int) uint64 {
	h := fnv.New64a()
	for range 120 {
		fmt.Fprintf(h, "counter %d, customer %d", counter, customer)
	}
	return h.Sum64()
}

const (
	counters  = 4
	customers = 80 // at each counter
	tickets   = 300
)

// run sells the tickets and prints how many customers have one.
func run(w io.Writer, fixed bool) {
	var s show
	s.left.Store(tickets)
	sell := s.sell
	if fixed {
		sell = s.sellFixed
	}
	sold := make([]int, counters)
	printed := make([]map[uint64]bool, counters)
	var working sync.WaitGroup
	for c := range counters {
		working.Go(func() {
			printed[c] = map[uint64]bool{}
			for i := range customers {
				if sell() {
					sold[c]++
					printed[c][number(c, i)] = true
				}
			}
		})
	}
	working.Wait()
	sum := 0
	for _, n := range sold {
		sum += n
	}
	fmt.Fprintf(w, "%d tickets sold of %d, %d left\n", sum, tickets, s.left.Load())
}

func main() {
	fixed := flag.Bool("fixed", false, "sell by compare-and-swap")
	flag.Parse()
	run(os.Stdout, *fixed)
}
