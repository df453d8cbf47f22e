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
			came := 0 // to the second read: in the other runs, the memory was not allocated again
			for range 10 {
				// The goroutine may go on on another processor, which remembers nothing.
				got := alone{exe: exe, args: []string{test}}.run(t)
				if !strings.HasPrefix(got.stdout, test) {
					continue
				}
				came++
				if !strings.Contains(got.stderr, "main.readAgain()") {
					t.Fatalf("the second read is in no race:\n%s", got.stderr)
				}
			}
			if came == 0 {
				t.Error("no run came to the second read")
			}
		})
	}
}
