package build

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/private"
)

// The first build with an overlay compiles the standard library, which takes long. The cache folder says which overlays have been built
// with, and how long the latest first build took.
const (
	builtFile = "built"
	firstFile = "first-build"
)

// leastFirst is the time below which the standard library cannot have been compiled: the go command had kept it.
const leastFirst = 10 * time.Second

// BuiltBefore reports whether there was a build with the builder's overlay, and how long the latest first build with an overlay took; 0 if
// that is not known.
func (b *Builder) BuiltBefore() (before bool, first time.Duration) {
	dir := filepath.Dir(b.overlay)
	_, err := os.Stat(filepath.Join(dir, builtFile))
	if text, failed := os.ReadFile(filepath.Join(filepath.Dir(dir), firstFile)); failed == nil {
		first, _ = time.ParseDuration(strings.TrimSpace(string(text)))
	}
	return err == nil, max(first, 0)
}

// NoteBuilt notes that a build with the overlay has ended, which took so long. Without the note, nothing is lost.
func (b *Builder) NoteBuilt(took time.Duration) {
	if before, _ := b.BuiltBefore(); before {
		return
	}
	dir := filepath.Dir(b.overlay)
	if private.Put(filepath.Join(dir, builtFile), nil) == nil && took >= leastFirst {
		private.Put(filepath.Join(filepath.Dir(dir), firstFile), []byte(took.Round(time.Second).String()+"\n"))
	}
}
