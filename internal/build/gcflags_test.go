package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddGcflags checks with which flags packages are compiled: for each package, the flags that
// heisen gives it without flags of the user's, and then those of the user's last pattern that
// matches it, as the go command chooses them.
func TestAddGcflags(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "a/a.go": "package a\n", "b/b.go": "package b\n", "b/c/c.go": "package c\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	installation(t)
	for _, test := range []struct {
		patterns string // of recorded packages
		values   []string
		want     map[string]string // flags of the user's, by package
	}{
		{"", []string{"-N"}, map[string]string{"example.com/m/a": "-N", "example.com/m/b": ""}},
		{"./b/...", []string{"-N"}, map[string]string{"example.com/m/a": "-N", "example.com/m/a_test": "-N", "example.com/m/b": ""}},
		{"", []string{"all=-N"}, map[string]string{"example.com/m/a": "-N", "example.com/m/b": "-N", "fmt": "-N", "sync": "", "runtime": "", "testing": "", "internal/race": "", "internal/runtime/atomic": ""}},
		{"", []string{"all=-N", "./b/...=-l"}, map[string]string{"example.com/m/a": "-N", "example.com/m/b": "-l", "example.com/m/b/c": "-l", "fmt": "-N"}},
		{"./b", []string{"./b/...=-l", "std=-N", "-S"}, map[string]string{
			"example.com/m/a": "-S", "example.com/m/b": "-l", "example.com/m/b/c": "-l", "fmt": "-N", "net": "-N",
		}},
		{"", []string{"./b/...=-l", "example.com/m/b="}, map[string]string{"example.com/m/b": "", "example.com/m/b/c": "-l"}},
	} {
		b, err := New(t.Context(), dir, "", strings.Fields(test.patterns)...)
		if err != nil {
			t.Fatal(err)
		}
		before := append([]compiled(nil), b.gcflags...)
		if err := b.AddGcflags(t.Context(), dir, []string{"./a"}, test.values...); err != nil {
			t.Fatal(err)
		}
		for pkg, user := range test.want {
			want := join(chosen(before, pkg), user)
			if got := chosen(b.gcflags, pkg); got != want {
				t.Errorf("-pkgs=%s -gcflags %q: %s is compiled with %q, want %q", test.patterns, test.values, pkg, got, want)
			}
		}
	}
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.AddGcflags(t.Context(), dir, nil, "nothing"); err == nil || err.Error() != "-gcflags=nothing: want flags, or a pattern, an equals sign and flags" {
		t.Errorf("error %v", err)
	}
}

// chosen returns the flags of a package as the go command chooses them, for the patterns and
// packages of TestAddGcflags. The command line names the package a.
func chosen(entries []compiled, pkg string) (flags string) {
	path, module := strings.CutPrefix(pkg, "example.com/m/")
	for _, c := range entries {
		match := c.pattern == pkg
		switch c.pattern {
		case "all":
			match = true
		case "std":
			match = !module
		case "work":
			match = module
		case "":
			match = path == "a" || path == "a_test"
		case "./b":
			match = path == "b"
		case "./b/...":
			match = path == "b" || strings.HasPrefix(path, "b/")
		}
		if match {
			flags = c.flags
		}
	}
	return flags
}
