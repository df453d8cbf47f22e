package tracewindow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/htmlreport"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/tracewindow"
	"github.com/heisen-go/heisen/trace"
)

// TestDamage: of a damaged trace there is the window of what comes before the damage, and the error.
func TestDamage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "lock.std"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for n := 1; n < len(lines); n++ {
		head := bytes.Join(lines[:n], nil)
		whole, err := tracewindow.Select(context.Background(), ask(head, "fasttrack"))
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"rubbish\n", "T1|w(", "T1|r(x)\x00\n"} {
			cut, err := tracewindow.Select(context.Background(), ask(append(slices.Clone(head), rest...), "fasttrack"))
			var syntax *trace.SyntaxError
			if !errors.As(err, &syntax) && !errors.Is(err, trace.ErrTruncated) || cut == nil {
				if strings.Contains(rest, "\x00") && err == nil {
					continue // any text may be a site
				}
				t.Fatalf("%d lines and %q: %v, %v", n, rest, cut, err)
			}
			if got, want := text(cut), text(whole); got != want {
				t.Errorf("%d lines and %q:\n%swant\n%s", n, rest, got, want)
			}
		}
	}
	for _, nothing := range []string{"", "rubbish\n"} {
		if w, err := tracewindow.Select(context.Background(), ask([]byte(nothing), "fasttrack")); w != nil || !errors.Is(err, tracewindow.ErrNoEvents) {
			t.Errorf("%q: %v, %v", nothing, w, err)
		}
	}
}

// TestGrows: events that are added while the trace is read are not looked at, and a trace that has become
// shorter is an error.
func TestGrows(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "lock.std"))
	if err != nil {
		t.Fatal(err)
	}
	for readings := 1; readings < 5; readings++ {
		q := ask(nil, "fasttrack")
		n := 0
		q.Open = func() (tracewindow.Source, error) {
			n++
			if n > readings {
				return trace.NewReader(strings.NewReader(string(whole) + "T0|w(x)|new\nT9|w(x)|newer\n"))
			}
			return trace.NewReader(bytes.NewReader(whole))
		}
		grown, err := tracewindow.Select(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		same, err := tracewindow.Select(context.Background(), ask(whole, "fasttrack"))
		if err != nil || text(grown) != text(same) {
			t.Errorf("grown after %d readings: %v\n%swant\n%s", readings, err, text(grown), text(same))
		}
		n = 0
		q.Open = func() (tracewindow.Source, error) {
			n++
			if n > readings {
				return trace.NewReader(bytes.NewReader(whole[:40]))
			}
			return trace.NewReader(bytes.NewReader(whole))
		}
		if w, err := tracewindow.Select(context.Background(), q); readings < 4 && (w != nil || !errors.Is(err, tracewindow.ErrChanged)) {
			t.Errorf("cut off after %d readings: %v, %v", readings, w, err)
		}
	}
}

// TestNames: the names of goroutines with lanes are known although many goroutines ended later, when those
// that ended first are forgotten.
func TestNames(t *testing.T) {
	var b strings.Builder
	b.WriteString("main|fork(worker)|a\nworker|w(x)|b\nworker|stop\nmain|fork(other)|a\nother|w(x)|c\nother|stop\n")
	for i := range 50 {
		fmt.Fprintf(&b, "main|fork(late%d)|d\nlate%[1]d|w(y)|e\nlate%[1]d|stop\n", i)
	}
	for _, change := range []func(*tracewindow.Query){
		func(*tracewindow.Query) {},
		func(q *tracewindow.Query) { q.First, q.Last = 1, 6 },
		func(q *tracewindow.Query) { q.Last = 6 },
	} {
		q := ask([]byte(b.String()), "fasttrack")
		q.Limits = heisen.Limits{EndedThreads: 3, OtherThread: "forgotten"}
		change(q)
		w, err := tracewindow.Select(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(w); strings.Contains(got, "forgotten") || !strings.Contains(got, "worker: writes x at b") || !strings.Contains(got, "lane other") {
			t.Errorf("names are forgotten:\n%s", got)
		}
	}
}

// TestChoice chooses findings.
func TestChoice(t *testing.T) {
	data := []byte("T0|w(x)|a\nT1|w(x)|b\nT0|w(y)|c\nT2|w(y)|d\nT0|w(x)|a\nT1|w(x)|b\n")
	all, err := tracewindow.Select(context.Background(), ask(data, "fasttrack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*tracewindow.Query)
		want   int
	}{
		{func(q *tracewindow.Query) { q.Finding = "2" }, 2},
		{func(q *tracewindow.Query) { q.Finding = all.Finding.Fingerprint }, 1},
		{func(q *tracewindow.Query) { q.Objects = []string{"y"} }, 2},
		{func(q *tracewindow.Query) { q.Goroutines = []string{"T2"} }, 2},
		{func(q *tracewindow.Query) { q.First = 3 }, 2},
		{func(q *tracewindow.Query) { q.First, q.Last = 3, 3 }, 0},
	} {
		q := ask(data, "fasttrack")
		test.change(q)
		w, err := tracewindow.Select(context.Background(), q)
		if err != nil || w.Number != test.want || (w.Finding != nil) != (test.want > 0) {
			t.Errorf("%+v: finding %d, %v, want %d", q, w.Number, err, test.want)
		}
	}
	for _, wrong := range []string{"0", "7", "-1", "x", "0123456789abcdef"} {
		q := ask(data, "fasttrack")
		q.Finding = wrong
		if w, err := tracewindow.Select(context.Background(), q); w != nil || !errors.Is(err, tracewindow.ErrNoFinding) {
			t.Errorf("finding %s: %v", wrong, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, change := range []func(*tracewindow.Query){
		func(q *tracewindow.Query) { q.Open = nil },
		func(q *tracewindow.Query) { q.Detectors = nil },
		func(q *tracewindow.Query) { q.Events = 0 },
		func(q *tracewindow.Query) { q.Events = tracewindow.MaxEvents + 1 },
		func(q *tracewindow.Query) { q.First, q.Last = 3, 2 },
	} {
		q := ask([]byte("T|w(x)\n"), "none")
		change(q)
		if w, err := tracewindow.Select(context.Background(), q); w != nil || !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	failed := errors.New("failed")
	q := ask([]byte("T|w(x)\n"), "none")
	q.Detectors = func(*heisen.Symbols, heisen.Sink) ([]heisen.Detector, error) { return nil, failed }
	if w, err := tracewindow.Select(context.Background(), q); w != nil || !errors.Is(err, failed) {
		t.Error(err)
	}
	q.Open = func() (tracewindow.Source, error) { return nil, failed }
	if w, err := tracewindow.Select(context.Background(), q); w != nil || !errors.Is(err, failed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if w, err := tracewindow.Select(ctx, ask([]byte("T|w(x)\n"), "none")); w != nil || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBounds: a window of a large trace is small, whatever its goroutines and objects are.
func TestBounds(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "T%d|acq(L%d)|a%d\nT%[1]d|w(x)|b\nT%[1]d|rel(L%[2]d)\nT%[1]d|fork(T%d)\n", i%999, i, i, i%7)
	}
	for _, change := range []func(*tracewindow.Query){
		func(q *tracewindow.Query) { q.Events = tracewindow.MaxEvents },
		func(q *tracewindow.Query) { q.Events, q.Last = tracewindow.MaxEvents, 19999 },
		func(q *tracewindow.Query) { q.Events, q.First = tracewindow.MaxEvents, 1 },
		func(q *tracewindow.Query) { q.Objects = []string{"x", "L1", "L2"} },
	} {
		q := ask([]byte(b.String()), "fasttrack")
		change(q)
		w, err := tracewindow.Select(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Events) > q.Events+tracewindow.MaxLanes || len(w.Lanes) > tracewindow.MaxLanes {
			t.Errorf("%d events in %d lanes", len(w.Events), len(w.Lanes))
		}
		w.Diagram()
	}
}

// FuzzSelect draws windows of damaged and impossible traces.
func FuzzSelect(f *testing.F) {
	for _, name := range []string{"lock", "reuse", "predicted", "late"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".std"))
		if err != nil {
			f.Fatal(err)
		}
		var binary bytes.Buffer
		r, err := trace.NewSTDReader(bytes.NewReader(data))
		if err != nil {
			f.Fatal(err)
		}
		w, err := trace.NewWriter(&binary, r.Symbols())
		if err != nil {
			f.Fatal(err)
		}
		if _, err := heisen.Run(context.Background(), r, w); err != nil || w.Close() != nil {
			f.Fatal(err)
		}
		for _, trace := range [][]byte{data, binary.Bytes()} {
			f.Add(trace, uint8(0), uint16(0), uint16(0), uint16(30), "")
			f.Add(trace, uint8(3), uint16(2), uint16(0), uint16(9), "x,0x8")
			f.Add(trace, uint8(6), uint16(0), uint16(9), uint16(3), "")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kind uint8, first, last, events uint16, objects string) {
		q := ask(data, [...]string{"fasttrack", "lockorder", "none"}[kind%3])
		q.First, q.Last, q.Events, q.Atomics = uint64(first), uint64(last), int(events%tracewindow.MaxEvents)+1, kind&8 != 0
		if last != 0 && last < first {
			q.Last = 0
		}
		if objects != "" {
			q.Objects = strings.Split(objects, ",")
		}
		if kind&4 != 0 {
			q.Goroutines = []string{"T0", "goroutine 1"}
		}
		q.Limits = heisen.Limits{EndedThreads: 2, OtherThread: "forgotten"}
		w, err := tracewindow.Select(context.Background(), q)
		if w == nil {
			if err == nil {
				t.Fatal("neither a window nor an error")
			}
			return
		}
		if len(w.Events) == 0 || len(w.Events) > q.Events+tracewindow.MaxLanes || len(w.Lanes) > tracewindow.MaxLanes {
			t.Fatalf("%d events in %d lanes", len(w.Events), len(w.Lanes))
		}
		for i, e := range w.Events {
			if i > 0 && e.Number <= w.Events[i-1].Number || e.Number > w.Total || !slices.Contains(w.Lanes, e.Thread) {
				t.Fatalf("event %d is %+v", i, e)
			}
		}
		page := &htmlreport.Trace{Name: "t", Diagram: w.Diagram(), Finding: w.Finding}
		if err := htmlreport.WriteTrace(io.Discard, page, "heisen", repository.Root{}); err != nil {
			t.Fatal(err)
		}
	})
}
