package atomicity

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/testaid/tier"
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

// TestHeal: the bug is found and does harm under heavy noise, and neither once its variable is healed. No goroutine has to give
// up waiting.
func TestHeal(t *testing.T) {
	tier.Need(t, tier.CI)
	for _, test := range []struct{ name, right string }{
		{"counter", right["counter"]}, {"lazy", right["lazy"]}, {"registry", right["registry"]},
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
			if status != driver.Clean || !strings.Contains(out, test.right) || strings.Contains(errs, "healed") ||
				strings.Contains(errs, "held up") {
				t.Errorf("%s, healed: status %d\n%s%s", test.name, status, out, errs)
			}
		}
	}
}

// right is what the programs print if nobody comes between.
var right = map[string]string{
	"counter":  "300 tickets sold of 300, 0 left",
	"lazy":     "16 clients dialed for 16 shards, 0 requests to lost clients",
	"closer":   "8 slots free of 8",
	"queue":    "300 jobs of 300 done, 32 primes, 0 misses",
	"registry": "64 names granted of 64",
}

// TestBuiltHealed: in programs that heal wherever they run, nobody comes between, also where sections begin and end in
// critical sections of the program.
func TestBuiltHealed(t *testing.T) {
	tier.Need(t, tier.CI)
	for name, want := range right {
		var stdout, stderr bytes.Buffer
		app := filepath.Join(t.TempDir(), name+".exe")
		status, err := driver.Run(t.Context(), []string{"build", "-heal", filepath.Join(name, "heisen.sections"), "-o", app, "./" + name}, nil, &stdout, &stderr)
		if err != nil || status != driver.Clean {
			t.Fatalf("%s: status %d, error %v\n%s", name, status, err, &stderr)
		}
		for range 20 {
			out, err := exec.Command(app).Output()
			if err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	}
}
