// Command soak checks that memory stays bounded in long runs and that reused memory causes no false
// alarm. It runs a program that starts ten million goroutines, makes a billion accesses and reuses
// a heap of 2 GB. Half of the heap is in use, and half waits for the next collection. The program
// detects races itself, as under heisen test, and sends nothing as long as it finds none. The
// command prints the memory of both processes as it goes to standard error, and in the end as a table.
//
//	go run ./bench/soak [-goroutines n] [-touched n] [-heap MiB] [-every duration]
//
// It must run in the folder of the module. Its exit status is 1 if there was a finding, if the
// program sent events, or if memory was not flat. It is not flat if either process took more than
// an eighth more memory in the last quarter of the run than in the third one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/heisen-go/heisen/bench/results"
)

func main() {
	var o options
	flag.IntVar(&o.goroutines, "goroutines", 10_000_000, "goroutines that the program starts")
	flag.IntVar(&o.touched, "touched", 100, "accesses for each of them")
	flag.IntVar(&o.heap, "heap", 2048, "what the program's heap grows to between collections in MiB; half of it stays in use")
	flag.DurationVar(&o.every, "every", 5*time.Second, "time between two lines")
	format := results.Flag()
	flag.Parse()
	if flag.NArg() > 0 || o.goroutines < 1 || o.touched < 0 || o.heap < 1 || o.every <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.out, o.progress = format.To(os.Stdout), os.Stderr
	result, err := soak(ctx, o)
	if err == nil {
		err = errors.Join(result.print(o.out), result.verdict(o))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
	fmt.Fprintln(o.out, "flat; no findings")
}
