package atomicity

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/section"
)

// TestAccessors infers the sections of twenty types whose methods call accessors, and runs their
// tests. With noise, by prediction, and by directed schedules, heisen shows a violation in each, but for one that
// cannot be predicted. In their correct twins it infers nothing, and the sections during which a lock is held are never
// violated.
func TestAccessors(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	broken := inferredSections(t, "./testdata/accessors/broken", 20)
	inferredSections(t, "./testdata/accessors/correct", 0)
	locked := inferredSections(t, "./testdata/accessors/correct", 19, "-locked")
	all := testsIn(t, filepath.Join("testdata", "accessors", "broken", "accessors_test.go"))
	if len(all) != 20 {
		t.Fatalf("%d tests", len(all))
	}
	modes := []struct {
		name     string
		args     []string
		sections bool   // a file of sections is needed
		chance   string // a test whose violation shows only in runs in which it happens
	}{
		{"inferred by itself", []string{"test", "-detect", "atomrace", "-noise", "random", "-noise-strength", "300", "-pkgs", "work", "-count", "30"}, false, ""},
		{"noise", []string{"test", "-detect", "atomrace", "-noise", "random", "-noise-strength", "300", "-pkgs", "work", "-count", "30"}, true, ""},
		// Where Load has found nothing, Store looks again. After a Store of another goroutine in between, it
		// would read something else than in the run, and a prediction cannot say what it then does.
		{"predict", []string{"test", "-predict", "-pkgs", "work", "-schedules", t.TempDir()}, true, "TestUsers"},
		{"fuzz", []string{"fuzz", "-time", "0s", "-schedules", t.TempDir()}, true, ""},
	}
	for _, mode := range modes[:tier.Pick(0, 1, 2, len(modes))] {
		t.Run(mode.name, func(t *testing.T) {
			run := func(sections, pkg string, tests []string) []string {
				args := slices.Clone(mode.args)
				if mode.sections {
					args = append(args, "-sections", sections)
				}
				return violatedTests(t, append(args, "-run", "^("+strings.Join(tests, "|")+")$", pkg))
			}
			missing := slices.DeleteFunc(slices.Clone(all), func(test string) bool { return test == mode.chance })
			for try := 0; len(missing) > 0 && try < 4; try++ {
				found := run(broken, "./testdata/accessors/broken", missing)
				missing = slices.DeleteFunc(slices.Clone(missing), func(test string) bool { return slices.Contains(found, test) })
			}
			if len(missing) > 0 {
				t.Errorf("no violation in %v", missing)
			}
			if found := run(locked, "./testdata/accessors/correct", all); len(found) > 0 {
				t.Errorf("violations in the correct %v", found)
			}
		})
	}
}

// inferredSections infers the sections of a package, checks their number, and returns the file.
func inferredSections(t *testing.T, pkg string, want int, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heisen.sections")
	var out, errs bytes.Buffer
	status, err := driver.Run(t.Context(), append(append([]string{"sections", "infer", "-o", file}, flags...), pkg), nil, &out, &errs)
	if err != nil || status != driver.Clean {
		t.Fatalf("status %d, error %v\n%s", status, err, &errs)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sections, err := section.Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(sections) != want {
		t.Errorf("%d sections in %s, want %d: %v", len(sections), pkg, want, sections)
	}
	return file
}

// testsIn returns the names of the tests in a file.
func testsIn(t *testing.T, file string) (names []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	return names
}

// violatedTests runs heisen and returns the tests with violations of atomic sections.
func violatedTests(t *testing.T, args []string) (tests []string) {
	t.Helper()
	var out, errs bytes.Buffer
	status, err := driver.Run(t.Context(), append(args, "-report", "json"), nil, &out, &errs)
	if err != nil || status != driver.Clean && status != driver.Findings && status != 1 { // go test fails with 1
		t.Fatalf("%v: status %d, error %v\n%s", args, status, err, &errs)
	}
	for line := range strings.Lines(out.String()) {
		var f struct {
			Detector, Kind string
			Accesses       []struct{ Test string }
		}
		if json.Unmarshal([]byte(line), &f) != nil || f.Kind != "atomicity" || // other lines are the output of the program
			f.Detector == "sections" { // a suspect of heisen fuzz that was not confirmed
			continue
		}
		for _, a := range f.Accesses {
			if !slices.Contains(tests, a.Test) {
				tests = append(tests, a.Test)
			}
		}
	}
	return tests
}
