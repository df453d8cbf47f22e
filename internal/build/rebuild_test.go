package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestToolchainOf(t *testing.T) {
	for version, want := range map[string]string{
		"go1.27.4": "go1.27.4", "go1.28rc1": "go1.28rc1", "go1.26.8 X:synctest": "go1.26.8", "go1.28-devel_0123abc": "local", "devel go1.28-0123abc": "local",
	} {
		if got := toolchainOf(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

// TestRemoveUnused: what the cache has of heisen is removed after 30 days without use, and nothing else.
func TestRemoveUnused(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-31 * 24 * time.Hour)
	age := func(name string) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(cache, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rebuilt-a", "rebuilt-new", "selftest-a", "other", "0123456789abcdef0"} {
		if err := os.WriteFile(filepath.Join(cache, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "rebuilt-new" {
			age(name)
		}
	}
	for _, name := range []string{"0123456789abcdef", "modules", "rebuild-123"} {
		if err := os.MkdirAll(filepath.Join(cache, name, "within"), 0o700); err != nil {
			t.Fatal(err)
		}
		age(name)
	}
	if err := os.Symlink(filepath.Join(cache, "modules"), filepath.Join(cache, "fedcba9876543210")); err != nil {
		t.Fatal(err)
	}

	used, err := overlay{"runtime/a.go": []byte("used")}.write(cache, "/goroot")
	if err != nil {
		t.Fatal(err)
	}
	unused, err := overlay{"runtime/a.go": []byte("unused")}.write(cache, "/goroot")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{used, unused} {
		age(filepath.Base(filepath.Dir(file)))
	}
	if _, err := (overlay{"runtime/a.go": []byte("used")}).write(cache, "/goroot"); err != nil {
		t.Fatal(err)
	}
	last, err := overlay{"runtime/a.go": []byte("another")}.write(cache, "/goroot")
	if err != nil {
		t.Fatal(err)
	}

	var left []string
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{
		"rebuilt-new", "other", "0123456789abcdef0", "modules", "fedcba9876543210",
		filepath.Base(filepath.Dir(used)), filepath.Base(filepath.Dir(last)),
	}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
}

// TestKeep: files beside an overlay are removed after 30 days without use, and not those of the overlay itself.
func TestKeep(t *testing.T) {
	base, err := overlay{"runtime/a.go": []byte("package runtime")}.write(t.TempDir(), "/goroot")
	if err != nil {
		t.Fatal(err)
	}
	b := &Builder{Toolchain: &Toolchain{Root: "/goroot"}, overlay: base}
	folder := filepath.Dir(base)
	old := time.Now().Add(-31 * 24 * time.Hour)
	replace := func(name, text string) string {
		t.Helper()
		fresh := *b
		if err := fresh.Replace(map[string][]byte{name: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		merged, err := Replacements(fresh.overlay)
		if err != nil {
			t.Fatal(err)
		}
		return merged[name]
	}
	used, unused := replace("/m/used.go", "package used"), replace("/m/unused.go", "package unused")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(folder, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	again, last := replace("/m/used.go", "package used"), replace("/m/last.go", "package last")
	if again != used {
		t.Errorf("%s, before it was %s", again, used)
	}
	for _, name := range []string{base, filepath.Join(folder, "runtime_a.go"), used, last} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(unused); err == nil {
		t.Errorf("%s is still there", unused)
	}
}
