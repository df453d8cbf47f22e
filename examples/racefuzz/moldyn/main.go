// Command moldyn moves particles that attract and repel each other, like the kernel moldyn of the
// Java Grande benchmarks. Each goroutine computes the forces between some of the pairs into an
// array of its own. One of them adds up the arrays. Each moves some of the particles. Barriers
// separate these phases.
//
// The barrier consists of a mutex and a condition variable. A hybrid detector sees no message that
// orders the phases. So the accesses that write in one phase and read in the next look like races.
// They are none.
//
// The only race is harmless. It is on the number of the move. Each goroutine writes this number at
// the start of a phase, and one of them reads it in the same phase, in order to record the energy
// now and then. All write the same number. A scheduler that postpones a goroutine at an access must
// release it again, because the others wait at the barrier.
//
// With -fixed only one goroutine writes the number of the move.
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
	fixed := flag.Bool("fixed", false, "let one goroutine write the number of the move")
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
	// The momentum is constant, because forces come in opposite pairs.
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
