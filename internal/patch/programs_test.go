package patch_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "rewrite testdata/programs.diff")

// run runs the command and returns its exit status.
func run(t *testing.T, out *bytes.Buffer, args ...string) int {
	t.Helper()
	var messages bytes.Buffer
	status := cli.Main(context.Background(), cli.Tool{}, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: &messages})
	if status != cli.Clean {
		t.Logf("heisen %s:\n%s", strings.Join(args, " "), messages.String())
	}
	return status
}

// command runs a command and returns what it prints.
func command(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// module makes a module of packages in a temporary folder that becomes the working directory.
func module(t *testing.T, packages ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range packages {
		if err := os.CopyFS(filepath.Join(dir, filepath.Base(name)), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/programs\n\ngo 1.25\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

// TestPrograms: the patch for programs with races is the known one. git apply takes it, and after it the programs are
// formatted, go vet and the tests pass, and neither go test -race nor heisen finds a race.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	golden, err := filepath.Abs(filepath.Join("testdata", "programs.diff"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join("testdata", "programs", "*"))
	if err != nil || len(all) < 10 {
		t.Fatal(all, err)
	}
	module(t, all...)
	var diff bytes.Buffer
	if status := run(t, &diff, "heal", "-patch", "-try=false", "./..."); status != cli.Clean {
		t.Fatalf("exit status %d", status)
	}
	if *update {
		if err := os.WriteFile(golden, diff.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), diff.String()); d != "" {
		t.Errorf("the patch differs (-want +got):\n%s", d)
	}
	patched(t, diff.String())
}

// patched applies a patch, and checks the module after it.
func patched(t *testing.T, diff string, flags ...string) {
	t.Helper()
	command(t, diff, "git", "apply")
	if out := command(t, "", "gofmt", "-l", "."); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	command(t, "", "go", "vet", "./...")
	if cgo := command(t, "", "go", "env", "CGO_ENABLED"); strings.TrimSpace(cgo) == "1" {
		command(t, "", "go", "test", "-race", "-count=3", "./...")
	}
	var out bytes.Buffer
	if status := run(t, &out, append([]string{"test", "-count=3"}, append(flags, "./...")...)...); status != cli.Clean {
		t.Errorf("heisen test after the patch: exit status %d\n%s", status, out.String())
	}
}

// TestSequence: a check and an act in two accessors, each of which locks, become one step. heisen fuzz makes the
// violation happen before the patch, and never after it.
func TestSequence(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	golden, err := filepath.Abs(filepath.Join("testdata", "booking.diff"))
	if err != nil {
		t.Fatal(err)
	}
	module(t, filepath.Join("testdata", "booking"))
	var out, diff bytes.Buffer
	fuzz := []string{"fuzz", "-seeds", "1:100", "-time", "0", "-strategy", "walk", "./..."}
	if status := run(t, &out, fuzz...); status != cli.Findings {
		t.Fatalf("heisen fuzz finds nothing to repair: exit status %d", status)
	}
	noise := []string{"-detect", "atomrace", "-noise", "random", "-noise-strength", "1000", "-noise-wait", "2ms"}
	heal := append([]string{"heal", "-patch", "-try=false", "-count=100"}, noise...)
	if status := run(t, &diff, append(heal, "./...")...); status != cli.Clean {
		t.Fatalf("exit status %d", status)
	}
	if *update {
		if err := os.WriteFile(golden, diff.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), diff.String()); d != "" {
		t.Errorf("the patch differs (-want +got):\n%s", d)
	}
	patched(t, diff.String(), noise...)
	if status := run(t, &out, fuzz...); status != cli.Clean {
		t.Errorf("heisen fuzz after the patch: exit status %d", status)
	}
}

// TestFindingsFile: with -findings nothing runs, and the patch is the same. Without -patch, and with -json, the command line
// is wrong.
func TestFindingsFile(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "programs.diff"))
	if err != nil {
		t.Fatal(err)
	}
	module(t, filepath.Join("testdata", "programs", "counter"))
	file, err := filepath.Abs(filepath.Join("counter", "counter.go"))
	if err != nil {
		t.Fatal(err)
	}
	access := report.Access{Op: "write", Variable: "c.n", Stack: []report.Frame{{Func: "inc", File: file, Line: 9}}}
	finding := report.Finding{Detector: "fasttrack", Kind: "race", Fingerprint: "0123456789abcdef", Accesses: []report.Access{access, access}}
	var text, diff bytes.Buffer
	if err := report.WriteJSON(&text, &finding); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("found.json", text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if status := run(t, &diff, "heal", "-patch", "-try=false", "-findings", "found.json"); status != cli.Clean {
		t.Fatalf("exit status %d", status)
	}
	if diff.Len() == 0 || !strings.Contains(string(golden), diff.String()) {
		t.Errorf("the patch is not part of that in programs.diff:\n%s", diff.String())
	}
	for _, args := range [][]string{{"heal"}, {"heal", "-patch", "-json"}} {
		if status := run(t, &diff, args...); status != cli.Misused {
			t.Errorf("heisen %s: exit status %d", strings.Join(args, " "), status)
		}
	}
}
