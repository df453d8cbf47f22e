package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := command(ctx, os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "bugtests: %v\n", err)
	}
	os.Exit(status)
}

// options are the values of the flags.
type options struct {
	tries, first int // how many, and the seed of the first
	time         time.Duration
	quick        time.Duration // the flag -time of a first attempt; 0 if there is none
	selected     *regexp.Regexp
	asJSON       bool
	races        bool
	plain        int
	goroot       bool
	packages     []string
	built        subject // whose executable is there

	heisen bugfuzz.Heisen
	out    io.Writer
}

// command parses the flags, tries the programs and prints the results.
func command(ctx context.Context, out io.Writer, args []string) (status int, err error) {
	o := options{out: out}
	flags := flag.NewFlagSet("bugtests", flag.ContinueOnError)
	flags.IntVar(&o.tries, "tries", 1, "try each program `n` times")
	flags.IntVar(&o.first, "seed", 1, "`seed` of the first try; the seeds of the others are 1000 apart")
	flags.DurationVar(&o.time, "time", 10*time.Second, "the flag -time of heisen fuzz")
	flags.DurationVar(&o.quick, "quick", 0, "try each seed with this flag -time at first, and for longer only if the bug is not found")
	classes := flags.String("class", "", "only the programs of the classes in a comma-separated `list`")
	run := flags.String("run", "", "only the tests (with packages: or the programs) that match `regexp`")
	flags.BoolVar(&o.asJSON, "json", false, "print a line of JSON for each program instead of a table")
	flags.BoolVar(&o.races, "races", false, "compare heisen fuzz with plain runs under heisen test")
	flags.IntVar(&o.plain, "plain", 20, "races: `n` plain runs of each test")
	flags.BoolVar(&o.goroot, "goroot", false, "races: the test data of Go's race detector instead of the corpus")
	flags.StringVar(&o.heisen.Command, "heisen", "", "`command` to use (default: that of this module, in this process)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	o.packages = flags.Args()
	if o.tries < 1 || o.plain < 1 || !o.races && (o.goroot || len(o.packages) > 0) || o.goroot && len(o.packages) > 0 {
		flags.Usage()
		return 2, nil
	}
	if o.selected, err = regexp.Compile(*run); err != nil {
		return 2, err
	}
	var programs []corpus.Program
	if o.heisen.Corpus, programs, err = bugfuzz.Load(ctx, *classes, o.selected); err != nil {
		return 1, err
	}
	if len(programs) == 0 && !o.goroot && len(o.packages) == 0 {
		return 1, errors.New("no programs are selected")
	}
	if o.heisen.Work, err = os.MkdirTemp("", "heisen-bugtests-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(o.heisen.Work)
	if o.heisen.Command == "" {
		err = o.heisen.Keep()
		defer o.heisen.Close()
	} else {
		o.heisen.Command, err = filepath.Abs(o.heisen.Command)
	}
	if err != nil {
		return 1, err
	}
	if o.races {
		return o.compareRaces(ctx, programs)
	}
	return o.tryAll(ctx, programs)
}

// A result is what the tries of a program showed.
type result struct {
	Class    string  `json:"class"`
	Program  string  `json:"program"`
	Tries    int     `json:"tries"`
	Found    int     `json:"found"`              // tries that reported the bug
	Replayed int     `json:"replayed"`           // reports of the bug that heisen replay repeated
	Reports  int     `json:"reports"`            // of the bug
	Seconds  float64 `json:"seconds"`            // the median of a try
	Wrong    []wrong `json:"wrong,omitempty"`    // about the test with the bug
	False    []wrong `json:"false,omitempty"`    // about the fixed test
	Unplayed []wrong `json:"unplayed,omitempty"` // reports that did not replay
}

// wrong is a finding that should not have been reported, or is wrong otherwise.
type wrong struct {
	Seed    int    `json:"seed"`
	Finding string `json:"finding"`
}

// good reports whether the result is what the corpus demands.
func (r *result) good() bool {
	return r.Found*100 >= r.Tries*95 && len(r.Wrong)+len(r.False)+len(r.Unplayed) == 0
}

// tryAll tries the programs and prints the results.
func (o *options) tryAll(ctx context.Context, programs []corpus.Program) (status int, err error) {
	const row = "%-16s %-12s %-12s %-12s %-6s %-6s %s\n" // printed at once: the tries take long
	if !o.asJSON {
		fmt.Fprintf(o.out, row, "class", "program", "found", "replayed", "wrong", "false", "median")
	}
	var all []result
	for i := range programs {
		r, err := o.try(ctx, &programs[i])
		if err != nil {
			return 1, err
		}
		all = append(all, r)
		if o.asJSON {
			if err := json.NewEncoder(o.out).Encode(r); err != nil {
				return 1, err
			}
			continue
		}
		fmt.Fprintf(o.out, row, r.Class, r.Program, ratio(r.Found, r.Tries), ratio(r.Replayed, r.Reports),
			fmt.Sprint(len(r.Wrong)), fmt.Sprint(len(r.False)), fmt.Sprintf("%.1f s", r.Seconds))
	}
	if !o.asJSON {
		o.summary(all)
	}
	if slices.ContainsFunc(all, func(r result) bool { return !r.good() }) {
		return 1, nil
	}
	return 0, nil
}

// ratio returns "n of all".
func ratio(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

// summary prints the findings that are wrong, and the sums.
func (o *options) summary(all []result) {
	var sum result
	good := 0
	for i := range all {
		r := &all[i]
		for _, list := range []struct {
			what  string
			wrong []wrong
		}{{"not expected", r.Wrong}, {"false, about the fixed test", r.False}, {"does not replay", r.Unplayed}} {
			for _, w := range list.wrong {
				fmt.Fprintf(o.out, "%s/%s, seed %d: %s: %s\n", r.Class, r.Program, w.Seed, list.what, w.Finding)
			}
		}
		if r.good() {
			good++
		}
		sum.Tries, sum.Found = sum.Tries+r.Tries, sum.Found+r.Found
		sum.Replayed, sum.Reports = sum.Replayed+r.Replayed, sum.Reports+r.Reports
		sum.Wrong, sum.False = append(sum.Wrong, r.Wrong...), append(sum.False, r.False...)
	}
	fmt.Fprintf(o.out, "%d programs, %d of them as they should be; bugs found in %d of %d tries; %d of %d reports replayed; %d not expected, %d false\n",
		len(all), good, sum.Found, sum.Tries, sum.Replayed, sum.Reports, len(sum.Wrong), len(sum.False))
}

// try tries a program.
func (o *options) try(ctx context.Context, p *corpus.Program) (r result, err error) {
	r = result{Class: p.Class, Program: strings.TrimPrefix(p.Test, "Test"), Tries: o.tries}
	var took []float64
	for k := range o.tries {
		seed := o.first + 1000*k
		buggy, err := o.fuzz(ctx, p, p.Test, seed, func(t *bugfuzz.Try) bool {
			return slices.ContainsFunc(t.Findings, func(f report.Finding) bool { return p.Expects(&f) })
		})
		if err != nil {
			return r, err
		}
		took = append(took, buggy.Took.Seconds())
		found := false
		for i := range buggy.Findings {
			f := &buggy.Findings[i]
			if !p.Expects(f) {
				r.Wrong = append(r.Wrong, wrong{seed, f.String()})
				continue
			}
			found = true
			r.Reports++
			again, err := o.heisen.Replays(ctx, f)
			if err != nil {
				return r, err
			}
			if again {
				r.Replayed++
			} else {
				r.Unplayed = append(r.Unplayed, wrong{seed, f.String()})
			}
		}
		if found {
			r.Found++
		}
		fixed, err := o.fuzz(ctx, p, p.Fixed, seed, func(*bugfuzz.Try) bool { return true })
		if err != nil {
			return r, err
		}
		took = append(took, fixed.Took.Seconds())
		for i := range fixed.Findings {
			r.False = append(r.False, wrong{seed, fixed.Findings[i].String()})
		}
	}
	slices.Sort(took)
	r.Seconds = took[len(took)/2]
	return r, nil
}

// fuzz runs heisen fuzz on a test of a program, for increasing times if there is a quick one, until that is enough.
func (o *options) fuzz(ctx context.Context, p *corpus.Program, test string, seed int, enough func(*bugfuzz.Try) bool) (t bugfuzz.Try, err error) {
	for _, limit := range bugfuzz.Times(o.quick, o.time) {
		if t, err = o.heisen.Fuzz(ctx, "./"+p.Class, test, seed, limit); err != nil || enough(&t) {
			break
		}
	}
	return t, err
}
