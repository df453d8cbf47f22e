package heisentest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/driver"
)

// Example tests what heisen says of the example in the working directory: want is
// what Describe says of each detector's findings, testdata/report.golden the text
// report of the default detector, and with the argument -fixed nothing is found.
func Example(t *testing.T, want map[string]string) {
	detectors := slices.Sorted(maps.Keys(want))
	for _, detector := range detectors {
		t.Run(detector, func(t *testing.T) {
			r := Run(t, "run", "-json", "-detect", detector, ".")
			if r.Status != driver.Findings {
				t.Errorf("exit status %d\n%s", r.Status, r.Err)
			}
			if diff := cmp.Diff(want[detector], Describe(t, r.Findings)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("report", func(t *testing.T) {
		r := Run(t, "run", ".")
		if r.Status != driver.Findings {
			t.Errorf("exit status %d", r.Status)
		}
		Golden(t, "report.golden", r.Err)
	})
	t.Run("fixed", func(t *testing.T) {
		r := Run(t, "run", "-detect", strings.Join(detectors, ","), ".", "--", "-fixed")
		if r.Status != driver.Clean || r.Err != "" {
			t.Errorf("exit status %d, report:\n%s", r.Status, r.Err)
		}
	})
}
