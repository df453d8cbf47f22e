package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/report"
)

const corpus = "../../trace/testdata/corpus"

// heisenCommand runs the command in this process.
func heisenCommand(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = cli.Main(context.Background(), cli.Tool{}, args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return status, out.String(), err.String()
}

// happensBefore returns, by trace, the sites at which an independent analyzer finds accesses that
// race with an earlier one.
func happensBefore(t *testing.T) map[string][]string {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string][]string{}
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) == 4 && field[1] == "HB" {
			verdicts[field[0]] = strings.FieldsFunc(field[3], func(r rune) bool { return r == ',' })
		}
	}
	if len(verdicts) != 80 {
		t.Fatalf("%d traces have a verdict, want 80", len(verdicts))
	}
	return verdicts
}

// TestCorpus: for every trace of the corpus, heisen analyze -detect hb -report json finds the same sites
// as the independent analyzer. The output for the same trace in binary is equal, byte for byte.
func TestCorpus(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "binary.heisen")
	for name, want := range happensBefore(t) {
		file := filepath.Join(corpus, "std", name)
		status, out, errs := heisenCommand("analyze", "-detect", "hb", "-report", "json", file)
		wantStatus := cli.Clean
		if len(want) > 0 {
			wantStatus = cli.Findings
		}
		if status != wantStatus || errs != "" {
			t.Errorf("%s: exit status %d, want %d\n%s", name, status, wantStatus, errs)
		}
		findings, err := report.ReadJSON(strings.NewReader(out))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := laterSites(findings); !slices.Equal(got, want) {
			t.Errorf("%s: sites %v, want %v", name, got, want)
		}

		if status, _, errs := heisenCommand("trace", "convert", "-o", binary, file); status != cli.Clean || errs != "" {
			t.Errorf("%s: convert: exit status %d, %s", name, status, errs)
		}
		if _, again, _ := heisenCommand("analyze", "-detect", "hb", "-report", "json", binary); again != out {
			t.Errorf("%s: of the binary trace\n%s\nof the text\n%s", name, again, out)
		}
	}
}

// laterSites returns the sites of the later accesses, sorted by number and
// without repetition.
func laterSites(findings []report.Finding) (sites []string) {
	for _, f := range findings {
		sites = append(sites, f.Accesses[len(f.Accesses)-1].Site)
		if f.Reverse != nil {
			sites = append(sites, f.Reverse.Accesses[len(f.Reverse.Accesses)-1].Site)
		}
	}
	slices.SortFunc(sites, func(a, b string) int {
		m, _ := strconv.Atoi(a)
		n, _ := strconv.Atoi(b)
		return m - n
	})
	return slices.Compact(sites)
}
