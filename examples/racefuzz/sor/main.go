// Command sor computes the heat in a plate by successive over-relaxation, like the kernel sor of
// ETH's benchmarks. Each goroutine has a strip of lines, and takes turns with red and black points.
// It begins a turn only after its neighbors have ended the previous one: each goroutine counts its
// turns in an atomic number, and spins until the numbers of its neighbors are as high.
//
// There is no race. But lines at the border of two strips are read and written without a lock. They
// are ordered by atomic operations, and a hybrid detector does not follow that order.
//
// With -fixed a channel between each pair of neighbors replaces the number, and nothing is
// reported.
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

// plate has the heat of each point. Points at the edges do not change.
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

// waiter makes neighbors wait for each other.
type waiter interface {
	end(id int)          // called when a worker has ended a turn
	await(id, turns int) // waits until the worker's neighbors have ended so many turns
}

// counts are the numbers of turns that the workers have ended.
type counts [workers]atomic.Int64

func (c *counts) end(id int) { c[id].Add(1) }

func (c *counts) await(id, turns int) {
	for _, other := range neighbors(id) {
		for c[other].Load() < int64(turns) {
			runtime.Gosched()
		}
	}
}

// channels has a channel from each worker to each.
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
	for _, other := range neighbors(id) {
		c[id][other] <- struct{}{}
	}
}

func (c *channels) await(id, turns int) {
	if turns == 0 {
		return
	}
	for _, other := range neighbors(id) {
		<-c[other][id]
	}
}

func neighbors(id int) (all []int) {
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

// sum returns the sum of the heat of all points.
func (p plate) sum() (sum float64) {
	for _, line := range p {
		for _, x := range line {
			sum += x
		}
	}
	return sum
}
