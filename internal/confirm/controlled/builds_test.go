package controlled_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
)

// TestBuilds: sources that differ in the arguments of their programs are built once, and their programs are different
// ones. A source of another package or from another folder is built anew.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	module := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/builds\n\ngo 1.25\n", "a/a.go": "package main\n\nfunc main() {}\n", "b/b.go": "package main\n\nfunc main() {}\n",
	} {
		file := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(module)
	builds := controlled.NewBuilds(t.TempDir())
	defer builds.Close()
	built := func(b *controlled.Builds, pkg string, args ...string) (*controlled.Program, func()) {
		t.Helper()
		programs, with, giveUp, err := b.Build(t.Context(), &controlled.Source{Verb: "run", Packages: []string{pkg}, Args: args})
		if err != nil || len(programs) != 1 || with == nil {
			t.Fatalf("%s: %d programs, error %v", pkg, len(programs), err)
		}
		return programs[0], giveUp
	}
	first, giveUp := built(builds, "./a", "1")
	giveUp()
	before, err := os.Stat(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	second, giveUp := built(builds, "./a", "2")
	defer giveUp()
	after, err := os.Stat(second.Path)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("built again: %s and %s, error %v", first.Path, second.Path, err)
	}
	if first == second || first.Args[0] != "1" || second.Args[0] != "2" {
		t.Errorf("arguments %q and %q", first.Args, second.Args)
	}
	if other, _ := built(builds, "./b", "1"); other.Path == first.Path {
		t.Errorf("another package has the executable of the first, %s", other.Path)
	}
	t.Chdir(filepath.Join(module, "a"))
	if other, _ := built(builds, ".", "1"); other.Path == first.Path {
		t.Errorf("another folder has the executable of the first, %s", other.Path)
	}
	alone, giveUp := built(nil, ".")
	if alone.Path == first.Path {
		t.Errorf("nothing is kept, and the executable is %s", alone.Path)
	}
	giveUp()
	if _, err := os.Stat(alone.Path); !os.IsNotExist(err) {
		t.Errorf("a program that was given up is still there: %v", err)
	}
	if _, _, _, err := builds.Build(t.Context(), &controlled.Source{Verb: "run", Packages: []string{"./none"}}); err == nil {
		t.Error("a package that does not exist is built")
	}
}
