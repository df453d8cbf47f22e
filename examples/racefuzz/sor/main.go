// Command sor computes the heat in a plate by successive over-relaxation, as the
// kernel of that name in ETH's benchmarks does. Goroutines have a strip of lines each,
// and take turns with red and black points. None begins a turn before its neighbours
// have ended the last one: each says in an atomic number how many it has ended, and
// spins until its neighbours' are as high.
//
// There is no race. But the lines next to those of others are read and written without
// a lock, and what orders them are atomic operations, which a hybrid detector does not
// take for order.
//
// With -fixed a channel from each to each neighbour takes the place of the number, and
// nothing is reported.
//
//	heisen run -detect hybrid ./examples/racefuzz/sor -size 12 -turns 4
//	heisen run -detect hybrid ./examples/racefuzz/sor -size 12 -turns 4 -fixed
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	workers = 3
	omega   = 1.25
)

// plate is how hot the points are. Those at the edges stay as they are.
type plate [][]float64

func newPlate(size int) plate {
	p := make(plate, size)
	for y := range p {
		p[y] = make([]float64, size)
		p[y][0] = 100
	}
	return p
}

// relax computes every second point of lines, red ones and black ones in turn.
func (p plate) relax(from, to, turn int) {
	if turn%2 == 0 {
		p.red(from, to)
	} else {
		p.black(from, to)
	}
}

// red computes the points of lines where x+y is odd.
func (p plate) red(from, to int) {
	for y := from; y < to; y++ {
		line := p[y]
		for x := 1 + y%2; x < len(line)-1; x += 2 {
			around := line[x-1] + line[x+1]
			around += p[y-1][x]                     // race:red.up
			around += p[y+1][x]                     // race:red.down
			line[x] += omega * (around/4 - line[x]) // race:red
		}
	}
}

// black computes the others.
func (p plate) black(from, to int) {
	for y := from; y < to; y++ {
		line := p[y]
		for x := 2 - y%2; x < len(line)-1; x += 2 {
			around := line[x-1] + line[x+1]
			around += p[y-1][x]                     // race:black.up
			around += p[y+1][x]                     // race:black.down
			line[x] += omega * (around/4 - line[x]) // race:black
		}
	}
}

// waiter makes neighbours wait for each other.
type waiter interface {
	end(id int)          // says that a worker has ended a turn
	await(id, turns int) // waits until its neighbours have ended so many
}

// counts are how many turns the workers have ended.
type counts [workers]atomic.Int64

func (c *counts) end(id int) { c[id].Add(1) }

func (c *counts) await(id, turns int) {
	for _, other := range neighbours(id) {
		for c[other].Load() < int64(turns) {
			runtime.Gosched()
		}
	}
}

// channels are from each worker to each.
type channels [workers][workers]chan struct{}

func newChannels() *channels {
	c := new(channels)
	for from := range c {
		for to := range c[from] {
			c[from][to] = make(chan struct{}, 1)
		}
	}
	return c
}

func (c *channels) end(id int) {
	for _, other := range neighbours(id) {
		c[id][other] <- struct{}{}
	}
}

func (c *channels) await(id, turns int) {
	if turns == 0 {
		return
	}
	for _, other := range neighbours(id) {
		<-c[other][id]
	}
}

func neighbours(id int) (all []int) {
	if id > 0 {
		all = append(all, id-1)
	}
	if id < workers-1 {
		all = append(all, id+1)
	}
	return all
}

func main() {
	size := flag.Int("size", 300, "how many `lines` the plate has, and how many points each")
	turns := flag.Int("turns", 100, "how often all red, or all black, points are computed")
	fixed := flag.Bool("fixed", false, "let goroutines wait for each other with channels")
	flag.Parse()
	if *size < 2 || *turns < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "sor: -size is 2 or more, -turns 0 or more, and there are no arguments")
		os.Exit(2)
	}

	p := newPlate(*size)
	var w waiter = new(counts)
	if *fixed {
		w = newChannels()
	}
	var working sync.WaitGroup
	for id := range workers {
		from, to := 1+id*(*size-2)/workers, 1+(id+1)*(*size-2)/workers
		working.Go(func() {
			for turn := range *turns {
				w.await(id, turn)
				p.relax(from, to, turn)
				w.end(id)
			}
		})
	}
	working.Wait()

	check := newPlate(*size)
	for turn := range *turns {
		check.relax(1, *size-1, turn)
	}
	if got, want := p.sum(), check.sum(); got != want || math.IsNaN(got) {
		panic(fmt.Sprintf("the heat is %v, want %v", got, want))
	}
	fmt.Printf("%d lines, %d turns, heat %.6f\n", *size, *turns, p.sum())
}

// sum adds up how hot all points are.
func (p plate) sum() (sum float64) {
	for _, line := range p {
		for _, x := range line {
			sum += x
		}
	}
	return sum
}
