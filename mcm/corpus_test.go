package mcm_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

const corpus = "../trace/testdata/corpus"

// TestCorpus compares predictions with the results of independent analyzers on the corpus, whose README
// has its origin. The first happens-before race of each trace must be predicted. Each site that has a
// sync-preserving race must be one of the accesses of a predicted race.
func TestCorpus(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	traces, preserving, races := 0, 0, 0
	for line := range strings.Lines(string(table)) {
		field := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(field) != 4 || field[1] != "SyncPreserving" {
			continue
		}
		traces++
		records, symbols := readTrace(t, filepath.Join(corpus, "std", field[0]))
		found := predict(t, symbols, records)
		races += len(found)
		racy := map[string]bool{}
		for _, f := range found {
			if f.Kind == heisen.Race {
				racy[symbols.Site(f.Accesses[1].Site).String()] = true
				racy[symbols.Site(f.Accesses[0].Site).String()] = true
			}
		}
		for _, site := range strings.FieldsFunc(field[3], func(r rune) bool { return r == ',' }) {
			preserving++
			if !racy[site] {
				t.Errorf("%s: no race is predicted at site %s, which has a sync-preserving one", field[0], site)
			}
		}
		if f, ok := firstRace(t, records); ok {
			if !slices.ContainsFunc(found, func(g heisen.Finding) bool {
				return g.Kind == heisen.Race && samePlaces(f.Accesses, g.Accesses)
			}) {
				t.Errorf("%s: the first race in the observed order is not predicted: %+v", field[0], f.Accesses)
			}
		}
	}
	if traces != 80 || preserving == 0 {
		t.Fatalf("%d traces with %d sites; want 80 with many", traces, preserving)
	}
	t.Logf("%d traces, %d sync-preserving sites, %d findings", traces, preserving, races)
}

func predict(t *testing.T, symbols *heisen.Symbols, records []heisen.Record, options ...mcm.DetectorOption) (found []heisen.Finding) {
	t.Helper()
	d, err := mcm.NewDetector(append(options, mcm.WithSymbols(symbols), mcm.WithSink(func(f heisen.Finding) { found = append(found, f) }))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := heisen.Run(t.Context(), heisen.Slice(records), d); err != nil {
		t.Fatal(err)
	}
	return found
}

// firstRace returns the happens-before race whose second access comes first.
func firstRace(t *testing.T, records []heisen.Record) (first heisen.Finding, ok bool) {
	t.Helper()
	d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		if !ok {
			first, ok = f, true
		}
	})))
	if _, err := heisen.Run(t.Context(), heisen.Slice(records), d); err != nil {
		t.Fatal(err)
	}
	return first, ok
}

func samePlaces(a, b []heisen.Access) bool {
	same := func(x, y heisen.Access) bool { return x.Site == y.Site && x.Op == y.Op }
	return same(a[0], b[0]) && same(a[1], b[1]) || same(a[0], b[1]) && same(a[1], b[0])
}

func readTrace(t *testing.T, file string) ([]heisen.Record, *heisen.Symbols) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, r)
}

// source is a trace reader.
type source interface {
	heisen.Source
	Symbols() *heisen.Symbols
}

func readAll(t *testing.T, r source) (records []heisen.Record, symbols *heisen.Symbols) {
	t.Helper()
	batch := make([]heisen.Record, 256)
	for {
		n, err := r.Next(batch)
		records = append(records, batch[:n]...)
		if errors.Is(err, io.EOF) {
			return records, r.Symbols()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
