package heisencmd

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/driver"
)

// Example tests the example program in the working directory:
//
//   - For each detector in want, the description of its findings is as given there.
//   - The text report of the default detector is that of testdata/report.golden.
//   - In a trace of the program every detector finds the same with the TREE filter and without it.
//   - With the argument -fixed nothing is found.
func Example(t *testing.T, want map[string]string) {
	detectors := slices.Sorted(maps.Keys(want))
	for _, detector := range detectors {
		t.Run(detector, func(t *testing.T) {
			r := Run(t, "run", "-report", "json", "-detect", detector, ".")
			if r.Status != driver.Findings {
				t.Errorf("exit status %d\n%s", r.Status, r.Err)
			}
			if diff := cmp.Diff(want[detector], Describe(t, r.Findings)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("report", func(t *testing.T) {
		t.Setenv("GOMAXPROCS", "1") // no other goroutine runs between the two accesses of an increment
		r := Run(t, "run", ".")
		if r.Status != driver.Findings {
			t.Errorf("exit status %d", r.Status)
		}
		Golden(t, "report.golden", r.Err)
	})
	t.Run("filter", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "example.heisen")
		if r := Run(t, "record", "-o", file, "run", "."); r.Status != driver.Clean {
			t.Fatalf("exit status %d\n%s", r.Status, r.Err)
		}
		for _, detector := range []string{"fasttrack", "hb", "eraser", "hybrid", "lockorder"} {
			var found [2][]string
			for i, filter := range []string{"none", "tree"} {
				for _, f := range eachPair(Run(t, "analyze", "-report", "json", "-detect", detector, "-filter", filter, file).Findings) {
					which := f.PairFingerprint()
					if detector == "fasttrack" || detector == "eraser" {
						which = f.Variable // these detectors may report any access to the variable
					}
					found[i] = append(found[i], which)
				}
				slices.Sort(found[i])
				found[i] = slices.Compact(found[i])
			}
			if diff := cmp.Diff(found[0], found[1]); diff != "" {
				t.Errorf("%s: findings (-all +filtered):\n%s", detector, diff)
			}
		}
	})
	t.Run("fixed", func(t *testing.T) {
		r := Run(t, "run", "-detect", strings.Join(detectors, ","), ".", "--", "-fixed")
		if r.Status != driver.Clean || r.Err != "" {
			t.Errorf("exit status %d, report:\n%s", r.Status, r.Err)
		}
	})
}
