// Package bugcounts counts what the heisen command reports about programs with known bugs, in all ways in which it can look for them. A bug is
// one finding, with one fingerprint, whatever has found it.
package bugcounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/report"
)

// A Way is one to look for bugs.
type Way struct {
	Name string
	args []string
	runs []string // the same for a program without tests; nil if there is no such way

	searches bool        // it repeats executions for a time, and failures are findings
	chance   bool        // it aims at no suspect: an execution shows what it shows
	finds    bool        // it finds the bugs that are found in a while
	own      bool        // it sees the accesses of the module's own packages only
	only     heisen.Kind // what it looks for; empty for all
}

// Ways returns the ways to look for bugs that execute a program.
func Ways() []Way {
	const detect, timeout = "-detect=fasttrack,leak,lockorder", "-timeout=20s" // tests may hang
	all := []Way{
		{Name: "test", args: []string{"test", "-count=1", timeout, detect}, runs: []string{"run", detect}},
		{Name: "test -detect hb", args: []string{"test", "-count=1", timeout, "-detect=hb,fasttrack"}, runs: []string{"run", "-detect=hb,fasttrack"}, only: heisen.Race},
		{Name: "test -predict", args: []string{"test", "-count=1", timeout, "-predict", detect}},
		{Name: "check", args: []string{"check", timeout}, searches: true, finds: true},
		{Name: "fuzz", args: []string{"fuzz", "-corpus=none"}, runs: []string{"fuzz", "-corpus=none"}, searches: true, finds: true},
		{Name: "fuzz -predict", args: []string{"fuzz", "-predict", "-corpus=none"}, runs: []string{"fuzz", "-predict", "-corpus=none"}, searches: true, own: true},
	}
	for _, strategy := range []string{"walk", "pct", "pos"} {
		args := []string{"fuzz", "-strategy=" + strategy}
		all = append(all, Way{Name: "fuzz -strategy " + strategy, args: args, runs: args, searches: true, chance: true})
	}
	return all
}

// A Program is one with bugs.
type Program struct {
	Name    string
	Package string
	Test    string   // empty for a program without tests
	Args    []string // of such a program
	Bugs    []Bug
}

// A Bug is one of a program. Check and fuzz are expected to find it.
type Bug struct {
	Name string
	Kind heisen.Kind
	Is   func(*report.Finding) bool // reports whether a finding is this bug
	// Each says that each execution has the bug: all ways find it that look for its kind.
	Each bool
	// Inside says that it is a race of accesses in the standard library.
	Inside bool
	// May says that it need not be found.
	May bool
	// Most is how many findings it may be, if not one.
	Most int
	// Order says that each execution shows locks in an order that can deadlock: those ways find it that look for that.
	Order bool
}

// expects reports whether the way is expected to find a bug.
func (w *Way) expects(b *Bug) bool {
	if b.May || b.Inside && w.own {
		return false
	}
	looks := w.only == b.Kind || w.only == "" && (w.searches || b.Kind != heisen.Failure)
	return w.finds || looks && (b.Each || b.Order && !w.searches)
}

// Sight is a bug that was reported in some ways.
type Sight struct {
	Finding report.Finding // of the first way
	Ways    []string
}

// String returns the finding and the ways on one line.
func (s *Sight) String() string { return fmt.Sprintf("%s: %s", &s.Finding, strings.Join(s.Ways, ", ")) }

// Look looks for the bugs of a program in all of some ways, and then merges what fuzz has found. A way that searches takes the first of some
// times, and the next ones as long as it does not find what it is expected to find. Look returns a Sight for each fingerprint, and an error that
// says what is wrong: a bug has not one fingerprint, a way reports one twice, or in more executions than there were, or not the bug that it is expected to find, or something that is
// no bug of the program.
func Look(ctx context.Context, h *bugfuzz.Heisen, p *Program, ways []Way, times []time.Duration) (all []Sight, wrong error) {
	fail := func(format string, args ...any) { wrong = errors.Join(wrong, fmt.Errorf(format, args...)) }
	see := func(name string, found []report.Finding) {
		seen := map[string]bool{}
		for i := range found {
			f := &found[i]
			if seen[f.Fingerprint] {
				fail("%s reports %s twice", name, f)
				continue
			}
			seen[f.Fingerprint] = true
			at := slices.IndexFunc(all, func(s Sight) bool { return s.Finding.Fingerprint == f.Fingerprint })
			if at < 0 {
				at, all = len(all), append(all, Sight{Finding: *f})
			}
			all[at].Ways = append(all[at].Ways, name)
		}
	}
	var files []string
	for i := range ways {
		way := &ways[i]
		if p.Test == "" && way.runs == nil {
			continue
		}
		file := filepath.Join(h.Work, fmt.Sprintf("way%d.json", i))
		found, missing, err := way.look(ctx, h, file, p, times)
		if err != nil {
			return all, errors.Join(wrong, err)
		}
		for _, b := range missing {
			fail("%s does not find %s", way.Name, b.Name)
		}
		for k := range found {
			if f := &found[k]; way.chance && f.Trials != nil && f.Count > uint64(f.Trials.Executions) {
				fail("%s has shown %s %d times in %d executions", way.Name, f, f.Count, f.Trials.Executions)
			}
		}
		see(way.Name, found)
		if way.args[0] == "fuzz" {
			files = append(files, file)
		}
	}
	before := len(all)
	found, err := run(ctx, h, filepath.Join(h.Work, "merged.json"), append([]string{"fuzz", "-merge"}, files...)...)
	if err != nil {
		return all, errors.Join(wrong, err)
	}
	see(merging, found)
	for i := range all {
		fuzzed := slices.ContainsFunc(all[i].Ways, func(way string) bool { return strings.HasPrefix(way, "fuzz") })
		if i >= before || fuzzed && all[i].Ways[len(all[i].Ways)-1] != merging {
			fail("%s changes what was reported: %s", merging, &all[i])
		}
	}
	return all, errors.Join(wrong, p.count(all))
}

const merging = "fuzz -merge"

// count returns an error if the sights are not one for each bug. Races on different variables are told apart.
func (p *Program) count(all []Sight) (wrong error) {
	sights := make([]map[string]int, len(p.Bugs))
	for i := range all {
		f := &all[i].Finding
		b := slices.IndexFunc(p.Bugs, func(b Bug) bool { return b.Is(f) })
		if b < 0 {
			wrong = errors.Join(wrong, fmt.Errorf("no bug of the program: %s", &all[i]))
			continue
		}
		if sights[b] == nil {
			sights[b] = map[string]int{}
		}
		sights[b][about(f)]++
	}
	for i, of := range sights {
		b, different := &p.Bugs[i], 0 // findings that are of no variable, and one for those that are
		different += of[""]
		delete(of, "")
		if len(of) > 0 {
			different++
		}
		switch {
		case different == 0 && !b.May:
			wrong = errors.Join(wrong, fmt.Errorf("nothing finds %s", b.Name))
		case different > max(b.Most, 1), slices.Max(append(slices.Collect(maps.Values(of)), 1)) > 1:
			wrong = errors.Join(wrong, fmt.Errorf("more than one finding: %s", b.Name))
		}
	}
	return wrong
}

// about returns the variable of a race; an empty text for other findings.
func about(f *report.Finding) string {
	if f.Kind == heisen.Race {
		return f.Variable
	}
	return ""
}

// look looks for the bugs of a program, with a report in a file. It returns what is reported, and the bugs that it was expected to find and
// did not.
func (w *Way) look(ctx context.Context, h *bugfuzz.Heisen, file string, p *Program, times []time.Duration) (found []report.Finding, missing []*Bug, err error) {
	for _, limit := range times {
		args := slices.Clone(w.args)
		if p.Test == "" {
			args = slices.Clone(w.runs)
		}
		if w.searches {
			args = append(args, "-time="+limit.String())
		}
		if args[0] == "fuzz" || args[0] == "check" || p.Test != "" {
			args = append(args, "-schedules="+filepath.Join(h.Work, "schedules"))
		}
		switch {
		case p.Test != "":
			args = append(args, "-run=^"+p.Test+"$")
		case args[0] == "fuzz":
			args = append(args, "run")
		}
		if found, err = run(ctx, h, file, append(append(args, p.Package), p.Args...)...); err != nil {
			return nil, nil, err
		}
		missing = nil
		for i := range p.Bugs {
			if b := &p.Bugs[i]; w.expects(b) && !slices.ContainsFunc(found, func(f report.Finding) bool { return b.Is(&f) }) {
				missing = append(missing, b)
			}
		}
		if !w.searches || len(missing) == 0 {
			break
		}
	}
	return found, missing, nil
}

// run runs the command with a report in a file, and returns what it has reported. Reports in JSON also have the suspects that were tried in
// vain.
func run(ctx context.Context, h *bugfuzz.Heisen, file string, args ...string) ([]report.Finding, error) {
	args = slices.Insert(slices.Clone(args), 1, "-report=json:"+file)
	var printed bytes.Buffer
	status, err := h.Run(ctx, io.Discard, &printed, args...)
	if err == nil && status != cli.Clean && status != cli.Findings && status != cli.Failed {
		err = fmt.Errorf("exit status %d", status)
	}
	var found []report.Finding
	if err == nil {
		found, err = bugfuzz.ReadFindings(file)
	}
	if err != nil {
		err = fmt.Errorf("heisen %s: %w\n%s", strings.Join(args, " "), err, &printed)
	}
	return slices.DeleteFunc(found, func(f report.Finding) bool { return !bugfuzz.Happened(&f) }), err
}
