package build

import (
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen/internal/recorder"
)

// TestPlaces: equal places have equal numbers, even if there are many call paths: the table of places
// grows while other threads use it. Many locks do not make many places.
func TestPlaces(t *testing.T) {
	const dir = "testdata/places"
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "places")
	if err := b.Build(t.Context(), dir, exe, []string{"-ldflags=-checklinkname=0"}, "."); err != nil {
		t.Fatal(err)
	}
	rec := record(t, run{exe: exe, mode: recorder.Races})
	if rec.err != nil || rec.stdout != "true true 0\n" {
		t.Errorf("%q, error %v, %s", rec.stdout, rec.err, rec.stderr)
	}
}
