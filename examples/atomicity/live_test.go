package atomicity

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// TestLive runs the programs under heisen with their sections and noise: it reports the bug of
// each, and nothing for the fixed ones.
func TestLive(t *testing.T) {
	tier.Need(t, tier.CI)
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			found := violations(t, name)
			for i := 0; len(found) == 0 && i < 5; i++ {
				found = violations(t, name)
			}
			if len(found) == 0 {
				t.Error("the bug is not found")
			}
			for kind := range found {
				if kind != "atomicity" {
					t.Errorf("a finding of kind %s", kind)
				}
			}
			if found := violations(t, name, "-fixed"); len(found) > 0 {
				t.Errorf("with -fixed: %v", found)
			}
		})
	}
}

// TestLiveNewest is TestLive with the newest supported release of Go.
func TestLiveNewest(t *testing.T) {
	tier.Need(t, tier.CI)
	const newest = "go1.27.4"
	t.Setenv("GOTOOLCHAIN", newest)
	if out, err := exec.Command("go", "version").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("toolchain %s: %v\n%s", newest, err, out)
		}
		t.Skipf("toolchain %s cannot be had: %s", newest, out)
	}
	for _, name := range []string{"counter", "lazy", "registry"} {
		found := violations(t, name)
		for i := 0; len(found) == 0 && i < 5; i++ {
			found = violations(t, name)
		}
		if len(found) == 0 {
			t.Errorf("%s: the bug is not found", name)
		}
	}
}

// violations runs a program under heisen and counts findings by kind.
func violations(t *testing.T, name string, args ...string) map[string]int {
	t.Helper()
	var out, errs bytes.Buffer
	all := append([]string{"run", "-report", "json", "-detect", "atomrace", "-noise", "random", "-noise-strength", "500",
		"-sections", filepath.Join(name, "heisen.sections"), "-pkgs", "work", "./" + name, "--"}, args...)
	status, err := driver.Run(t.Context(), all, nil, &out, &errs)
	if err != nil || status != driver.Clean && status != driver.Findings {
		t.Fatalf("status %d, error %v\n%s", status, err, &errs)
	}
	found := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var finding struct{ Detector, Kind string }
		if json.Unmarshal([]byte(line), &finding) == nil && finding.Detector == "atomrace" { // other lines are the output of the program
			found[finding.Kind]++
		}
	}
	return found
}
