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

// TestRemoveUnused: only programs that were not used for long are removed.
func TestRemoveUnused(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-unusedFor - time.Hour)
	for name, at := range map[string]time.Time{"rebuilt-a": old, "rebuilt-b": time.Now(), "overlay": old} {
		path := filepath.Join(cache, name)
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(cache, "rebuilt-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	removeUnused(cache)
	var left []string
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"overlay", "rebuilt-b", "rebuilt-folder"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
}
