package atomrace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchedules compiles the injected files with atomics that let a scheduler choose before each
// operation which thread continues. It runs them under many schedules, few of which occur on real
// processors; see testdata/schedules.
func TestSchedules(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module schedules\n\ngo 1.25\n"))
	for _, name := range []string{"main.go", "atomic/atomic.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "schedules", name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, text)
	}
	entries, err := Source.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := Source.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		write(e.Name(), []byte(strings.NewReplacer(
			"package atomrace\n", "package main\n", `"sync/atomic"`, `"schedules/atomic"`).Replace(string(text))))
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
