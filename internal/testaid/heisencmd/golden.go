package heisencmd

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden normalizes a text report and compares it with a file in testdata. With the flag -update it
// writes the file instead.
func Golden(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	got := Normalize(t, text)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-%s +got:\n%s", file, diff)
	}
}

var (
	goroutines = regexp.MustCompile(`\b[Gg]oroutine \d+|\bGoroutines \d+(?:, \d+)* and \d+`)
	number     = regexp.MustCompile(`\d+`)
	addresses  = regexp.MustCompile(`\b0x[0-9a-f]+`)
	digits     = regexp.MustCompile(`[0-9a-f]+$`)
)

// counts matches the lines of the summary that give the number of times of a finding.
var counts = regexp.MustCompile(`(?m)^  [0-9a-f]{16} \(.*\): \d+ times.*\n`)

// Normalize removes from a text report what depends on the run or on the machine. In each finding it
// numbers goroutines and addresses in the order of their first occurrence. It makes paths relative
// to the working directory, and drops the lines about how often something was found.
func Normalize(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	text = counts.ReplaceAllString(text, "")
	findings := strings.SplitAfter(text, separator)
	for i, finding := range findings {
		findings[i] = renumber(addresses, digits, renumber(goroutines, number, finding))
	}
	return strings.Join(findings, "")
}

// separator is the end of a finding in a text report.
const separator = "\n==================\n"

// renumber replaces what matches each in the matches of pattern by a number. Equal texts get equal numbers, and new texts the next number,
// starting with 1.
func renumber(pattern, each *regexp.Regexp, text string) string {
	known := map[string]string{}
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		return each.ReplaceAllStringFunc(match, func(old string) string {
			if known[old] == "" {
				known[old] = fmt.Sprint(len(known) + 1)
			}
			return known[old]
		})
	})
}
