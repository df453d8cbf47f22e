package tracejson

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func samples(t *testing.T, pattern string) (all []report.Finding) {
	t.Helper()
	files, err := filepath.Glob("../../report/testdata/" + pattern + ".json.golden")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func TestGolden(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, samples(t, "predicted")); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "deadlock.golden")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", golden, diff)
	}
}

// TestArrows checks the rules of the format for all kinds of findings: each arrow has one start and
// one end, both within a slice of their thread, slices of a thread do not overlap, and every event of
// the diagrams is a slice.
func TestArrows(t *testing.T) {
	all := samples(t, "*")
	var out bytes.Buffer
	if err := Write(&out, all); err != nil {
		t.Fatal(err)
	}
	var got struct{ TraceEvents []event }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	slices := map[[3]int]int{} // length by process, thread and time
	for _, e := range got.TraceEvents {
		if e.Phase == "X" {
			at := [3]int{e.Process, e.Thread, e.Time}
			if slices[at] > 0 {
				t.Errorf("two slices at %v", at)
			}
			slices[at] = e.Duration
		}
	}
	for at := range slices {
		for other, length := range slices {
			if at != other && at[0] == other[0] && at[1] == other[1] && other[2] < at[2] && at[2] < other[2]+length {
				t.Errorf("slices at %v and %v overlap", at, other)
			}
		}
	}
	ends := map[int]string{}
	for _, e := range got.TraceEvents {
		if e.Phase != "s" && e.Phase != "f" {
			continue
		}
		ends[e.ID] += e.Phase
		if slices[[3]int{e.Process, e.Thread, e.Time}] == 0 {
			t.Errorf("arrow %d is not at a slice", e.ID)
		}
	}
	want := 0
	events := 0
	for i := range all {
		d := diagram.Of(&all[i])
		want += len(d.Edges) + len(d.Starts)
		events += len(d.Events) + 2*len(d.Starts)
	}
	if len(ends) != want || len(slices) != events {
		t.Errorf("%d arrows and %d slices, want %d and %d", len(ends), len(slices), want, events)
	}
	for id, phases := range ends {
		if phases != "sf" {
			t.Errorf("arrow %d has the phases %s", id, phases)
		}
	}
}

func TestNothing(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "{\n \"displayTimeUnit\": \"ms\",\n \"traceEvents\": []\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
