package heisentest

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

// Golden compares a text report with a file in testdata, after Normalize. With
// -update it writes the file.
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
	goroutine = regexp.MustCompile(`\b([Gg]oroutine )(\d+)`)
	address   = regexp.MustCompile(`\b(0x)([0-9a-f]+)`)
)

// counts is what the summary says of each finding.
var counts = regexp.MustCompile(`(?m)^  [0-9a-f]{16} \(.*\): \d+ times.*\n`)

// Normalize replaces what differs from run to run or from machine to machine in
// a text report: goroutines and addresses are numbered in the order in which
// they stand in each finding, for whom another finding is about is chance; paths are
// relative to the working directory, and nothing is said of how often something was
// found.
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
		findings[i] = renumber(address, renumber(goroutine, finding))
	}
	return strings.Join(findings, "")
}

// separator ends a finding.
const separator = "\n==================\n"

// renumber replaces the second submatch of a pattern by numbers from 1 on, equal
// ones by equal numbers.
func renumber(pattern *regexp.Regexp, text string) string {
	known := map[string]string{}
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		m := pattern.FindStringSubmatch(match)
		if known[m[2]] == "" {
			known[m[2]] = fmt.Sprint(len(known) + 1)
		}
		return m[1] + known[m[2]]
	})
}
