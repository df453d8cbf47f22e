package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heisen-go/heisen/internal/recorder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := command(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "goracetests: %v\n", err)
	}
	os.Exit(status)
}

// A plan selects the functions to run and says how often to run them.
type plan struct {
	chosen      func(function) bool
	part, parts int   // of the chosen functions, every parts-th one is run, from part on; no parts are one
	procs       []int // values of GOMAXPROCS; each function runs at each of them
	repetitions int
	parallel    int // number of processes at the same time
}

// command parses the flags, builds the test data, runs the plan and prints the result.
func command(ctx context.Context, args []string) (status int, err error) {
	s, p, verbose, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, err
	}
	work, err := os.MkdirTemp("", "heisen-goracetests-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(work)
	started := time.Now()
	progress := terminal(os.Stderr)
	progress("building")
	err = s.build(ctx, work)
	progress("")
	if err != nil {
		return 1, err
	}
	built := time.Now()
	tallies, err := s.runAll(ctx, p, progress)
	if err != nil {
		return 1, err
	}
	fmt.Printf("%s, each function %d times\n\n", s, p.repetitions)
	printTable(os.Stdout, tallies, p.procs)
	fmt.Println()
	wrong := printWrong(os.Stdout, tallies, verbose)
	fmt.Printf("built in %.0f s, ran in %.0f s\n", built.Sub(started).Seconds(), time.Since(built).Seconds())
	if wrong > 0 {
		return 1, fmt.Errorf("%d wrong in scope", wrong)
	}
	return 0, nil
}

// parse reads the command line.
func parse(args []string) (s *suite, p plan, verbose bool, err error) {
	s = new(suite)
	flags := flag.NewFlagSet("goracetests", flag.ContinueOnError)
	run := flags.String("run", "", "run only the functions that match `regexp`")
	file := flags.String("file", "", "run only the files that match `regexp`")
	procs := flags.String("procs", "1,0", "comma-separated `list` of GOMAXPROCS; 0 is all processors")
	part := flags.String("part", "1/1", "run only this `part` of the functions: 2/5 is the second of five parts")
	filter := flags.String("filter", "tree", "`filter` of heisen's recorder: tree or none; with tree, the program itself does the work of fasttrack")
	flags.IntVar(&p.repetitions, "count", 1, "run each function `n` times")
	flags.IntVar(&p.parallel, "parallel", runtime.NumCPU(), "run `n` processes at a time")
	flags.StringVar(&s.tool, "tool", toolHeisen, "`name` of the tool to check: heisen, or race for the race detector of go test -race")
	flags.StringVar(&s.detector, "detect", "fasttrack", "`name` of heisen's detector: fasttrack, hb, mcm or atomrace; atomrace may miss races, but must not report a false one")
	flags.BoolVar(&s.alone, "alone", false, "let programs look for races and print them themselves, as those of heisen build do")
	flags.BoolVar(&s.unseen, "unseen", false, "treat the functions as programs in which something may synchronize that heisen does not see")
	noise := flags.Int("noise", 200, "number of accesses in a thousand that wait, with -detect atomrace")
	flags.StringVar(&s.data, "testdata", "", "`folder` of the test data (default: that of the Go installation)")
	flags.StringVar(&s.pkg, "package", "", "`package` of the working directory's module to use as the test data")
	emulator := flags.String("exec", "", "run the functions with this `command`, as go test -exec does")
	flags.BoolVar(&verbose, "v", false, "print the output of functions with a wrong verdict")
	if err = flags.Parse(args); err != nil {
		return
	}
	s.emulator = strings.Fields(*emulator)
	_, known := detectors[s.detector]
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %s", flags.Arg(0))
	case p.repetitions < 1 || p.parallel < 1:
		err = errors.New("-count and -parallel must be at least 1")
	case s.tool != toolHeisen && s.tool != toolRace:
		err = fmt.Errorf("unknown tool %q, want %s or %s", s.tool, toolHeisen, toolRace)
	case !known:
		err = fmt.Errorf("unknown detector %q, want fasttrack, hb, mcm or atomrace", s.detector)
	case s.alone && (s.tool != toolHeisen || s.detector != "fasttrack" || *filter != "tree"):
		err = errors.New("-alone needs -tool heisen, -detect fasttrack and -filter tree")
	case s.detector == "atomrace":
		s.mode = recorder.FindingsOnly
		s.live = &recorder.Live{Noise: recorder.Noise{Strength: *noise, For: 50 * time.Microsecond, Seed: 1, Budget: patience / 12}}
	case s.pkg != "" && s.data != "":
		err = errors.New("-package and -testdata exclude each other")
	case *filter == "tree" && s.detector == "fasttrack":
		s.mode = recorder.Races
	case *filter == "tree":
		s.mode = recorder.Unrepeated
	case *filter == "none":
		s.mode = recorder.Everything
	default:
		err = fmt.Errorf("unknown filter %q, want tree or none", *filter)
	}
	if err == nil {
		p.procs, err = parseProcs(*procs)
	}
	if err == nil {
		p.chosen, err = chooser(*run, *file)
	}
	if err == nil {
		p.part, p.parts, err = parsePart(*part)
	}
	return
}

// parsePart reads a part such as 2/5.
func parsePart(text string) (part, parts int, err error) {
	before, after, _ := strings.Cut(text, "/")
	part, err = strconv.Atoi(before)
	if err == nil {
		parts, err = strconv.Atoi(after)
	}
	if err != nil || part < 1 || part > parts {
		return 0, 0, fmt.Errorf("-part: %q is not a part such as 2/5", text)
	}
	return part, parts, nil
}

func parseProcs(list string) (procs []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("-procs: %q is not a number of processors", text)
		}
		if !slices.Contains(procs, n) {
			procs = append(procs, n)
		}
	}
	return procs, nil
}

// chooser returns a predicate that is true for functions whose name and file match the regular
// expressions.
func chooser(name, file string) (func(function) bool, error) {
	names, err := regexp.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	files, err := regexp.Compile(file)
	if err != nil {
		return nil, fmt.Errorf("-file: %w", err)
	}
	return func(f function) bool { return names.MatchString(f.name) && files.MatchString(f.file) }, nil
}

// terminal returns a function that shows a line of progress on f if f is a terminal. An empty line
// erases the previous one.
func terminal(f *os.File) func(string) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(line string) {
		if line != "" {
			line = "goracetests: " + line
		}
		fmt.Fprintf(f, "\r\x1b[K%s", line)
	}
}
