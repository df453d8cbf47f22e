package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestComparison: the rows of the comparison are those of the table of results.
func TestComparison(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "bench/RESULTS.md"), `<a id="rivals"></a>`)
	measured := regexp.MustCompile(`(?m)^\| class .*\n(\|.*\n)+`).FindString(section)
	if n := strings.Count(measured, "\n"); n < 2+14+3 {
		t.Fatalf("the results have a table of %d lines", n)
	}
	comparison := read(t, "docs/comparison.md")
	for line := range strings.Lines(measured) {
		first := strings.TrimSpace(strings.Split(line, "|")[1])
		if first == "class" || first == "all" || first == "false reports" || strings.HasPrefix(first, "seconds") {
			if !strings.Contains(comparison, "\n"+line) {
				t.Errorf("docs/comparison.md does not have this line of bench/RESULTS.md:\n%s", line)
			}
		}
	}
}
