package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisentest"
)

// TestReadme: the report in the README is the one for this program, except for numbers of the run
// and the folder of the machine.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```text\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README shows no report")
	}
	shown = regexp.MustCompile(`/\S*/examples/bank/`).ReplaceAllString(shown, "")
	want, err := os.ReadFile(filepath.Join("testdata", "report.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if got := heisentest.Normalize(t, shown); !strings.HasPrefix(string(want), got) {
		t.Errorf("the README shows\n%s\nwhere the first report is\n%s", got, want)
	}
}
