package build_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/accesstable"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/findingsfile"
)

// TestField builds a program for production. With a high budget, most of its races are found within seconds, each with two
// stacks and the places where the goroutines were created, and none in the program that synchronizes.
func TestField(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("only for linux/amd64")
	}
	program := fieldProgram(t, "races")
	names, err := exec.Command(program, "-list").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := len(bytes.Fields(names)) / 2
	file := filepath.Join(t.TempDir(), "findings")
	out := runField(t, program, "-for", "15s", "-findings", file)
	found, err := findingsfile.Read(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []int
	for i := range found {
		f := &found[i]
		if f.Kind != heisen.Race || len(f.Accesses) != 2 || f.Fingerprint == "" {
			t.Fatalf("not a race: %+v", f)
		}
		for _, a := range f.Accesses {
			if len(a.Stack) < 2 || filepath.Base(a.Stack[0].File) != "main.go" {
				t.Errorf("the stack of an access: %+v", a.Stack)
				continue
			}
			lines = append(lines, a.Stack[0].Line)
		}
		for _, g := range f.Goroutines {
			if strings.HasPrefix(g.Name, "goroutine ") && len(g.Stack) == 0 && g.Parent != nil && *g.Parent > 0 {
				t.Errorf("it is not known who has started %+v", g)
			}
		}
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) < want {
		t.Errorf("races in %d lines, want at least %d:\n%s", len(lines), want, out)
	}
	out = runField(t, program, "-for", "5s", "-fixed", "-findings", file)
	if found, err := os.ReadFile(file); err != nil || len(found) != 0 || strings.Contains(out, "DATA RACE") {
		t.Errorf("races in the program that synchronizes (%v):\n%s", err, out)
	}
	if strings.Contains(out, "holds 0 ") || !strings.Contains(out, "holds ") {
		t.Errorf("nobody was held:\n%s", out)
	}
}

// fieldProgram builds a program of testdata/field for production.
func fieldProgram(t *testing.T, name string) string {
	t.Helper()
	dir, pkg := t.TempDir(), "./testdata/field/"+name
	plain, err := build.NewField(t.Context(), "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	instrumented, err := build.New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	program, other := filepath.Join(dir, "plain"), filepath.Join(dir, "instrumented")
	if err := plain.Build(t.Context(), "", program, nil, pkg); err != nil {
		t.Fatal(err)
	}
	if err := instrumented.Build(t.Context(), "", other, nil, pkg); err != nil {
		t.Fatal(err)
	}
	table, err := accesstable.Find(program, other)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Append(program); err != nil {
		t.Fatal(err)
	}
	return program
}

// runField runs a program with many holds, and returns all that it prints.
func runField(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HEISEN_FIELD=rate=500,cpu=50000")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
