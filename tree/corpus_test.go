package tree_test

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/tree"
)

// TestCorpus: the theorems on the traces that other tools have judged.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../trace/testdata/corpus/std/*.std")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d traces, error %v", len(files), err)
	}
	var dropped, races uint64
	for _, file := range files {
		records := readTrace(t, file)
		for name, detector := range map[string]func(heisen.Sink) heisen.Detector{"hb": reference, "hybrid": hybrid} {
			o, err := sameLocations(records, detector)
			if err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
			}
			dropped += o.DroppedAccesses
			races += uint64(o.races)
		}
		all, filtered := analyze(records, fastTrack, nil), analyze(records, fastTrack, tree.NewFilter)
		if !errors.Is(filtered.err, tree.ErrLockMisuse) && !maps.Equal(all.first, filtered.first) {
			t.Errorf("%s: fasttrack: first races (-all +filtered):\n%s", file, cmp.Diff(all.first, filtered.first))
		}
	}
	if dropped == 0 || races == 0 {
		t.Errorf("%d accesses dropped, %d racy pairs of locations", dropped, races)
	}
	t.Logf("%d traces: %d accesses dropped, %d racy pairs of locations", len(files), dropped, races)
}

func readTrace(t *testing.T, file string) (records []heisen.Record) {
	t.Helper()
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	batch := make([]heisen.Record, 256)
	for {
		n, err := r.Next(batch)
		records = append(records, batch[:n]...)
		if err == io.EOF {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
