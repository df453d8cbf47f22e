package atomicity

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
)

// noisy runs a program under atomrace with heavy noise and more arguments.
func noisy(t *testing.T, name string, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	all := append([]string{"run", "-report", "json", "-detect", "atomrace", "-noise", "random", "-noise-strength", "500",
		"-sections", filepath.Join(name, "heisen.sections"), "-pkgs", "work"}, args...)
	status, err := driver.Run(t.Context(), append(all, "./"+name), nil, &stdout, &stderr)
	if err != nil || status != driver.Clean && status != driver.Findings {
		t.Fatalf("status %d, error %v\n%s", status, err, &stderr)
	}
	return status, stdout.String(), stderr.String()
}

// TestHeal: the bug is found and does harm under heavy noise, and neither once its variable is healed. A section
// in which the program unlocks a mutex is not healed, which is said.
func TestHeal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	for _, test := range []struct{ name, right string }{
		{"counter", "300 tickets sold of 300, 0 left"},
		{"lazy", "16 clients dialed for 16 shards, 0 requests to lost clients"},
	} {
		status, out, _ := noisy(t, test.name)
		for i := 0; (status == driver.Clean || strings.Contains(out, test.right)) && i < 10; i++ {
			status, out, _ = noisy(t, test.name)
		}
		if status != driver.Findings || strings.Contains(out, test.right) {
			t.Fatalf("%s: the bug does no harm:\n%s", test.name, out)
		}
		found := filepath.Join(t.TempDir(), "found.json")
		if err := os.WriteFile(found, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			status, out, errs := noisy(t, test.name, "-heal", found)
			if status != driver.Clean || !strings.Contains(out, test.right) || strings.Contains(errs, "healed") {
				t.Errorf("%s, healed: status %d\n%s%s", test.name, status, out, errs)
			}
		}
	}

	_, out, _ := noisy(t, "registry")
	found := filepath.Join(t.TempDir(), "found.json")
	if err := os.WriteFile(found, []byte(out), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, errs := noisy(t, "registry", "-heal", found)
	const refused = "heisen: section registry/main.go:37 read is not healed: registry/main.go:38 calls (*sync.Mutex).Unlock\n"
	if !strings.Contains(errs, refused) {
		t.Errorf("registry: no note that the section synchronizes:\n%s", errs)
	}
}
