package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/internal/report"
	"github.com/heisen-go/heisen/internal/rt"
)

// overlaps is what atomrace is to look for in running programs: the values of the
// flags that concern it.
type overlaps struct {
	sections string // file
	noise    string // heuristic
	from     string // file of findings
	strength int
	wait     time.Duration
	seed     uint64
	budget   time.Duration

	read []atomrace.Section
}

// overlapFlags defines -sections and the flags that say where goroutines are made
// to wait.
func (inv *invocation) overlapFlags() *overlaps {
	o := &overlaps{}
	inv.flags.StringVar(&o.sections, "sections", "", "atomrace: watch the atomic sections in `file`")
	inv.flags.StringVar(&o.noise, "noise", "none", "atomrace: make goroutines wait while they access memory: none, `random`, loc (at the places of -from) or var (wherever the variables of -from are accessed)")
	inv.flags.StringVar(&o.from, "from", "", "atomrace: findings for -noise, a `file` as -json prints it")
	inv.flags.IntVar(&o.strength, "noise-strength", 50, "how many of a thousand accesses wait")
	inv.flags.DurationVar(&o.wait, "noise-wait", 50*time.Microsecond, "how long; 0: only let others run")
	inv.flags.Uint64Var(&o.seed, "noise-seed", 1, "what the choice of accesses depends on, besides the goroutines' numbers")
	inv.flags.DurationVar(&o.budget, "noise-budget", 20*time.Second, "how long at most all waits of a program take together")
	return o
}

// live returns what programs are to look for, nil if none of the chosen detectors
// works in them.
func (o *overlaps) live(inv *invocation, d *detection) (*rt.Live, error) {
	d.live = true
	chosen := slices.Contains(d.chosen, atomraceName)
	if !chosen {
		for _, name := range []string{"sections", "noise", "from"} {
			if f := inv.flags.Lookup(name); f.Value.String() != f.DefValue {
				return nil, misuse("-%s is for the detector %s: -detect %[2]s", name, atomraceName)
			}
		}
		return nil, nil
	}
	l := &rt.Live{Noise: rt.Noise{For: o.wait, Seed: o.seed, Budget: o.budget}}
	var err error
	if o.sections != "" {
		if o.read, err = readSections(o.sections); err != nil {
			return nil, err
		}
		l.Sections = o.read
	}
	switch {
	case o.strength < 0 || o.strength > 1000:
		return nil, misuse("-noise-strength %d is not between 0 and 1000", o.strength)
	case o.wait < 0 || o.budget < 0:
		return nil, misuse("a negative time")
	case o.noise == "none":
		return l, nil
	case (o.noise == "loc" || o.noise == "var") && o.from == "":
		return nil, misuse("-noise %s needs findings: -from file", o.noise)
	}
	l.Noise.Strength = o.strength
	switch o.noise {
	case "random":
	case "loc":
		l.Noise.At, err = locationsOf(o.from)
	case "var":
		l.Noise.At, err = variablesOf(inv, o.from)
	default:
		return nil, misuse("unknown noise %q; there are none, random, loc, var", o.noise)
	}
	return l, err
}

// atomraceName is the detector that works in running programs.
const atomraceName = "atomrace"

// readSections reads a sections file. What is relative in it is so to its folder.
func readSections(name string) ([]atomrace.Section, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sections, err := atomrace.ReadSections(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	absolute := func(l *atomrace.Location) {
		if file := filepath.FromSlash(l.File); !filepath.IsAbs(file) {
			l.File = filepath.ToSlash(filepath.Join(dir, file))
		}
	}
	for i := range sections {
		absolute(&sections[i].Entry)
		for j := range sections[i].Ends {
			absolute(&sections[i].Ends[j].At)
		}
	}
	return sections, nil
}

// findingsIn reads a file of findings.
func findingsIn(name string) ([]report.Finding, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	findings, err := report.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(findings) == 0 {
		return nil, fmt.Errorf("%s: no findings", name)
	}
	return findings, nil
}

// locationsOf returns the places of the accesses in a file of findings.
func locationsOf(name string) ([]atomrace.Location, error) {
	findings, err := findingsIn(name)
	if err != nil {
		return nil, err
	}
	locations := []atomrace.Location{}
	for i := range findings {
		for _, a := range findings[i].Accesses {
			if len(a.Stack) == 0 {
				continue
			}
			at := atomrace.Location{File: a.Stack[0].File, Line: a.Stack[0].Line, Mode: atomrace.Reads}
			if strings.Contains(a.Op, "write") || strings.Contains(a.Op, "update") {
				at.Mode = atomrace.Writes
			}
			if !slices.Contains(locations, at) {
				locations = append(locations, at)
			}
		}
	}
	if len(locations) == 0 {
		return nil, fmt.Errorf("%s: the findings have no stacks", name)
	}
	return locations, nil
}

// variablesOf returns the places where the variables in a file of findings are
// accessed.
func variablesOf(inv *invocation, name string) ([]atomrace.Location, error) {
	return nil, errors.New("not yet")
}

// overlapFinding is what a program has found, as a finding.
func overlapFinding(found rt.Overlap) heisen.Finding {
	f := heisen.Finding{
		Detector: atomraceName, Kind: heisen.Race, Object: found.Accesses[0].Object,
		Message: "two goroutines access it at the same time", Accesses: found.Accesses,
	}
	if found.Section >= 0 {
		f.Kind = heisen.Atomicity
		f.Message = "another goroutine's access comes into an atomic section"
	}
	return f
}

// concerns reports whether a finding is about the variable that its section names.
func (o *overlaps) concerns(section int, f *report.Finding) bool {
	if section < 0 || o.read[section].Variable == "" {
		return true
	}
	pattern := o.read[section].Variable
	for _, a := range f.Accesses {
		if ok, err := path.Match(pattern, a.Variable); a.Variable == "" || ok && err == nil {
			return true
		}
	}
	return false
}
