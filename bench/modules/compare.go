package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/download"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
)

// A side is one of the two tools.
type side struct {
	name    string
	command []string
	runs    []*outcome
}

// compare measures modules and prints the results.
func compare(ctx context.Context, w io.Writer, runs int, selected *regexp.Regexp, first bool) error {
	dir, err := os.MkdirTemp("", "heisen-modules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	heisen := filepath.Join(dir, "heisen")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", heisen, "./cmd/heisen").CombinedOutput(); err != nil {
		return fmt.Errorf("building heisen: %w\n%s", err, out)
	}
	if err := results.Conditions(w, "./bench/modules"); err != nil {
		return err
	}
	table := results.NewTable("module", "packages", "failed, -race", "failed, heisen", "races, -race", "races, heisen",
		"seconds, -race", "seconds, heisen", "times -race", "processor time, times -race")
	if first {
		table = results.NewTable("module", "seconds, -race", "seconds, heisen", "times -race")
	}
	var failed []string
	var wall, cpu []float64 // times -race
	for _, m := range slices.Concat(small, large) {
		if !selected.MatchString(m.path) {
			continue
		}
		name, _, _ := strings.Cut(m.path, "@")
		to := filepath.Join(dir, "module")
		if err := download.Module(ctx, m.path, to); err != nil {
			return err
		}
		sides := []*side{{name: "-race", command: []string{"go", "test", "-race"}}, {name: "heisen", command: []string{heisen, "test"}}}
		for _, s := range sides {
			fmt.Fprintf(os.Stderr, "%s: building with %s\n", name, s.name)
			if err := s.build(ctx, &m, to, dir, first); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if first {
			wall = append(wall, sides[1].wall()/sides[0].wall())
			table.Add(name, sides[0].wall(), sides[1].wall(), wall[len(wall)-1])
		} else {
			for i := range runs {
				for _, s := range sides {
					fmt.Fprintf(os.Stderr, "%s: run %d with %s\n", name, i+1, s.name)
					o, err := m.tests(ctx, to, nil, s.command)
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					s.runs = append(s.runs, o)
				}
			}
			r, h := sides[0], sides[1]
			wall, cpu = append(wall, h.wall()/r.wall()), append(cpu, h.cpu()/r.cpu())
			table.Add(name, r.runs[0].packages, len(r.failures()), len(h.failures()), r.races(), h.races(), r.wall(), h.wall(), wall[len(wall)-1], cpu[len(cpu)-1])
			failed = append(failed, failures(r, h)...)
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	if first {
		table.Add("geometric mean", "", "", measure.GeometricMean(wall))
	} else {
		table.Add("geometric mean", "", "", "", "", "", "", "", measure.GeometricMean(wall), measure.GeometricMean(cpu))
	}
	if err := table.Print(w); err != nil {
		return err
	}
	for _, line := range failed {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// build builds the tests of a module, after it has downloaded what they need. If first is set, it measures
// that with empty caches.
func (s *side) build(ctx context.Context, m *module, to, dir string, first bool) error {
	o, err := m.tests(ctx, to, nil, s.command, "-run=^$")
	if err == nil && len(o.failed) > 0 {
		err = fmt.Errorf("cannot be built with %s: %v", s.name, slices.Sorted(maps.Keys(o.failed)))
	}
	if err != nil || !first {
		return err
	}
	cache := filepath.Join(dir, "cache")
	if o, err = m.tests(ctx, to, []string{"XDG_CACHE_HOME=" + cache, "GOCACHE=" + filepath.Join(cache, "go-build")}, s.command, "-run=^$"); err != nil {
		return err
	}
	s.runs = []*outcome{o}
	return os.RemoveAll(cache)
}

// failures returns the tests that failed, with the number of runs in which they did.
func (s *side) failures() map[string]int {
	count := map[string]int{}
	for _, o := range s.runs {
		for test := range o.failed {
			count[test]++
		}
	}
	return count
}

// failures returns a line for each test that failed.
func failures(a, b *side) (lines []string) {
	one, other := a.failures(), b.failures()
	tests := map[string]bool{}
	for _, m := range []map[string]int{one, other} {
		for test := range m {
			tests[test] = true
		}
	}
	for test := range tests {
		lines = append(lines, fmt.Sprintf("- %s failed in %d of %d runs with %s, in %d of %d with %s",
			test, one[test], len(a.runs), a.name, other[test], len(b.runs), b.name))
	}
	slices.Sort(lines)
	return lines
}

// races returns the largest number of races reported in a run.
func (s *side) races() (most int) {
	for _, o := range s.runs {
		most = max(most, o.races)
	}
	return most
}

func (s *side) wall() float64 { return s.median(func(o *outcome) time.Duration { return o.wall }) }
func (s *side) cpu() float64  { return s.median(func(o *outcome) time.Duration { return o.cpu }) }

// median returns the median of a duration of all runs, in seconds.
func (s *side) median(of func(*outcome) time.Duration) float64 {
	var all []float64
	for _, o := range s.runs {
		all = append(all, of(o).Seconds())
	}
	return measure.Median(all)
}
