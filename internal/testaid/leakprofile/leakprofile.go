// Package leakprofile runs tests of what needs the profile of leaked goroutines, which not every release of Go has.
package leakprofile

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/pprof"
	"testing"

	"github.com/heisen-go/heisen/internal/goroutines"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// Missing reports whether this release does not have the profile.
func Missing() bool { return pprof.Lookup(goroutines.Leaked) == nil }

// Need skips a test if the release does not have the profile.
func Need(t *testing.T) {
	t.Helper()
	if Missing() {
		t.Skip("this release of Go does not have the profile of leaked goroutines")
	}
}

// Rerun runs the tests of the current folder that match a pattern with the profile: with the experiment of Go 1.26, and with Go 1.27
// if it is there. None of them may skip.
func Rerun(t *testing.T, pattern string) {
	t.Helper()
	if tier.Of() < tier.CI || !Missing() {
		t.Skip("runs with TEST_TIER=ci and a release without the profile")
	}
	for _, setting := range []string{"GOEXPERIMENT=goroutineleakprofile", "GOTOOLCHAIN=go1.27.4"} {
		env := append(os.Environ(), setting)
		version := exec.Command("go", "version")
		version.Env = env
		if err := version.Run(); err != nil {
			t.Logf("%s: %v", setting, err)
			continue
		}
		cmd := exec.Command("go", "test", "-count=1", "-v", "-run", pattern, ".")
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("SKIP")) {
			t.Errorf("%s: %v\n%s", setting, err, out)
		}
	}
}
