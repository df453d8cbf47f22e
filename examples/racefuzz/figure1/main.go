// Command figure1 is figure 1 of "Race Directed Random Testing of Concurrent
// Programs" (Sen, PLDI 2008), statement by statement; the comments have the paper's
// numbers.
//
// Statements 5 and 7 race: nothing orders them. If 7 comes first, the program panics with ERROR1.
// Statements 1 and 10 only look like a race, because no lock is held at 1. Thread 2 reaches 10 only
// if it has read at 9 what thread 1 wrote at 3, which is after 1. So ERROR2 is unreachable. The
// accesses to y are locked.
//
// With -fixed thread 2 begins when thread 1 has ended.
//
//	heisen run -detect hybrid ./examples/racefuzz/figure1
//	heisen run -detect hybrid ./examples/racefuzz/figure1 -fixed
package main

import (
	"flag"
	"fmt"
	"sync"
)

var (
	x, y, z int
	l       sync.Mutex
)

func thread1() {
	x = 1       // 1 race:1
	l.Lock()    // 2
	y = 1       // 3
	l.Unlock()  // 4
	if z == 1 { // 5 race:5
		panic("ERROR1") // 6
	}
}

func thread2() {
	z = 1       // 7 race:7
	l.Lock()    // 8
	if y == 1 { // 9
		if x != 1 { // 10 race:10
			panic("ERROR2") // 11
		} // 12
	} // 13
	l.Unlock() // 14
}

func main() {
	fixed := flag.Bool("fixed", false, "let thread 2 begin when thread 1 is done")
	flag.Parse()

	first, second := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(second)
		if *fixed {
			<-first
		}
		thread2()
	}()
	thread1()
	close(first)
	<-second
	fmt.Println("no error")
}
