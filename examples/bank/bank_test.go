package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/examples/internal/heisentest"
)

func TestMain(m *testing.M) { heisentest.Main(m) }

// Every payment of one teller races with those of the others, whatever the
// schedule: each holds a lock of its own.
const want = `race on to.balance
	read of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
race on to.balance
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
`

func TestFindings(t *testing.T) {
	for _, detector := range []string{"fasttrack", "hb"} {
		r := heisentest.Run(t, "run", "-json", "-detect", detector, ".")
		if r.Status != driver.Findings {
			t.Errorf("%s: exit status %d\n%s", detector, r.Status, r.Err)
		}
		if diff := cmp.Diff(want, heisentest.Describe(t, r.Findings)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", detector, diff)
		}
	}
}

func TestReport(t *testing.T) {
	r := heisentest.Run(t, "run", ".")
	if r.Status != driver.Findings {
		t.Errorf("exit status %d", r.Status)
	}
	heisentest.Golden(t, "report.golden", r.Err)
}

func TestFixed(t *testing.T) {
	r := heisentest.Run(t, "run", "-detect", "fasttrack,hb", ".", "--", "-fixed")
	if r.Status != driver.Clean || r.Err != "" {
		t.Errorf("exit status %d, report:\n%s", r.Status, r.Err)
	}
}
