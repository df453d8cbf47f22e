package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// packages are those that are compared without arguments: what synchronizes, waits, measures time, or
// talks to the world outside.
var packages = []string{
	"context", "sync", "sync/atomic", "time", "testing", "testing/synctest", "os/signal", "os/exec", "iter", "weak", "unique",
	"internal/sync", "net", "net/http", "runtime",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gosuites:", err)
		os.Exit(1)
	}
}

// errDiffers says that verdicts differ without an explanation.
var errDiffers = errors.New("verdicts differ")

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("gosuites", flag.ContinueOnError)
	c := comparison{out: out}
	flags.StringVar(&c.tests, "run", ".", "compare the tests that match the pattern")
	flags.IntVar(&c.collect, "collect", 0, "in explore mode, collect garbage at every nth point (0: do not)")
	flags.IntVar(&c.parallel, "j", runtime.NumCPU(), "tests at a time in explore mode")
	flags.DurationVar(&c.limit, "limit", 2*time.Minute, "time of a test in explore mode")
	results := flags.String("results", "", "keep the verdicts in a file, and go on where it ends")
	bound := flags.Duration("time", 0, "begin no further test after this time (0: do all)")
	if err := flags.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if *bound > 0 {
		c.until = time.Now().Add(*bound)
	}
	if err := c.open(*results); err != nil {
		return err
	}
	defer c.close()
	chosen := flags.Args()
	if len(chosen) == 0 {
		chosen = packages
	}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	for _, pkg := range chosen {
		if err := c.compare(ctx, pkg); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
	}
	return c.summarize()
}
