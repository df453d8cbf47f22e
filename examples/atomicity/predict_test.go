package atomicity

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
)

// TestPredicted runs a program under heisen in which no access interrupts the section. A violation
// is predicted, with an order of events that leads to it, and heisen test reproduces it. For the
// fixed program nothing is predicted.
func TestPredicted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	recording := filepath.Join(t.TempDir(), "desk.trace")
	sections := filepath.Join("desk", "heisen.sections")
	for _, test := range []struct {
		name   string
		status int
		args   []string
		found  []string
	}{
		{"observed", driver.Clean, []string{"run", "-report", "json", "-detect", "atomrace", "-sections", sections, "./desk"}, nil},
		{"predicted", driver.Findings, []string{"run", "-report", "json", "-detect", "mcm", "-sections", sections, "./desk"}, []string{"mcm atomicity"}},
		{"fixed", driver.Clean, []string{"run", "-report", "json", "-detect", "mcm", "-sections", sections, "./desk", "--", "-fixed"}, nil},
		{"test", driver.Findings, []string{"test", "-report", "json", "-predict", "-schedules", t.TempDir(), "-sections", sections, "./desk"}, []string{"racefuzz atomicity"}},
		{"recorded", driver.Clean, []string{"record", "-o", recording, "run", "./desk"}, nil},
		{"analysed", driver.Findings, []string{"analyze", "-report", "json", "-detect", "atomrace,mcm", "-sections", sections, recording}, []string{"mcm atomicity"}},
		{"without sections", driver.Clean, []string{"analyze", "-report", "json", "-detect", "mcm", recording}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status, err := driver.Run(t.Context(), test.args, nil, &out, &errs)
			if err != nil || status != test.status {
				t.Fatalf("status %d, error %v\n%s", status, err, &errs)
			}
			var found []string
			for line := range strings.Lines(out.String()) {
				var f struct {
					Detector, Kind string
					Accesses       []struct {
						Op    string
						Stack []struct{ Line int }
					}
					Witness []any
				}
				if json.Unmarshal([]byte(line), &f) != nil || f.Detector == "" { // other lines are the output of the program
					continue
				}
				found = append(found, f.Detector+" "+f.Kind)
				if len(f.Accesses) != 3 || len(f.Witness) == 0 {
					t.Fatalf("%s", line)
				}
				for i, want := range []struct {
					op   string
					line int
				}{{"read", 30}, {"write", 48}, {"write", 33}} {
					if a := f.Accesses[i]; a.Op != want.op || a.Stack[0].Line != want.line {
						t.Errorf("access %d is a %s in line %d", i, a.Op, a.Stack[0].Line)
					}
				}
			}
			if !slices.Equal(found, test.found) {
				t.Errorf("found %v, want %v", found, test.found)
			}
		})
	}
}
