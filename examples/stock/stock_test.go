package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

const (
	says = "2 orders served, 7 teas and 18 coffees left\n"

	want = `deadlock on s.orders.mu
	acquire of s.orders.mu in main.(*shop).deliver at "s.orders.mu.Lock()" holding s.stock.mu (write)
	acquire of s.stock.mu in main.(*shop).take at "s.stock.mu.Lock()" holding s.orders.mu (write)
`
)

func TestFindings(t *testing.T) {
	r := heisencmd.Run(t, "run", "-report", "json", "-detect", "lockorder", ".")
	if r.Status != driver.Findings {
		t.Errorf("exit status %d\n%s", r.Status, r.Err)
	}
	if diff := cmp.Diff(want, heisencmd.Describe(t, r.Findings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if cycle := []string{"s.orders.mu", "s.stock.mu", "s.orders.mu"}; len(r.Findings) != 1 || !slices.Equal(r.Findings[0].Cycle, cycle) {
		t.Errorf("findings %+v, want one with the cycle %q", r.Findings, cycle)
	}
}

func TestReport(t *testing.T) {
	r := heisencmd.Run(t, "run", "-detect", "lockorder", ".")
	if r.Status != driver.Findings || r.Out != says {
		t.Errorf("exit status %d, output %q", r.Status, r.Out)
	}
	heisencmd.Golden(t, "report.golden", r.Err)
}

// TestNothingHappened: the same run has no race and no deadlock, and detectors of the observed
// order report nothing.
func TestNothingHappened(t *testing.T) {
	r := heisencmd.Run(t, "run", "-detect", "fasttrack,hb", ".")
	if r.Status != driver.Clean || r.Err != "" || r.Out != says {
		t.Errorf("exit status %d, output %q, report:\n%s", r.Status, r.Out, r.Err)
	}
}

func TestFixed(t *testing.T) {
	r := heisencmd.Run(t, "run", "-detect", "lockorder,fasttrack", ".", "--", "-fixed")
	if r.Status != driver.Clean || r.Err != "" || r.Out != says {
		t.Errorf("exit status %d, output %q, report:\n%s", r.Status, r.Out, r.Err)
	}
}
