package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/trace"
)

// benchEvents is the number of events per workload.
const benchEvents = 1 << 17

// traceWriter is what the writers of both formats have in common.
type traceWriter interface {
	Write([]heisen.Record) error
	Close() error
}

var formats = []struct {
	name string
	open func(io.Writer, *heisen.Symbols) (traceWriter, error)
}{
	{"std", func(w io.Writer, s *heisen.Symbols) (traceWriter, error) { return trace.NewSTDWriter(w, s) }},
	{"binary", func(w io.Writer, s *heisen.Symbols) (traceWriter, error) { return trace.NewWriter(w, s) }},
	{"binary-uncompressed", func(w io.Writer, s *heisen.Symbols) (traceWriter, error) {
		return trace.NewWriter(w, s, trace.WithCompression(0))
	}},
}

// nameAll returns symbols in which the sites of a trace are numbers and its objects have names like
// those in the traces of other analyzers.
func nameAll(records []heisen.Record) *heisen.Symbols {
	symbols := heisen.NewSymbols()
	named := map[heisen.Object]bool{}
	for i := range records {
		r := &records[i]
		for heisen.Site(symbols.NumSites()) <= r.Site {
			symbols.AddSite(heisen.SiteInfo{Text: fmt.Sprint(symbols.NumSites())})
		}
		if prefix := namePrefix(r.Op); prefix != "" && !named[r.Object] {
			named[r.Object] = true
			symbols.SetName(r.Object, fmt.Sprint(prefix, len(named)))
		}
	}
	return symbols
}

func namePrefix(op heisen.Op) string {
	switch op {
	case heisen.Read, heisen.Write:
		return "V"
	case heisen.Acquire, heisen.Release:
		return "L"
	case heisen.Send, heisen.Receive:
		return "M"
	case heisen.AtomicUpdate:
		return "A"
	}
	return ""
}

// eachTrace runs a benchmark for each workload in each format. Files are in memory, so that the disk
// is not measured.
func eachTrace(b *testing.B, bench func(b *testing.B, format int, records []heisen.Record, symbols *heisen.Symbols)) {
	for _, w := range workload.Shared() {
		records := w.Events(benchEvents)
		symbols := nameAll(records)
		for i, f := range formats {
			b.Run("workload="+w.Name+"/format="+f.name, func(b *testing.B) { bench(b, i, records, symbols) })
		}
	}
}

// write writes a whole trace.
func write(to io.Writer, format int, records []heisen.Record, symbols *heisen.Symbols) error {
	w, err := formats[format].open(to, symbols)
	if err != nil {
		return err
	}
	if err := w.Write(records); err != nil {
		return err
	}
	return w.Close()
}

// BenchmarkReader reads each workload in each format with the reader that trace.NewReader returns, on one
// processor and on as many as GOMAXPROCS says. bytes/event is the size of the file, and CPU-ns/event the
// processor time.
func BenchmarkReader(b *testing.B) {
	eachTrace(b, func(b *testing.B, format int, records []heisen.Record, symbols *heisen.Symbols) {
		var file bytes.Buffer
		if err := write(&file, format, records, symbols); err != nil {
			b.Fatal(err)
		}
		for _, processors := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("processors=%d", processors), func(b *testing.B) {
				b.SetBytes(int64(file.Len()))
				before := measure.ProcessorTime()
				measure.PerEvent(b, len(records), func() error {
					r, err := trace.NewReader(bytes.NewReader(file.Bytes()), trace.WithProcessors(processors))
					if err != nil {
						return err
					}
					total := 0
					for err == nil {
						var next []heisen.Record
						next, err = r.NextBatch()
						total += len(next)
					}
					if err != io.EOF || total != len(records) {
						return fmt.Errorf("%d of %d events: %w", total, len(records), err)
					}
					return nil
				})
				b.ReportMetric(float64(measure.ProcessorTime()-before)/float64(b.N)/float64(len(records)), "CPU-ns/event")
				b.ReportMetric(float64(file.Len())/float64(len(records)), "bytes/event")
			})
		}
	})
}

// BenchmarkWriter writes each workload in each format.
func BenchmarkWriter(b *testing.B) {
	eachTrace(b, func(b *testing.B, format int, records []heisen.Record, symbols *heisen.Symbols) {
		var file bytes.Buffer
		measure.PerEvent(b, len(records), func() error {
			file.Reset()
			return write(&file, format, records, symbols)
		})
		b.SetBytes(int64(file.Len()))
		b.ReportMetric(float64(file.Len())/float64(len(records)), "bytes/event")
	})
}

// TestWorkloadsRoundTrip checks that the benchmarks read what was generated.
func TestWorkloadsRoundTrip(t *testing.T) {
	for _, w := range workload.Shared() {
		records := w.Events(1 << 14)
		for i, f := range formats {
			var file bytes.Buffer
			if err := write(&file, i, records, nameAll(records)); err != nil {
				t.Fatal(err)
			}
			r, err := trace.NewReader(&file)
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, w.Name+"/"+f.name, r, records)
		}
	}
}

// checkSame compares what does not depend on how a format numbers threads, objects and sites: the
// ops, and which threads and sites are equal.
func checkSame(t *testing.T, name string, r *trace.Reader, want []heisen.Record) {
	t.Helper()
	var got []heisen.Record
	batch := make([]heisen.Record, 1024)
	for {
		n, err := r.Next(batch)
		got = append(got, batch[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", name, len(got), len(want))
	}
	threads, sites := map[heisen.Thread]heisen.Thread{}, map[heisen.Site]heisen.Site{}
	for i := range want {
		g, w := &got[i], &want[i]
		if known, ok := threads[w.Thread]; ok && known != g.Thread {
			t.Fatalf("%s: event %d: thread %d is now %d, then %d", name, i+1, w.Thread, known, g.Thread)
		}
		if known, ok := sites[w.Site]; ok && known != g.Site {
			t.Fatalf("%s: event %d: site %d is now %d, then %d", name, i+1, w.Site, known, g.Site)
		}
		threads[w.Thread], sites[w.Site] = g.Thread, g.Site
		if g.Op != w.Op {
			t.Fatalf("%s: event %d: %v, want %v", name, i+1, g.Op, w.Op)
		}
	}
}
