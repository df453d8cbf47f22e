// Package bugcounts counts what the heisen command reports about a test with one bug, in all ways in which it can look for it. A bug is one
// finding, with one fingerprint, whatever has found it.
package bugcounts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/bugfuzz"
	"github.com/heisen-go/heisen/report"
)

// A Way is one to look for bugs in a test.
type Way struct {
	Name string
	args []string
}

// Ways returns the ways to look for bugs that execute a test. Those that repeat executions take a time.
func Ways(limit time.Duration) []Way {
	within := "-time=" + limit.String()
	const detect = "-detect=fasttrack,leak,lockorder"
	all := []Way{
		{"test", []string{"test", "-count=1", detect}},
		{"test -detect hb", []string{"test", "-count=1", "-detect=hb,fasttrack"}},
		{"test -predict", []string{"test", "-count=1", "-predict", detect}},
		{"check", []string{"check", within}},
		{"fuzz", []string{"fuzz", within}},
		{"fuzz -predict", []string{"fuzz", within, "-predict"}},
	}
	for _, strategy := range []string{"walk", "pct", "pos"} {
		all = append(all, Way{"fuzz -strategy " + strategy, []string{"fuzz", within, "-strategy", strategy}})
	}
	return all
}

// Sight is a bug that was reported in some ways.
type Sight struct {
	Finding report.Finding // of the first way
	Ways    []string
}

// String returns the finding and the ways on one line.
func (s *Sight) String() string { return fmt.Sprintf("%s: %s", &s.Finding, strings.Join(s.Ways, ", ")) }

// Look looks for bugs in a test of a package in all of some ways, and then merges what fuzz has found. It returns a Sight for each fingerprint,
// and an error for a way in which a fingerprint was reported twice.
func Look(ctx context.Context, h *bugfuzz.Heisen, pkg, test string, ways []Way) (all []Sight, failed error) {
	see := func(name string, found []report.Finding) error {
		seen := map[string]bool{}
		for i := range found {
			f := &found[i]
			if !reported(f) {
				continue
			}
			if seen[f.Fingerprint] {
				return fmt.Errorf("%s reports %s twice", name, f)
			}
			seen[f.Fingerprint] = true
			at := slices.IndexFunc(all, func(s Sight) bool { return s.Finding.Fingerprint == f.Fingerprint })
			if at < 0 {
				at, all = len(all), append(all, Sight{Finding: *f})
			}
			all[at].Ways = append(all[at].Ways, name)
		}
		return nil
	}
	var files []string
	for i, way := range ways {
		file := filepath.Join(h.Work, fmt.Sprintf("way%d.json", i))
		found, err := run(ctx, h, file, append(slices.Clone(way.args), "-run=^"+test+"$", "-schedules="+filepath.Join(h.Work, "schedules"), pkg)...)
		if err == nil {
			err = see(way.Name, found)
		}
		if err != nil {
			return all, err
		}
		if way.args[0] == "fuzz" {
			files = append(files, file)
		}
	}
	found, err := run(ctx, h, filepath.Join(h.Work, "merged.json"), append([]string{"fuzz", "-merge"}, files...)...)
	if err == nil {
		err = see("fuzz -merge", found)
	}
	return all, err
}

// reported reports whether a finding is told. Reports in JSON also have the suspects that were tried in vain.
func reported(f *report.Finding) bool { return bugfuzz.Happened(f) }

// run runs the command with a report in a file, and returns what it has reported.
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
	return found, err
}
