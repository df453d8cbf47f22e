package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/report"
)

// A subject is a test or a program of which plain runs are compared with heisen fuzz.
type subject struct {
	folder string // where the command runs
	pkg    string // argument of the command
	test   string // name of the test, or empty for a program
}

func (s *subject) String() string {
	if s.test == "" {
		return s.pkg
	}
	return s.pkg + " " + s.test
}

// compareRaces runs the subjects plainly, and those with a race under heisen fuzz. It prints a line for
// each subject with a race, and the status is 1 if heisen fuzz reports none in one of them.
func (o *options) compareRaces(ctx context.Context, programs []corpus.Program) (status int, err error) {
	subjects, err := o.subjects(ctx, programs)
	if err != nil {
		return 1, err
	}
	racy, missed, places, missedPlaces := 0, 0, 0, 0
	const row = "%-50s %-12s %-6s %s\n"
	fmt.Fprintf(o.out, row, "test or program", "plain runs", "pairs", "of these in heisen fuzz")
	var details strings.Builder
	for i := range subjects {
		s := &subjects[i]
		plain, runs, err := o.plainRaces(ctx, s)
		if err != nil {
			return 1, fmt.Errorf("%v: %w", s, err)
		}
		if len(plain) == 0 {
			continue
		}
		found, reported, err := o.fuzzRaces(ctx, s)
		if err != nil {
			return 1, fmt.Errorf("%v: %w", s, err)
		}
		both := 0
		for _, place := range plain {
			if slices.Contains(found, place) {
				both++
			} else {
				fmt.Fprintf(&details, "%v: not in heisen fuzz: %s\n", s, place)
			}
		}
		racy, places, missedPlaces = racy+1, places+len(plain), missedPlaces+len(plain)-both
		remark := ""
		if !reported {
			missed++
			remark = ", no race at all"
		}
		fmt.Fprintf(o.out, row, s, fmt.Sprintf("%d of %d", runs, o.plain), fmt.Sprint(len(plain)), fmt.Sprint(both, remark))
	}
	fmt.Fprint(o.out, details.String())
	fmt.Fprintf(o.out, "%d tests and programs, %d with a race in plain runs; heisen fuzz reports no race in %d of these; it misses %d of %d pairs of places\n",
		len(subjects), racy, missed, missedPlaces, places)
	if missed > 0 {
		return 1, nil
	}
	return 0, nil
}

// plainRaces runs a subject with FastTrack in it, but without control, as often as the flags say. It
// returns the places of the races, and the number of runs with one. A run is a process of its own,
// because some races end the process.
func (o *options) plainRaces(ctx context.Context, s *subject) (places []string, runs int, err error) {
	exe, err := o.build(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	for range o.plain {
		found, err := o.runPlain(ctx, exe, s)
		if err != nil {
			return nil, 0, err
		}
		if len(found) > 0 {
			runs++
		}
		places = append(places, found...)
	}
	slices.Sort(places)
	return slices.Compact(places), runs, nil
}

// build builds the executable of a subject, unless it is that of the subject before.
func (o *options) build(ctx context.Context, s *subject) (exe string, err error) {
	exe = filepath.Join(o.heisen.Work, "subject")
	if o.built.folder == s.folder && o.built.pkg == s.pkg {
		return exe, nil
	}
	verb := []string{"build"}
	if s.test != "" {
		verb = []string{"test", "-c", "-vet=off"}
	}
	h := o.heisen
	h.Corpus = s.folder
	var out bytes.Buffer
	status, err := h.Run(ctx, &out, &out, append(verb, "-o", exe, s.pkg)...)
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	o.built = *s
	return exe, nil
}

// plainLimit bounds a plain run. A test that waits for ever is ended then.
const plainLimit = 20 * time.Second

// runPlain runs an executable that prints the races in it, and returns their places.
func (o *options) runPlain(ctx context.Context, exe string, s *subject) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, plainLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	if s.test != "" {
		cmd.Args = append(cmd.Args, "-test.run=^"+s.test+"$")
	}
	cmd.Dir = filepath.Join(s.folder, s.pkg)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput() // the error is that of the subject
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil, err
	}
	return printedRaces(out), nil
}

// access matches the line of a report above the place of one of the two accesses.
var access = regexp.MustCompile(`^(Previous |Concurrent )?([Aa]tomic )?([Rr]ead|[Ww]rite|[Uu]pdate) by .* at 0x`)

// printedRaces returns the places of the races that are reported as text.
func printedRaces(out []byte) (places []string) {
	var sites []string
	inside, wanted := false, false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "WARNING: DATA RACE":
			inside, sites = true, nil
		case !inside:
		case access.MatchString(line):
			wanted = true
		case wanted && strings.HasPrefix(line, "      "):
			sites = append(sites, strings.TrimSpace(line))
			wanted = false
		case strings.HasPrefix(line, "===="):
			inside = false
			places = append(places, pair(sites))
		}
	}
	return places
}

// pair names the two places of a race, in the same way whichever is first.
func pair(sites []string) string {
	for i, s := range sites {
		sites[i] = filepath.Join(filepath.Base(filepath.Dir(s)), filepath.Base(s))
	}
	slices.Sort(sites)
	return strings.Join(sites, " and ")
}

// placesOf returns the places of a race that heisen fuzz reports.
func placesOf(f *report.Finding) string {
	var sites []string
	for _, a := range f.Accesses {
		if len(a.Stack) > 0 {
			sites = append(sites, fmt.Sprintf("%s:%d", a.Stack[0].File, a.Stack[0].Line))
		}
	}
	return pair(sites)
}

// fuzzRaces runs heisen fuzz on a subject, as often as the flags say. It returns the places of the races,
// and whether each try reported one.
func (o *options) fuzzRaces(ctx context.Context, s *subject) (places []string, reported bool, err error) {
	reported = true
	for k := range o.tries {
		h := o.heisen
		h.Corpus = s.folder
		t, err := h.Fuzz(ctx, s.pkg, s.test, o.first+1000*k, o.time)
		if err != nil {
			return nil, false, err
		}
		n := 0
		for i := range t.Findings {
			if f := &t.Findings[i]; f.Kind == heisen.Race {
				n++
				places = append(places, placesOf(f))
			}
		}
		reported = reported && n > 0
	}
	slices.Sort(places)
	return slices.Compact(places), reported, nil
}
