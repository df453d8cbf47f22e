package trace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

var someGaps = []trace.Gaps{
	{Repeated: true},
	{Packages: []string{"work", "example.com/a/..."}},
	{Hidden: []string{"example.com/b", "example.com/c"}},
	{Unseen: []string{"assembly in package example.com/d"}},
	{Repeated: true, Packages: []string{"./..."}, Hidden: []string{"x"}, Unseen: []string{"y", "z"}},
}

// writeGaps writes a trace of a few events with gaps, in a format.
func writeGaps(t *testing.T, format trace.Format, gaps trace.Gaps) []byte {
	t.Helper()
	symbols := heisen.NewSymbols()
	symbols.SetThread(3, heisen.ThreadInfo{Name: "main goroutine"})
	var file bytes.Buffer
	var w interface {
		heisen.RecordHandler
		Close() error
	}
	var err error
	if format == trace.Binary {
		w, err = trace.NewWriter(&file, symbols, trace.WithGaps(gaps))
	} else {
		var std *trace.STDWriter
		std, err = trace.NewSTDWriter(&file, symbols, trace.WithTextGaps(gaps))
		w = textWriter{std}
	}
	if err != nil {
		t.Fatal(err)
	}
	w.HandleRecords([]heisen.Record{
		{Op: heisen.Write, Thread: 3, Object: 1 << 20}, {Op: heisen.Fork, Thread: 3, Object: 1}, {Op: heisen.Read, Thread: 1, Object: 1 << 20},
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

type textWriter struct{ *trace.STDWriter }

func (w textWriter) HandleRecords(records []heisen.Record) { _ = w.Write(records) }

// TestGaps: a reader knows the gaps before it has read an event, and afterwards, and its events are those without gaps.
func TestGaps(t *testing.T) {
	for _, format := range []trace.Format{trace.Binary, trace.STD} {
		_, without := readGaps(t, writeGaps(t, format, trace.Gaps{}))
		for _, want := range someGaps {
			early, late := new(trace.Gaps), new(trace.Gaps)
			file := writeGaps(t, format, want)
			r, err := trace.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			*early = r.Gaps()
			records, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(without, records); d != "" {
				t.Errorf("%s: other events (-without +with gaps)\n%s", format, d)
			}
			var unasked []heisen.Record
			if *late, unasked = readGaps(t, file); len(unasked) != len(records) {
				t.Errorf("%s: %d events, want %d", format, len(unasked), len(records))
			}
			if d := cmp.Diff([]trace.Gaps{want, want}, []trace.Gaps{*early, *late}); d != "" {
				t.Errorf("%s: (-want +got)\n%s", format, d)
			}
		}
	}
}

// readGaps reads a trace, and then its gaps.
func readGaps(t *testing.T, file []byte) (trace.Gaps, []heisen.Record) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	records, err := readAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Gaps(), records
}

func readAll(r *trace.Reader) (all []heisen.Record, err error) {
	batch := make([]heisen.Record, 2)
	for {
		n, err := r.Next(batch)
		all = append(all, batch[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// TestGapsCutOff: wherever a trace is cut off, asking for its gaps does not change what is read, and what it says of gaps is true.
func TestGapsCutOff(t *testing.T) {
	for _, format := range []trace.Format{trace.Binary, trace.STD} {
		all := someGaps[len(someGaps)-1]
		file := writeGaps(t, format, all)
		for n := range len(file) {
			plain, err := trace.NewReader(bytes.NewReader(file[:n]))
			if err != nil {
				t.Fatal(err)
			}
			asked, err := trace.NewReader(bytes.NewReader(file[:n]))
			if err != nil {
				t.Fatal(err)
			}
			gaps := asked.Gaps()
			got, failed := readAll(asked)
			want, wrong := readAll(plain)
			if d := cmp.Diff(want, got); d != "" || (wrong == nil) != (failed == nil) || wrong != nil && wrong.Error() != failed.Error() {
				t.Fatalf("%s cut off at %d: errors %v and %v\n%s", format, n, wrong, failed, d)
			}
			if len(got) > 0 && !cmp.Equal(gaps, all) {
				t.Errorf("%s cut off at %d: events, but gaps %+v", format, n, gaps)
			}
		}
	}
}

// TestGaplessVersion: a trace without gaps can be read by releases that know none.
func TestGaplessVersion(t *testing.T) {
	for gaps, want := range map[bool]uint32{false: 2, true: 3} {
		file := writeGaps(t, trace.Binary, trace.Gaps{Repeated: gaps})
		if got := binary.LittleEndian.Uint32(file[8:]); got != want {
			t.Errorf("gaps %v: version %d, want %d", gaps, got, want)
		}
	}
}

// TestBadGaps: gaps that nobody knows, and gaps in the wrong place, are damage.
func TestBadGaps(t *testing.T) {
	for text, want := range map[string]string{
		"T0|lacks(everything)|1\n":       "unknown gap",
		"T0|lacks(hidden)|1\n":           "unknown gap",
		"T0|lacks|1\n":                   `unknown operation "lacks"`,
		"T0|w(x)|1\nT0|lacks(repeated)|": "gap after the first event",
	} {
		r, err := trace.NewReader(strings.NewReader(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		r.Gaps()
		var syntax *trace.SyntaxError
		if _, err := readAll(r); !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	gap := func(text string) []byte { return append([]byte{10, byte(len(text))}, text...) }
	symbols := func(entries ...[]byte) forged {
		all := bytes.Join(entries, nil)
		return forged{1, 0, len(all), all}
	}
	end := forged{3, 0, 1, []byte{0}}
	for name, c := range map[string]struct {
		version byte
		blocks  []forged
		want    string
	}{
		"good":           {3, []forged{symbols(gap("repeated"), gap("outside work")), end}, ""},
		"old version":    {2, []forged{symbols(gap("repeated")), end}, "entry of kind 10 in version 2"},
		"unknown":        {3, []forged{symbols(gap("rest")), end}, "unknown gap"},
		"nothing hidden": {3, []forged{symbols(gap("hidden ")), end}, "unknown gap"},
		"second block":   {3, []forged{symbols(), symbols(gap("repeated")), end}, "bad field in an entry of kind 10"},
		"cut":            {3, []forged{symbols(gap("repeated")[:5]), end}, "bad field in an entry of kind 10"},
	} {
		r, err := trace.NewReader(bytes.NewReader(sealAs(c.version, c.blocks...)))
		if err != nil {
			t.Fatal(err)
		}
		r.Gaps()
		_, err = readAll(r)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
