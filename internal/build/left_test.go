package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/recorder"
)

// noLimit makes a program wait for goroutines that are left behind for longer than a test runs. So it
// ends only if nothing is waited for.
const noLimit = "atexit_sleep_ms=100000000"

// leftBehind says how the kinds of testdata/alone/left end.
var leftBehind = []struct {
	kind   string
	limit  bool // it ends because the limit is reached
	status int
}{
	{"none", false, 0},
	{"blocked", false, 0},
	{"finished", false, 0},
	{"signals", false, 0},
	{"stopped-timer", false, 0},
	{"finalizer", false, 0},
	{"runnable", false, 66},
	{"many", false, 66},
	{"chain", false, 66},
	{"sleeping", false, 66},
	{"repeated", false, 66},
	{"napping", false, 66},
	{"afterfunc", false, 66},
	{"firing", false, 66},
	{"timer", false, 66},
	{"computing", false, 66},
	{"pipe", false, 66},
	{"connection", false, 66},
	{"panics", false, 2},
	{"exits-4", false, 4},
	{"exit-0", false, 66},
	{"exit-3", false, 3},
	{"exits-0", false, 0},
	{"spinning", true, 0},
	{"yielding", true, 0},
	{"ticker", true, 0},
	{"reading", true, 0},
	{"accept", true, 0},
}

// TestLeftBehind: at its end a program waits for goroutines that can still run, and only for those.
func TestLeftBehind(t *testing.T) {
	for _, test := range leftBehind {
		for _, procs := range []string{"1", "4"} {
			t.Run(test.kind+"/"+procs, func(t *testing.T) {
				t.Parallel()
				limit := noLimit
				if test.limit {
					limit = "atexit_sleep_ms=50"
				}
				env := []string{"GOMAXPROCS=" + procs, "GORACE=" + limit}
				got := alone{exe: aloneProgram(t, "left"), args: []string{test.kind}, env: env}.run(t)
				if got.status != test.status || (numReports(got.stderr) > 0) != (test.status == 66) {
					t.Errorf("status %d: %s", got.status, got.stderr)
				}
				// The same under an analyzer.
				for _, mode := range []recorder.Mode{recorder.Races, recorder.Everything} {
					rec := record(t, run{exe: aloneProgram(t, "left"), args: []string{test.kind}, env: env, mode: mode})
					want := test.status
					if want == 66 {
						want = 0 // the analyzer answers that
					}
					if rec.status != want || (len(rec.races) > 0) != (test.status == 66) {
						t.Errorf("recorded in mode %d: status %d, %d races: %s", mode, rec.status, len(rec.races), rec.stderr)
					}
				}
			})
		}
	}
}

// TestFiring ends programs just when a timer fires and starts a goroutine.
func TestFiring(t *testing.T) {
	for range 400 {
		got := alone{exe: aloneProgram(t, "left"), args: []string{"firing"}, gorace: noLimit, env: []string{"GOMAXPROCS=4"}}.run(t)
		if got.status != 66 {
			t.Fatalf("status %d: %s", got.status, got.stderr)
		}
	}
}

// TestCoverageOfLeftBehind: a program that waits for goroutines has written its coverage, and its
// status is that of the race.
func TestCoverageOfLeftBehind(t *testing.T) {
	b, err := New(t.Context(), "testdata/alone", "")
	if err != nil {
		t.Fatal(err)
	}
	exe, dir := filepath.Join(t.TempDir(), "left"), t.TempDir()
	if err := b.Build(t.Context(), "testdata/alone", exe, []string{"-cover"}, "./left"); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"sleeping", "exit-0", "exit-3", "none"} {
		alone{exe: exe, args: []string{kind}, env: []string{"GOCOVERDIR=" + dir}}.run(t)
		files, err := filepath.Glob(filepath.Join(dir, "covcounters.*"))
		if err != nil || len(files) != 1 {
			t.Errorf("%s: files %q, error %v", kind, files, err)
		}
		for _, file := range files {
			os.Remove(file)
		}
	}
}

// TestLeftBehindLikeRace compares the verdicts with those of Go's race detector.
func TestLeftBehindLikeRace(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the standard library once more")
	}
	t.Setenv("CGO_ENABLED", "1")
	needCompiler(t)
	exe := filepath.Join(t.TempDir(), "left")
	cmd := exec.Command("go", "build", "-race", "-o", exe, "./left")
	cmd.Dir = "testdata/alone"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range leftBehind {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			got := alone{exe: exe, args: []string{test.kind}}.run(t)
			if got.status != test.status || strings.Contains(got.stderr, "DATA RACE") != (test.status == 66) {
				t.Errorf("status %d: %s", got.status, got.stderr)
			}
		})
	}
}
