package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestComparison: the table of the comparison is that of the results.
func TestComparison(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "bench/RESULTS.md"), `<a id="rivals"></a>`)
	measured := regexp.MustCompile(`(?m)^\| class .*\n(\|.*\n)+`).FindString(section)
	if n := strings.Count(measured, "\n"); n < 2+14+3 {
		t.Fatalf("the results have a table of %d lines", n)
	}
	if !strings.Contains(read(t, "docs/comparison.md"), "\n\n"+measured+"\n") {
		t.Errorf("docs/comparison.md does not have the table of bench/RESULTS.md:\n%s", measured)
	}
}
