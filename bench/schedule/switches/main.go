// Command switches is the program that command schedule measures. Its goroutines yield to each
// other, lock, or count atomically, a given number of times in all.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	n := flag.Int("n", 0, "`number` of operations")
	goroutines := flag.Int("goroutines", 2, "`number` of goroutines")
	how := flag.String("how", "gosched", "gosched, lock, atomic or channel")
	flag.Parse()
	var mu sync.Mutex
	done := 0
	var count atomic.Int64
	step, ok := map[string]func(){
		"gosched": runtime.Gosched,
		"lock":    func() { mu.Lock(); done++; mu.Unlock() },
		"atomic":  func() { count.Add(1) },
		"channel": func() {},
	}[*how]
	if !ok {
		fmt.Fprintln(os.Stderr, "switches: no such thing as", *how)
		os.Exit(2)
	}
	var wg sync.WaitGroup
	there, back := make(chan int), make(chan int)
	for i := range *goroutines {
		wg.Go(func() {
			for range *n / *goroutines {
				switch {
				case *how != "channel":
					step()
				case i%2 == 0:
					there <- 1
					<-back
				default:
					<-there
					back <- 1
				}
			}
		})
	}
	wg.Wait()
}
