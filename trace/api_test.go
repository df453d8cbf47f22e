package trace_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// TestOptions checks that constructors refuse wrong options and arguments that are missing.
func TestOptions(t *testing.T) {
	failed := map[string]error{}
	_, failed["NewReader(nil)"] = trace.NewReader(nil)
	_, failed["NewSTDReader(nil)"] = trace.NewSTDReader(nil)
	_, failed["NewBinaryReader(nil)"] = trace.NewBinaryReader(nil)
	_, failed["NewWriter(nil)"] = trace.NewWriter(nil, nil)
	_, failed["NewSTDWriter(nil)"] = trace.NewSTDWriter(nil, nil)
	_, failed["NewPrinter(nil)"] = trace.NewPrinter(nil, nil)
	_, failed["NewWriter(nil option)"] = trace.NewWriter(io.Discard, nil, nil)
	_, failed["NewSTDWriter(nil option)"] = trace.NewSTDWriter(io.Discard, nil, nil)
	_, failed["NewValidator(nil option)"] = trace.NewValidator(nil, nil)
	_, failed["WithMaxProblems(-1)"] = trace.NewValidator(nil, trace.WithMaxProblems(-1))
	_, failed["WithCompression(23)"] = trace.NewWriter(io.Discard, nil, trace.WithCompression(23))
	_, failed["WithBlockRecords(0)"] = trace.NewWriter(io.Discard, nil, trace.WithBlockRecords(0))
	for name, err := range failed {
		if !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestZeroValues checks that zero values work, or say that they were not opened.
func TestZeroValues(t *testing.T) {
	rec := heisen.Record{Op: heisen.Write, Object: 8}
	batch := make([]heisen.Record, 1)
	failed := map[string]error{}
	var reader trace.Reader
	_, failed["Reader.Next"] = reader.Next(batch)
	if reader.Symbols() != nil || reader.Skipped() != 0 || reader.Format() != "" || reader.Close() != nil {
		t.Error("a zero Reader has read something")
	}
	_, failed["STDReader.Next"] = new(trace.STDReader).Next(batch)
	_, failed["BinaryReader.Next"] = new(trace.BinaryReader).Next(batch)
	failed["Writer.Write"] = new(trace.Writer).Write([]heisen.Record{rec})
	failed["Writer.Flush"] = new(trace.Writer).Flush()
	failed["Writer.Close"] = new(trace.Writer).Close()
	failed["STDWriter.Write"] = new(trace.STDWriter).Write([]heisen.Record{rec})
	var printer trace.Printer
	printer.Handle(rec.Event())
	failed["Printer.Flush"] = printer.Flush()
	for name, err := range failed {
		if !errors.Is(err, trace.ErrClosed) {
			t.Errorf("%s: error %v", name, err)
		}
	}

	var validator trace.Validator
	var stats trace.Stats
	for range 2 {
		validator.Handle((&heisen.Record{Op: heisen.Acquire, Object: 8}).Event())
		stats.Handle(rec.Event())
	}
	if err := errors.Join(validator.Flush(), stats.Flush()); err != nil {
		t.Error(err)
	}
	if validator.Errors() != 1 || stats.Events != 2 || stats.Variables != 1 {
		t.Errorf("%d problems, %+v", validator.Errors(), stats)
	}
}

// TestWritersRefuse checks the errors of records that writers do not take.
func TestWritersRefuse(t *testing.T) {
	for _, rec := range []heisen.Record{{}, {Op: heisen.Read, Thread: trace.MaxThreads}} {
		w, err := trace.NewWriter(io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		std, err := trace.NewSTDWriter(io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"Writer": w.Write([]heisen.Record{rec}), "STDWriter": std.Write([]heisen.Record{rec}),
		} {
			if !errors.Is(err, trace.ErrRecord) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %+v: error %v", name, rec, err)
			}
		}
	}
}
