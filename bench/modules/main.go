// Command modules runs the tests of twenty public modules with go test -race and with heisen test, one
// after the other, and compares what fails, how many races are reported, and what it costs. Sixteen
// modules are small. Four are large: an RPC framework, a consensus library, an HTTP server and a
// database.
//
//	go run ./bench/modules [-runs n] [-only regexp] [-first]
//
// The table has medians of the time and processor time of the go command and all that it starts.
// Everything is built before that. Below the table are all tests that failed, with either tool: a test that fails
// now and then may do so with one tool only.
//
// With -first, the command measures the first build instead, with empty caches.
//
// The modules were chosen by what they are and kept whatever came out. Their tests run with -short. Tests
// that need a network, or services of the system, fail with both tools.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/heisen-go/heisen/bench/results"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	runs := flag.Int("runs", 3, "runs of each module with each tool")
	only := flag.String("only", "", "only the modules that match `regexp`")
	first := flag.Bool("first", false, "measure the first build, with empty caches")
	format := results.Flag()
	flag.Parse()
	selected, err := regexp.Compile(*only)
	if err != nil || flag.NArg() > 0 || *runs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(ctx, format.To(os.Stdout), *runs, selected, *first); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}
