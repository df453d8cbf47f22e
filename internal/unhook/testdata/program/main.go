// Program has accesses of all kinds. It prints what it has computed.
package main

import (
	"fmt"
	"sync"
)

type point struct{ x, y int }

type grid struct {
	points [8]point
	sum    int
	name   string
}

var all grid

// leaf calls nothing, and may panic.
//
//go:noinline
func (g *grid) leaf(i int) int {
	g.points[i].x++
	return g.points[i].x + g.points[i].y
}

// copies reads and writes ranges of memory.
//
//go:noinline
func (g *grid) copies(from, to int) {
	g.points[to] = g.points[from]
}

// calls calls leaf, and what is inlined.
//
//go:noinline
func (g *grid) calls() {
	for i := range g.points {
		g.add(g.leaf(i))
	}
	g.name = fmt.Sprint(g.sum)
}

func (g *grid) add(n int) { g.sum += n }

// chosen has a jump table.
//
//go:noinline
func (g *grid) chosen(n int) {
	switch n {
	case 0:
		g.sum++
	case 1:
		g.sum += 2
	case 2:
		g.sum *= 3
	case 3:
		g.sum -= 4
	case 4:
		g.sum ^= 5
	case 5:
		g.sum |= 6
	case 6:
		g.sum &^= 7
	case 7:
		g.sum <<= 1
	case 8:
		g.sum >>= 1
	}
}

func main() {
	var done sync.WaitGroup
	done.Go(func() {
		all.calls()
		all.copies(1, 2)
		for n := range 10 {
			all.chosen(n)
		}
		for n := range 100 {
			kept.keep(n)
		}
		func() {
			defer func() { fmt.Println(recover()) }()
			all.leaf(len(all.points))
		}()
	})
	done.Wait()
	fmt.Println(all, kept)
}

type list struct{ numbers []int }

var kept list

// keep lets the runtime read the numbers, to copy them.
//
//go:noinline
func (l *list) keep(n int) {
	l.numbers = append(l.numbers, n)
}
