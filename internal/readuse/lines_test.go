package readuse

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// TestLines compares what is found with the comments in testdata.
func TestLines(t *testing.T) {
	dir, err := filepath.Abs("testdata/lines")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Load(t.Context(), ssaload.Source{Dir: dir, Packages: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "lines.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`// ([uc]+|-) (\d)$`)
	checked := 0
	for i, line := range strings.Split(string(text), "\n") {
		want := comment.FindStringSubmatch(line)
		if want == nil {
			continue
		}
		checked++
		at := lines.At(file, i+1)
		got := ""
		if at.Updates {
			got += "u"
		}
		if at.Copies {
			got += "c"
		}
		if got == "" {
			got = "-"
		}
		if got, want := fmt.Sprint(got, at.Size), want[1]+want[2]; got != want {
			t.Errorf("line %d: %s, want %s: %s", i+1, got, want, strings.TrimSpace(line))
		}
	}
	if checked < 40 {
		t.Errorf("only %d lines", checked)
	}
	if got := lines.At(file, 1); got != (Line{}) {
		t.Errorf("a line without code: %+v", got)
	}
	if got := (*Lines)(nil).At(file, 1); got != (Line{}) {
		t.Errorf("without lines: %+v", got)
	}
}
