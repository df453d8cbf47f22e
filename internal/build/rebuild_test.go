package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

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
