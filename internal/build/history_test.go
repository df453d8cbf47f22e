package build

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestBuiltBefore: the first build with an overlay is noted, with the time that it took, and damaged notes are as none.
func TestBuiltBefore(t *testing.T) {
	cache := t.TempDir()
	builder := func(name string) *Builder {
		dir := filepath.Join(cache, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return &Builder{overlay: filepath.Join(dir, "overlay.json")}
	}
	check := func(b *Builder, want bool, took time.Duration) {
		t.Helper()
		if before, first := b.BuiltBefore(); before != want || first != took {
			t.Errorf("built before: %v, in %v; want %v, %v", before, first, want, took)
		}
	}
	one, other := builder("1"), builder("2")
	check(one, false, 0)
	one.NoteBuilt(66*time.Second + time.Millisecond)
	check(one, true, 66*time.Second)
	check(other, false, 66*time.Second)
	one.NoteBuilt(20 * time.Second) // no first build
	check(other, false, 66*time.Second)
	third := builder("3")
	third.NoteBuilt(leastFirst - 1)
	check(third, true, 66*time.Second)
	for _, text := range []string{"", "soon", "-5s"} {
		if err := os.WriteFile(filepath.Join(cache, firstFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check(other, false, 0)
	}
}
