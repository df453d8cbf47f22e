package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := command(ctx, os.Stdout, os.Stderr, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "adversary:", err)
	}
	os.Exit(status)
}

// settings are the values of the flags.
type settings struct {
	state     string
	limit     time.Duration
	programs  int
	batch     int
	seed      uint64
	fragments int
	only      *regexp.Regexp
	waiting   bool
	explore   time.Duration
	search    time.Duration
	modes     []mode
	drop      map[int]bool
	print     bool
	minimize  bool

	library  *library
	progress io.Writer
}

// parse reads the flags.
func parse(messages io.Writer, args []string) (*settings, error) {
	s := &settings{progress: messages, drop: map[int]bool{}}
	flags := flag.NewFlagSet("adversary", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.StringVar(&s.state, "state", "", "`file` with figures and the place to go on")
	flags.DurationVar(&s.limit, "for", 55*time.Minute, "stop after this time")
	flags.IntVar(&s.programs, "n", 0, "stop after this `number` of programs; 0: go on until the time is over")
	flags.IntVar(&s.batch, "batch", 20, "`number` of programs in a test binary")
	flags.Uint64Var(&s.seed, "seed", 0, "`seed` of the first program, instead of the next one of -state")
	flags.IntVar(&s.fragments, "fragments", 6, "bound on the `number` of fragments in a program")
	only := flags.String("only", "", "only fragments and bugs whose names match `regexp`")
	flags.BoolVar(&s.waiting, "waiting", false, "also fragments that heisen is known to break")
	flags.DurationVar(&s.explore, "time", 2*time.Second, "the flag -time of heisen fuzz for a correct program")
	flags.DurationVar(&s.search, "search", 5*time.Second, "the flag -time of heisen fuzz for a program with a bug; if it is not found, more time shows whether it is at all")
	list := flags.String("modes", "", "comma-separated `list` of modes (default all)")
	drop := flags.String("drop", "", "leave out the pieces in a comma-separated `list` of numbers")
	flags.BoolVar(&s.print, "print", false, "print the source of the programs, and run nothing")
	flags.BoolVar(&s.minimize, "minimize", false, "look for the smallest part of a program that still fails")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || s.batch < 1 || s.programs < 0 || s.fragments < 0 || (s.print || s.minimize) && s.seed == 0 {
		flags.Usage()
		return nil, errors.New("wrong usage; -print and -minimize need a -seed")
	}
	for text := range strings.SplitSeq(*drop, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		s.drop[n] = true
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return nil, err
	}
	if s.modes, err = selectModes(*list); err != nil {
		return nil, err
	}
	s.library, err = loadLibrary()
	if err != nil {
		return nil, err
	}
	s.library.restrict(s.only)
	return s, nil
}

// selectModes returns the modes of a list.
func selectModes(list string) (selected []mode, err error) {
	if list == "" {
		return modes, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mode %q", name)
		}
		selected = append(selected, modes[i])
	}
	return selected, nil
}

// command does what the flags say and returns the exit status.
func command(ctx context.Context, out, messages io.Writer, args []string) (status int, err error) {
	s, err := parse(messages, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	defer restore("GODEBUG", "clobberfree=1")()
	switch {
	case s.print:
		for i := range max(1, s.programs) {
			p := s.recipe(&s.modes[0]).generate(s.seed + uint64(i))
			fmt.Fprint(out, p.text)
		}
		return 0, nil
	case s.minimize:
		return s.smallest(ctx, out)
	}
	before, err := readState(s.state)
	if err != nil {
		return 1, err
	}
	st, err := s.campaign(ctx)
	if st != nil {
		fmt.Fprint(out, st)
	}
	if err != nil || st.failed(len(before.Failures)) {
		return 1, err
	}
	return 0, nil
}

// recipe returns the recipe for the programs of a mode.
func (s *settings) recipe(m *mode) recipe {
	r := recipe{library: s.library, fragments: s.fragments, broken: m.broken, planted: m.planted, drop: s.drop}
	if m.broken {
		r.fragments = 0
	}
	r.spared = func(b bug) bool { return !s.waiting && len(s.library.bugs) > 1 && waits(b.name, m.name) }
	r.without = func(f fragment) bool { return m.inside && f.outside || !s.waiting && waits(f.name, m.name) }
	return r
}

// make makes the programs of a mode.
func (s *settings) make(m *mode, dir string, first uint64, n int) (*batch, error) {
	r := s.recipe(m)
	var programs []program
	for i := range n {
		programs = append(programs, r.generate(first+uint64(i)))
	}
	return r.write(dir, programs)
}
