// Command tree measures the filter of package tree in front of FastTrack, as the thesis "TREE and
// RDIT" does. It has two modes. The first makes table 5.1, on programs:
//
//	go run ./bench/tree -programs [-events n] [-count n] [-run regexp]
//
// Each program runs once with the recorder inside, and its events are kept. The accesses are those
// of the packages of this module. Then FastTrack analyzes the same events alone and behind a
// filter, in turns. The thesis ran Java programs, and it ran each program once for each
// configuration, with the analysis inside. So its speedup is of the program with its analysis, and
// that of this table is of the analysis alone. Programs that stand for one of the thesis have its
// figures beside theirs: four are counterparts of the same benchmark, and upload is a server as
// jigsaw is.
//
// The second mode makes the figures 5.2 and 5.3, on generated traces of their programs:
//
//	go run ./bench/tree -figures [-scale x] [-count n]
//
// Each row varies the number of threads, of iterations, or of locks. The thesis has curves without
// numbers, so the table names what it says about them.
//
// Both modes compare FastTrack alone, FastTrack behind the filter of package tree ("heisen"), which
// loses no racy variable, and FastTrack behind the algorithm of the thesis, which does. The columns
// are:
//
//   - skipped: the part of all events that do not reach FastTrack.
//   - speedup: how much less time the least of -count runs takes than that of FastTrack alone.
//   - memory: the heap that is in use when all events are analyzed, with the filter and FastTrack.
//   - racy variables: the variables that FastTrack reports.
//
// The filter of package tree stops looking for redundant accesses where that costs more than
// FastTrack does. It then skips less.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/heisen-go/heisen/bench/markdown"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tree:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context) error {
	onPrograms := flag.Bool("programs", false, "make table 5.1")
	onFigures := flag.Bool("figures", false, "make the figures 5.2 and 5.3 as tables")
	count := flag.Int("count", 5, "runs of which a time is the least")
	events := flag.Int("events", 2_000_000, "keep so `many` events of a program")
	only := flag.String("run", "", "only programs whose name matches `regexp`")
	scale := flag.Float64("scale", 1, "factor for the number of iterations in the figures")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 || *events < 1 || *scale <= 0 || *onPrograms == *onFigures {
		return errors.New("want one of -programs and -figures; see -h")
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if err := markdown.Conditions(os.Stdout, "./bench/tree"); err != nil {
		return err
	}
	if *onFigures {
		return printFigures(os.Stdout, *count, *scale)
	}
	return printPrograms(ctx, os.Stdout, *count, *events, match)
}
