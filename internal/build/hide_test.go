package build

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDirectives: directives name variables and have positions; anything else is an error with the
// position.
func TestDirectives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	read := func(text string) (h Hiding, err error) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return h, h.read(file)
	}
	h, err := read("package a\n\n//heisen:reaches net/http.DefaultClient that is used\n" +
		"\t//heisen:constant gopkg.in/yaml.v3.errEmpty\n// heisen:reaches a.B\n//heisen:reachesmore a.B\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Hiding{
		Reaches:   []Directive{{"net/http.DefaultClient", file + ":3"}},
		Constants: []Directive{{"gopkg.in/yaml.v3.errEmpty", file + ":4"}},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, line := range []string{"//heisen:reaches box", "//heisen:constant a/b.c/d", "//heisen:constant a.", "//heisen:reaches .x"} {
		if _, err := read("package a\n" + line + "\n"); err == nil {
			t.Errorf("%s is no error", line)
		} else if want := file + ":2: "; len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: %v, want an error at %s", line, err, want)
		}
	}
}
