package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/internal/testaid/leakprograms"
	"github.com/heisen-go/heisen/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := command(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "goleaktests: %v\n", err)
	}
	os.Exit(status)
}

// options are the values of the flags.
type options struct {
	tries   int
	first   int // seed of the first try
	time    time.Duration
	quick   time.Duration // the flag -time of a first attempt; 0 if there is none
	run     *regexp.Regexp
	verbose bool
	runs    bool // ordinary runs instead of heisen fuzz

	experiment bool // the profile of leaked goroutines is an experiment in this release

	heisen bugfuzz.Heisen
}

// command parses the flags, tries the programs and prints the results.
func command(ctx context.Context, args []string) (status int, err error) {
	var o options
	flags := flag.NewFlagSet("goleaktests", flag.ContinueOnError)
	flags.IntVar(&o.tries, "count", 1, "try each program `n` times")
	flags.IntVar(&o.first, "seed", 1, "`seed` of the first try; the seeds of the others are 1000 apart")
	flags.DurationVar(&o.time, "time", 10*time.Second, "the flag -time of heisen fuzz")
	flags.DurationVar(&o.quick, "quick", 0, "try each seed with this flag -time at first, and for longer only if a leak is missing")
	flags.StringVar(&o.heisen.Command, "heisen", "", "`command` to use (default: that of this module, in this process)")
	flags.BoolVar(&o.verbose, "v", false, "print a line for each program")
	flags.BoolVar(&o.runs, "runs", false, "use heisen run -detect leak, and compare with the profile of the same run")
	run := flags.String("run", "", "only the programs that match `regexp`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	if o.run, err = regexp.Compile(*run); err != nil {
		return 2, err
	}
	work, err := os.MkdirTemp("", "heisen-goleaktests-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(work)
	o.heisen.Work = work
	toolchain, err := build.FindToolchain(ctx, "")
	if err != nil {
		return 1, err
	}
	o.experiment = strings.HasPrefix(toolchain.Version, "go1.26.")
	programs, err := leakprograms.Read(toolchain.Root, work, o.runs)
	switch {
	case err != nil:
	case o.heisen.Command != "":
		o.heisen.Command, err = filepath.Abs(o.heisen.Command)
	case o.runs:
		err = o.heisen.Build(ctx)
	default:
		err = o.heisen.Keep()
		defer o.heisen.Close()
	}
	if err != nil {
		return 1, err
	}
	o.heisen.Corpus = work // after the build of the command, which belongs to another module
	programs = slices.DeleteFunc(programs, func(p leakprograms.Program) bool { return !o.run.MatchString(p.Name) })
	return o.tryAll(ctx, programs)
}

// tryAll tries the programs and prints a line for each that does not always succeed.
func (o *options) tryAll(ctx context.Context, programs []leakprograms.Program) (status int, err error) {
	tries, succeeded, leaks, found, unexpected := 0, 0, 0, 0, 0
	var longest time.Duration
	for i := range programs {
		p := &programs[i]
		missed, others, good := make([]int, len(p.Leaks)), map[string]int{}, 0
		for k := range o.tries {
			start := time.Now()
			var seen []string
			expected := p.Leaks
			if o.runs {
				seen, expected, err = o.tryRun(ctx, p)
			} else {
				seen, err = o.try(ctx, p, o.first+1000*k)
			}
			if err != nil {
				return 1, fmt.Errorf("%s: %w", p.Name, err)
			}
			longest = max(longest, time.Since(start))
			all := true
			for j, l := range p.Leaks {
				if slices.ContainsFunc(seen, l.Pattern.MatchString) {
					continue
				}
				missed[j]++
				all = all && !slices.Contains(expected, l)
			}
			for _, s := range seen {
				if !slices.ContainsFunc(p.Leaks, func(l leakprograms.Leak) bool { return l.Pattern.MatchString(s) }) {
					others[s]++
				}
			}
			if all {
				good++
			}
		}
		tries, succeeded, leaks, unexpected = tries+o.tries, succeeded+good, leaks+len(p.Leaks), unexpected+len(others)
		for _, n := range missed {
			if n < o.tries {
				found++
			}
		}
		if good == o.tries && len(others) == 0 && !o.verbose {
			continue
		}
		fmt.Printf("%s: %d of %d tries\n", p.Name, good, o.tries)
		for j, l := range p.Leaks {
			if missed[j] > 0 && (!o.runs || good < o.tries) {
				fmt.Printf("  not in %d: %s\n", missed[j], l.Pattern)
			}
		}
		for s, n := range others {
			fmt.Printf("  not expected, in %d: %s\n", n, s)
		}
	}
	fmt.Printf("%d programs, %d tries, all leaks found in %d; %d of %d leaks found at least once, %d not expected; longest try %.1f s\n",
		len(programs), tries, succeeded, found, leaks, unexpected, longest.Seconds())
	if succeeded < tries || unexpected > 0 {
		return 1, nil
	}
	return 0, nil
}

// try runs heisen fuzz on a program, for increasing times if there is a quick one, until no leak is missing. It returns the
// goroutines that wait for ever; see leakprograms.In.
func (o *options) try(ctx context.Context, p *leakprograms.Program, seed int) (all []string, err error) {
	missing := func(l leakprograms.Leak) bool { return !slices.ContainsFunc(all, l.Pattern.MatchString) }
	for _, limit := range bugfuzz.Times(o.quick, o.time) {
		seen, err := o.fuzz(ctx, p, seed, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, seen...)
		if len(p.Leaks) > 0 && !slices.ContainsFunc(p.Leaks, missing) {
			break
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// fuzz runs heisen fuzz on a program.
func (o *options) fuzz(ctx context.Context, p *leakprograms.Program, seed int, limit time.Duration) (seen []string, err error) {
	var out, messages bytes.Buffer
	status, err := o.heisen.Run(ctx, &out, &messages, "fuzz", "-corpus", "none", "-seeds", fmt.Sprintf("%d:%d", seed, seed+9), "-time", limit.String(),
		"-minimize", "0", "-report", "json", "-schedules", filepath.Join(o.heisen.Work, "schedules"), "run", "./"+p.Folder, p.Name)
	if err == nil && status != 0 && status != 66 {
		err = fmt.Errorf("exit status %d", status)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, messages.Bytes())
	}
	findings, err := report.ReadJSON(&out)
	for i := range findings {
		err = errors.Join(err, diagramtest.Check(&findings[i]))
	}
	return leakprograms.In(findings), err
}
