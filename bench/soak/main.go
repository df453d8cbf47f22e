// Command soak shows that memory stays bounded in long runs, and nothing is
// reported for memory that is used again: it watches a program that starts ten
// million goroutines, makes a billion accesses and turns over a heap of 2 GB, of which
// half is in use and half waits for the next collection, and prints the memory of both
// processes as it goes. The program looks for races itself, as under heisen test, and
// sends nothing as long as it finds none.
//
//	go run ./bench/soak [-goroutines n] [-touched n] [-heap MiB] [-every duration]
//
// It must be run in the module's folder. Its exit status is 1 if there was a
// finding, if something was sent all the same, or if memory was not flat: in the last
// quarter of the run, either process took more than an eighth more than in the third,
// apart from the 16 bytes that the program keeps of each goroutine for good.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.goroutines, "goroutines", 10_000_000, "goroutines that the program starts")
	flag.IntVar(&o.touched, "touched", 100, "accesses for each of them")
	flag.IntVar(&o.heap, "heap", 2048, "what the program's heap grows to between collections in MiB; half of it stays in use")
	flag.DurationVar(&o.every, "every", 5*time.Second, "time between two lines")
	flag.Parse()
	if flag.NArg() > 0 || o.goroutines < 1 || o.touched < 0 || o.heap < 1 || o.every <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.out = os.Stdout
	result, err := soak(ctx, o)
	if err == nil {
		err = result.verdict(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
	fmt.Println("flat; no findings")
}
