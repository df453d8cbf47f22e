// Command tree measures the filter of package tree, and the one in programs. The thesis "TREE and RDIT" measured its filter in
// front of FastTrack. There are three modes. The first makes table 5.1, on recorded events:
//
//	go run ./bench/tree -programs [-events n] [-count n] [-run regexp]
//
// Each program runs once with the recorder inside, and its events are kept. The accesses are those
// of the packages of this module. Then detectors analyze the same events alone and behind a
// filter, in turns. The thesis ran Java programs, and it ran each program once for each
// configuration, with the analysis inside. So its speedup is of the program with its analysis, and
// that of this table is of the analysis alone. Programs that stand for one of the thesis have its
// figures beside theirs: four are counterparts of the same benchmark, and upload is a server as
// jigsaw is.
//
// The second measures the programs while they run, with -filter none and -filter tree:
//
//	go run ./bench/tree -live [-count n] [-run regexp]
//
// Times are the processor time of the program and the detector. With the filter, programs do the work of fasttrack themselves, leave out
// redundant accesses for hb and hybrid, and all accesses for lockorder. Programs that have such arguments run longer than in the
// first mode.
//
// The third mode makes the figures 5.2 and 5.3, on generated traces of their programs:
//
//	go run ./bench/tree -figures [-scale x] [-count n]
//
// Each row varies the number of threads, of iterations, or of locks. The thesis has curves without
// numbers, so the table names what it says about them.
//
// The first and the third mode compare FastTrack alone, FastTrack behind the filter of package tree ("heisen"), which
// loses no racy variable, and FastTrack behind the algorithm of the thesis, with type and address in its key, which does. The columns
// are:
//
//   - skipped: the part of all events that do not reach FastTrack.
//   - speedup: how much less processor time the least of -count runs takes than that of FastTrack alone.
//   - memory: the heap that is in use when all events are analyzed, with the filter and FastTrack.
//   - racy variables: the variables that FastTrack reports.
//   - ms: the processor time of another detector, alone and with the filter that heisen analyze -filter tree puts in front of it; hb gets
//     the first 500,000 events.
//
// The filter of package tree stops looking for redundant accesses where the detector alone is faster. It then skips less.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/heisen-go/heisen/bench/results"
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
	live := flag.Bool("live", false, "measure the programs with the detectors while they run")
	scale := flag.Float64("scale", 1, "factor for the number of iterations in the figures")
	format := results.Flag()
	flag.Parse()
	w := format.To(os.Stdout)
	if flag.NArg() > 0 || *count < 1 || *events < 1 || *scale <= 0 || chosen(*onPrograms, *onFigures, *live) != 1 {
		return errors.New("want one of -programs, -figures and -live; see -h")
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if err := results.Conditions(w, "./bench/tree"); err != nil {
		return err
	}
	if *live {
		return printLive(ctx, w, *count, match)
	}
	if *onFigures {
		return printFigures(w, *count, *scale)
	}
	return printPrograms(ctx, w, *count, *events, match)
}

// chosen returns how many flags are set.
func chosen(flags ...bool) (n int) {
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}
