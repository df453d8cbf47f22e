// Command moldyn moves particles that attract and repel each other, as the kernel of
// that name in the Java Grande benchmarks does. Each goroutine computes the forces
// between some of the pairs into an array of its own; one of them adds the arrays up;
// each moves some of the particles. Barriers stand between these phases.
//
// The barrier is made of a mutex and a condition variable. So no message orders the
// phases as far as a hybrid detector can tell, and everything that is written in one
// phase and read in the next looks as if it raced. It does not.
//
// What races, and harms nobody, is the number of the move, which each goroutine notes
// at the start of a phase and one reads in the same phase, to draw up the energy now
// and then: all write the same number. A scheduler that holds a goroutine back at an
// access must let it go again, for the others wait at the barrier.
//
// With -fixed only one goroutine notes the move.
//
//	heisen run -detect hybrid ./examples/racefuzz/moldyn -particles 32 -moves 4
//	heisen run -detect hybrid ./examples/racefuzz/moldyn -particles 32 -moves 4 -fixed
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"sync"
)

func main() {
	particles := flag.Int("particles", 256, "how many `particles` there are")
	moves := flag.Int("moves", 160, "how often they move")
	fixed := flag.Bool("fixed", false, "let one goroutine note the number of the move")
	flag.Parse()
	if *particles < 2 || *moves < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "moldyn: -particles is 2 or more, -moves 0 or more, and there are no arguments")
		os.Exit(2)
	}

	s := newSystem(*particles)
	before := s.momentum()
	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() { s.run(id, *moves, *fixed) })
	}
	working.Wait()
	// What one particle gains another one loses.
	for k, p := range s.momentum() {
		if !(math.Abs(p-before[k]) < 1e-9) {
			panic(fmt.Sprintf("the momentum was %v and is %v", before, s.momentum()))
		}
	}
	if want := *moves / sample; len(s.energies) != want {
		panic(fmt.Sprintf("%d energies, want %d", len(s.energies), want))
	}
	fmt.Printf("%d particles, %d moves, energy %.6f\n", *particles, *moves, s.energy())
}
