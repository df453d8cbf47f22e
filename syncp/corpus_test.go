package syncp_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/syncp"
	"github.com/heisen-go/heisen/trace"
)

const corpus = "../trace/testdata/corpus"

// TestCorpus compares predictions with those of an independent analyzer for sync-preserving races on the corpus,
// whose README has its origin. It lists the sites of later accesses of races.
func TestCorpus(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	traces, sites := 0, 0
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) != 4 || field[1] != "SyncPreserving" {
			continue
		}
		traces++
		either, later := racySites(t, filepath.Join(corpus, "std", field[0]))
		theirs := strings.FieldsFunc(field[3], func(r rune) bool { return r == ',' })
		sites += len(theirs)
		for _, site := range theirs {
			if !either[site] {
				t.Errorf("%s: no race at site %s", field[0], site)
			}
		}
		for site := range later {
			if !slices.Contains(theirs, site) {
				t.Errorf("%s: a race at site %s, which the analyzer does not report", field[0], site)
			}
		}
	}
	if traces != 80 || sites < 500 {
		t.Errorf("%d traces, %d sites", traces, sites)
	}
}

// racySites returns the sites of either access of the races in a trace, and those of the later accesses.
func racySites(t *testing.T, name string) (either, later map[string]bool) {
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
	either, later = map[string]bool{}, map[string]bool{}
	d, err := syncp.NewDetector(syncp.WithSink(func(f heisen.Finding) {
		if f.Kind == heisen.Race {
			first, second := r.Symbols().Site(f.Accesses[0].Site).String(), r.Symbols().Site(f.Accesses[1].Site).String()
			either[first], either[second], later[second] = true, true, true
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]heisen.Record, 1024)
	for {
		n, err := r.Next(batch)
		d.HandleRecords(batch[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	return either, later
}
