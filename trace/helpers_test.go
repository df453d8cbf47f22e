package trace_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

// collect reads src to its end or first error, in batches of the given size.
// io.EOF is nil.
func collect(src heisen.Source, size int) (records []heisen.Record, err error) {
	batch := make([]heisen.Record, size)
	for {
		n, err := src.Next(batch)
		records = append(records, batch[:n]...)
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
	}
}

// handleAll hands records to d one by one.
func handleAll(d heisen.Detector, records []heisen.Record) {
	for i := range records {
		d.Handle(records[i].Event())
	}
}

func readSTD(t testing.TB, text string) ([]heisen.Record, *heisen.Symbols) {
	t.Helper()
	r := must.Make(trace.NewSTDReader(bytes.NewReader([]byte(text))))
	records, err := collect(r, 7)
	if err != nil {
		t.Fatalf("reading %q: %v", text, err)
	}
	return records, r.Symbols()
}

func writeSTD(t testing.TB, records []heisen.Record, symbols *heisen.Symbols, options ...trace.STDWriterOption) string {
	t.Helper()
	var out bytes.Buffer
	w, err := trace.NewSTDWriter(&out, symbols, options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func writeBinary(t testing.TB, records []heisen.Record, symbols *heisen.Symbols, options ...trace.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, symbols, options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readBinary(t testing.TB, data []byte) ([]heisen.Record, *heisen.Symbols, error) {
	t.Helper()
	r, err := trace.NewBinaryReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	records, err := collect(r, 100)
	return records, r.Symbols(), err
}

// corpus calls f with each trace of testdata/corpus.
func corpus(t *testing.T, f func(t *testing.T, name string, text []byte)) {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/std/*.std")
	if err != nil || len(files) != 80 {
		t.Fatalf("%d corpus traces (%v), want 80", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { f(t, file, text) })
	}
}
