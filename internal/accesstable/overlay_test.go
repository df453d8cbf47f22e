package accesstable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
)

// TestOverlayLines: the instrumented build changes files of packages that are sampled only within lines. Otherwise a hook would
// vouch for another line of the plain program.
func TestOverlayLines(t *testing.T) {
	b, err := build.New(t.Context(), "testdata/web", "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.Overlay())
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, replacement := range overlay.Replace {
		file, err := filepath.Rel(filepath.Join(b.Toolchain.Root, "src"), name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) || neverSampled(filepath.ToSlash(filepath.Dir(file))) {
			continue
		}
		after, errAfter := os.ReadFile(replacement)
		if err := errors.Join(err, errAfter); err != nil {
			t.Fatal(err)
		}
		compared++
		if !sameLines(before, after) {
			t.Errorf("%s: lines moved", file)
		}
	}
	if compared == 0 {
		t.Errorf("none of %d files is compared", len(overlay.Replace))
	}
}

// sameLines reports whether each line that is in both texts once has the same number.
func sameLines(a, b []byte) bool {
	before, after := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	numbers := map[string][]int{}
	for i, line := range after {
		numbers[string(line)] = append(numbers[string(line)], i)
	}
	for i, line := range before {
		if n := numbers[string(line)]; len(n) == 1 && n[0] != i && !bytes.Equal(after[i], line) {
			return false
		}
	}
	return len(before) == len(after)
}
