package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/trace"
)

// namedTrace is a mostly lock-protected workload with the names that text traces
// have: T3, V17, L2 and numbered sites.
func namedTrace() ([]heisen.Record, *heisen.Symbols) {
	records := workload.LockProtected(workload.Params{Threads: 16, Vars: 4096, Events: benchEvents, Seed: 1})
	symbols := heisen.NewSymbols()
	for i := range records {
		r := &records[i]
		for symbols.NumSites() <= int(r.Loc) {
			symbols.AddSite(heisen.SiteInfo{Text: fmt.Sprint(symbols.NumSites())})
		}
		symbols.SetThread(r.TID, heisen.ThreadInfo{Name: fmt.Sprint("T", r.TID)})
		switch r.Code {
		case heisen.Read, heisen.Write:
			symbols.SetName(r.Obj, fmt.Sprint("V", uint64(r.Obj)/8))
		case heisen.Acquire, heisen.Release:
			symbols.SetName(r.Obj, fmt.Sprint("L", uint64(r.Obj)/8))
		}
	}
	return records, symbols
}

type traceWriter interface {
	Write([]heisen.Record) error
	Close() error
}

var traceFormats = []struct {
	name string
	open func(*bytes.Buffer, *heisen.Symbols) (traceWriter, error)
	read func(*bytes.Reader) (heisen.Source, error)
}{
	{
		"std",
		func(w *bytes.Buffer, s *heisen.Symbols) (traceWriter, error) { return trace.NewSTDWriter(w, s) },
		func(r *bytes.Reader) (heisen.Source, error) { return trace.NewSTDReader(r), nil },
	},
	{
		"binary",
		func(w *bytes.Buffer, s *heisen.Symbols) (traceWriter, error) { return trace.NewWriter(w, s) },
		func(r *bytes.Reader) (heisen.Source, error) { return trace.NewBinaryReader(r) },
	},
	{
		"binary-stored",
		func(w *bytes.Buffer, s *heisen.Symbols) (traceWriter, error) {
			return trace.NewWriter(w, s, trace.Compression(0))
		},
		func(r *bytes.Reader) (heisen.Source, error) { return trace.NewBinaryReader(r) },
	},
}

// BenchmarkTrace writes and reads the same trace in each format. MB/s are of the
// bytes in the file; filebytes/event is what an event takes there.
func BenchmarkTrace(b *testing.B) {
	records, symbols := namedTrace()
	for _, f := range traceFormats {
		var file bytes.Buffer
		write := func() error {
			file.Reset()
			w, err := f.open(&file, symbols)
			if err != nil {
				return err
			}
			if err := w.Write(records); err != nil {
				return err
			}
			return w.Close()
		}
		if err := write(); err != nil {
			b.Fatal(err)
		}
		size := file.Len()
		b.Run(f.name+"/write", func(b *testing.B) {
			b.SetBytes(int64(size))
			perEvent(b, len(records), write)
			b.ReportMetric(float64(size)/float64(len(records)), "filebytes/event")
		})
		b.Run(f.name+"/read", func(b *testing.B) {
			b.SetBytes(int64(size))
			perEvent(b, len(records), func() error {
				r, err := f.read(bytes.NewReader(file.Bytes()))
				if err != nil {
					return err
				}
				n, err := heisen.Run(context.Background(), r)
				if err == nil && n != uint64(len(records)) {
					err = fmt.Errorf("%d events, not %d", n, len(records))
				}
				return err
			})
			b.ReportMetric(float64(size)/float64(len(records)), "filebytes/event")
		})
	}
}
