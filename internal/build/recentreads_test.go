package build

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRecentReads: a read is not taken for a repetition of an earlier one of the same epoch if the
// memory was allocated anew in between, or if another goroutine has written it.
func TestRecentReads(t *testing.T) {
	const dir = "testdata/recentreads"
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "recentreads")
	if err := b.Build(t.Context(), dir, exe, nil, "."); err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"reallocated", "written"} {
		t.Run(test, func(t *testing.T) {
			got := alone{exe: exe, args: []string{test}}.run(t)
			if !strings.HasPrefix(got.stdout, test) {
				t.Fatalf("the program did not come to the second read:\n%s%s", got.stdout, got.stderr)
			}
			if !strings.Contains(got.stderr, "main.readAgain()") {
				t.Errorf("the second read is in no race:\n%s", got.stderr)
			}
		})
	}
}
