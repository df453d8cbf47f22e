package main

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m, options()...) }

func TestReport(t *testing.T) {
	r := heisencmd.Run(t, "run", "./relay")
	if r.Status != driver.Findings || r.Out != "laps: 4\n" {
		t.Errorf("exit status %d, output %q", r.Status, r.Out)
	}
	heisencmd.Golden(t, "report.golden", r.Err)
}

// TestFrom: the first three of four handoffs are not reported, all of them are one
// finding.
func TestFrom(t *testing.T) {
	for from, want := range map[string]uint64{"1": 4, "4": 1, "5": 0} {
		r := heisencmd.Run(t, "run", "-report", "json", "-handoff.from", from, "./relay")
		var count uint64
		for _, f := range r.Findings {
			if f.Detector != "handoff" || f.Kind != "handoff" || len(r.Findings) > 1 {
				t.Errorf("from %s: a finding of detector %q, kind %q", from, f.Detector, f.Kind)
			}
			count += f.Count
		}
		if count != want {
			t.Errorf("from %s: %d handoffs, want %d\n%s", from, count, want, r.Err)
		}
	}
	r := heisencmd.Run(t, "run", "-handoff.from", "0", "./relay")
	if r.Status != driver.Failed || !strings.Contains(r.Err, ": detector handoff: handoffs are counted from 1\n") {
		t.Errorf("exit status %d\n%s", r.Status, r.Err)
	}
}

func TestFixed(t *testing.T) {
	r := heisencmd.Run(t, "run", "./relay", "--", "-fixed")
	if r.Status != driver.Clean || r.Err != "" {
		t.Errorf("exit status %d\n%s", r.Status, r.Err)
	}
}

// TestOtherDetectors: the detectors of heisen are available too, and the help text lists all.
func TestOtherDetectors(t *testing.T) {
	r := heisencmd.Run(t, "run", "-detect", "fasttrack", "./relay")
	if r.Status != driver.Clean || r.Err != "" {
		t.Errorf("exit status %d\n%s", r.Status, r.Err)
	}
	r = heisencmd.Run(t, "help", "run", "-all")
	for _, want := range []string{"usage: handoff run ", "-handoff.from n\n", "handoff    every lock ", "fasttrack  ", `(default handoff,fasttrack)`} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("the help text has no %q:\n%s", want, r.Out)
		}
	}
}
