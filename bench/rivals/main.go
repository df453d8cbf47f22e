// Command rivals compares heisen with other tools that find concurrency bugs in tests: go test itself,
// go test -race, go.uber.org/goleak and github.com/sasha-s/go-deadlock. The programs are those of
// package corpus: 56 tests with one bug each, in 14 classes, and a fixed twin of each.
//
//	go run ./bench/rivals [-runs n] [-time d] [-class list] [-run regexp] [-tools list] [-keep file]
//
// Each tool gets the same tests. It runs each test -runs times, by -count, in one process. heisen fuzz
// repeats each test by itself, for -time. A bug counts as reported if the test fails or the tool reports
// anything in it, and a fixed twin in which that happens is a false report. So a test that panics, fails
// its own checks or hangs is a report of every tool, that of go test included. A test hangs if it takes
// some seconds longer than its fixed twin.
//
// The tests run in copies, one for each tool that needs changes of the source: for goleak, each test
// begins with defer goleak.VerifyNone(t); for go-deadlock, its types stand in the place of sync.Mutex and
// sync.RWMutex, and its timeout is two seconds instead of thirty. Lines stay where they are. The versions
// of both are in the folder module, which is a module of its own.
//
// The comparison takes long. With -keep, a run that was interrupted can be continued.
//
// The programs were written for the tests of heisen, from descriptions of classes of bugs. That is an
// advantage for heisen, whose tests demand that it finds these bugs. The second list below the table has what
// another tool reports and heisen does not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen/bench/results"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	runs := flag.Int("runs", 20, "runs of each test with each tool")
	limit := flag.Duration("time", time.Second, "the flag -time of heisen fuzz")
	class := flag.String("class", "", "only the classes in a comma-separated `list`")
	run := flag.String("run", "", "only the programs whose test matches `regexp`")
	names := flag.String("tools", "", "only the tools in a comma-separated `list`: "+strings.Join(toolNames(), ", "))
	file := flag.String("keep", "", "write results to a `file` after each class, and go on with those in it; it is removed at the end")
	format := results.Flag()
	flag.Parse()
	selected, err := regexp.Compile(*run)
	if err != nil || flag.NArg() > 0 || *runs < 1 || *limit <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	c := &comparison{runs: *runs, limit: *limit, file: *file, progress: os.Stderr}
	if c.tools, err = chooseTools(*names); err == nil {
		if err = c.load(ctx, *class, selected); err == nil {
			err = c.measure(ctx)
		}
		c.close()
	}
	if err == nil {
		err = c.print(format.To(os.Stdout))
	}
	if err == nil && *file != "" {
		err = os.Remove(*file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rivals:", err)
		os.Exit(1)
	}
}
