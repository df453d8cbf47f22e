package lockset_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

const corpus = "../trace/testdata/corpus"

// TestCorpus compares with what independent analysers say of the corpus. A race
// that one of them predicts is a potential race: of each site that HB, SHB, WCP
// or SyncPreserving names as a later access of a race, Hybrid must have a pair.
// Each site that Eraser reports must be one that the other lockset detector
// reports; that one has no initialisation phase and goes on after the first
// violation, so the reverse does not hold.
func TestCorpus(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]map[string][]string{} // sites by trace and engine
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) != 4 || field[0] == "trace" {
			continue
		}
		if verdicts[field[0]] == nil {
			verdicts[field[0]] = map[string][]string{}
		}
		verdicts[field[0]][field[1]] = strings.FieldsFunc(field[3], func(r rune) bool { return r == ',' })
	}
	if len(verdicts) != 80 {
		t.Fatalf("%d traces have verdicts, want 80", len(verdicts))
	}
	predicted, pairs, violations := 0, 0, 0
	for name, verdict := range verdicts {
		records, symbols := readTrace(t, filepath.Join(corpus, "std", name))
		found, err := findingsOf(records, hybrid())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sites := map[string]bool{}
		for _, f := range found {
			for _, a := range f.Accesses {
				sites[symbols.Site(a.Site).String()] = true
			}
		}
		pairs += len(found)
		for _, engine := range []string{"HB", "SHB", "WCP", "SyncPreserving"} {
			for _, site := range verdict[engine] {
				predicted++
				if !sites[site] {
					t.Errorf("%s: %s predicts a race at site %s, and there is no pair", name, engine, site)
				}
			}
		}
		found, err = findingsOf(records, eraser())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lockset := map[string]bool{}
		for _, site := range verdict["LockSet"] {
			lockset[site] = true
		}
		violations += len(found)
		for _, f := range found {
			if site := symbols.Site(f.Accesses[1].Site).String(); !lockset[site] {
				t.Errorf("%s: a violation at site %s, which the other detector does not report", name, site)
			}
		}
	}
	t.Logf("%d sites of predicted races, %d pairs, %d violations", predicted, pairs, violations)
	if predicted == 0 || violations == 0 {
		t.Error("nothing was compared")
	}
}

func readTrace(t *testing.T, name string) ([]heisen.Record, *heisen.Symbols) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := trace.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var records []heisen.Record
	for batch := make([]heisen.Record, 1024); ; {
		n, err := r.Next(batch)
		records = append(records, batch[:n]...)
		if err == io.EOF {
			return records, r.Symbols()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
