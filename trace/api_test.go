package trace_test

import (
	"context"
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
	var ctx context.Context
	_, failed["Validate(nil, source)"] = trace.Validate(ctx, heisen.Slice(nil))
	_, failed["Validate(nil source)"] = trace.Validate(context.Background(), nil)
	_, failed["Validate(nil option)"] = trace.Validate(context.Background(), heisen.Slice(nil), nil)
	for name, err := range failed {
		function, _, _ := strings.Cut(name, "(")
		if strings.HasPrefix(function, "With") {
			function = ""
		}
		if !errors.Is(err, heisen.ErrOption) || !strings.HasPrefix(err.Error(), "trace."+function) {
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
	failed["STDWriter.Flush"] = new(trace.STDWriter).Flush()
	if err := errors.Join(new(trace.Writer).Close(), new(trace.STDWriter).Close()); err != nil {
		t.Errorf("closing zero writers: %v", err)
	}
	failed["STDWriter.Write"] = new(trace.STDWriter).Write([]heisen.Record{rec})
	var printer trace.Printer
	printer.Handle(rec.Event())
	failed["Printer.Flush"] = printer.Flush()
	for name, err := range failed {
		if !errors.Is(err, heisen.ErrZero) {
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

// stalled is a reader or writer that makes no progress and returns no error, after it has delivered a
// text.
type stalled struct{ text string }

func (s *stalled) Read(p []byte) (int, error) {
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

func (*stalled) Write([]byte) (int, error) { return 0, nil }

// TestStalledReader checks that no reader waits for ever for a reader that makes no progress.
func TestStalledReader(t *testing.T) {
	for _, text := range []string{"", "T", "T|w(x)|1\n", "\x89hei", "\x1f\x8b"} {
		r, err := trace.NewReader(&stalled{text})
		if err == nil {
			_, err = heisen.Run(context.Background(), r)
		}
		if !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestShortWrites checks that every writer reports that an underlying writer wrote less than it was
// given, although it returned no error.
func TestShortWrites(t *testing.T) {
	rec := []heisen.Record{{Op: heisen.Write, Object: 8}}
	if _, err := trace.NewWriter(&stalled{}, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("NewWriter: %v", err)
	}
	std, err := trace.NewSTDWriter(&stalled{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := trace.NewPrinter(&stalled{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]heisen.Detector{"STDWriter": std, "Printer": printer} {
		if _, err := heisen.Run(context.Background(), heisen.Slice(rec), d); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v", name, err)
		}
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
