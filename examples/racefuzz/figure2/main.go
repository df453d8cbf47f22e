// Command figure2 is figure 2 of "Race Directed Random Testing of Concurrent
// Programs" (Sen, PLDI 2008), statement by statement; the comments have the paper's
// numbers. The five calls before statement 8 are -n calls here.
//
// Statements 8 and 10 race, and if 8 comes first the program panics with ERROR. That hardly ever
// happens: 10 is the first statement of thread 2, and thread 1 has a long way to 8. When both have
// passed the lock, the accesses are even ordered, and a happens-before detector reports nothing.
//
// Each call is an atomic operation on a variable of the thread's own. So a scheduler that switches
// only at synchronization can switch at each call.
//
// With -fixed thread 1 waits at 8 until thread 2 has ended.
//
//	heisen run -detect hybrid ./examples/racefuzz/figure2
//	heisen run -detect hybrid ./examples/racefuzz/figure2 -fixed
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

var (
	x int
	l sync.Mutex
)

// work counts the steps of a thread.
type work struct{ done atomic.Int64 }

// f is one of the functions f1, f2 and so on.
func (w *work) f() { w.done.Add(1) }

// thread1 makes n calls before it reaches the race.
func thread1(n int, before8 <-chan struct{}) {
	var w work
	l.Lock() // 1
	for range n {
		w.f() // 2 to 6
	}
	l.Unlock() // 7
	if before8 != nil {
		<-before8
	}
	if x == 0 { // 8 race:8
		panic("ERROR") // 9
	}
}

func thread2() {
	var w work
	x = 1      // 10 race:10
	l.Lock()   // 11
	w.f()      // 12
	l.Unlock() // 13
}

func main() {
	n := flag.Int("n", 5, "how many `statements` come before statement 8")
	fixed := flag.Bool("fixed", false, "let thread 1 wait for thread 2 before statement 8")
	flag.Parse()
	if *n < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "figure2: -n is 0 or more, and there are no arguments")
		os.Exit(2)
	}

	first, second := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(first)
		var wait <-chan struct{}
		if *fixed {
			wait = second
		}
		thread1(*n, wait)
	}()
	thread2()
	close(second)
	<-first
	fmt.Println("no error")
}
