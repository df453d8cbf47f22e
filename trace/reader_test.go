package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

// No reader or writer leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func zip(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNewReaderTellsFormats(t *testing.T) {
	const text = "T0|w(x)|1\nT1|r(x)|2\n"
	want, symbols := readSTD(t, text)
	data := writeBinary(t, want, symbols)
	for _, c := range []struct {
		name   string
		in     []byte
		format trace.Format
	}{
		{"text", []byte(text), trace.STD},
		{"short text", []byte("T|end\n"), trace.STD},
		{"binary", data, trace.Binary},
		{"zipped text", zip(t, []byte(text)), trace.STD},
		{"zipped binary", zip(t, data), trace.Binary},
	} {
		r, err := trace.NewReader(bytes.NewReader(c.in))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := collect(r, 10)
		if c.name != "short text" && !slices.Equal(want, got) || err != nil || r.Format() != c.format {
			t.Errorf("%s: %s, %v, %v", c.name, r.Format(), got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// However little there is of a trace, it is read as far as it goes.
func TestNewReaderShortInput(t *testing.T) {
	data, _ := smallBinary(t)
	for cut := 1; cut < 20; cut++ {
		for name, in := range map[string][]byte{"plain": data[:cut], "zipped": zip(t, data[:cut])} {
			r, err := trace.NewReader(bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := collect(r, 10); len(got) != 0 || !errors.Is(err, trace.ErrTruncated) {
				t.Errorf("%s, cut at %d: %v, %v", name, cut, got, err)
			}
		}
	}
	r, err := trace.NewReader(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := collect(r, 10); len(got) != 0 || err != nil {
		t.Errorf("empty input: %v, %v", got, err)
	}
	// A compressed trace that is itself cut off.
	whole := zip(t, data)
	r, err = trace.NewReader(bytes.NewReader(whole[:len(whole)-40]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(r, 10); !errors.Is(err, trace.ErrTruncated) {
		t.Errorf("cut in the compression: %v", err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, data, want string }{
		{"good.std", "T|r(x)|1\n", ""},
		{"bad.std", "T|r(x)|1\nT|q(x)|1\n", `bad.std:2: unknown operation "q" in "T|q(x)|1"`},
		{"cut.std", "T|r(x)|1\nT|r(x)", `cut.std:2: trace is cut off: the line has no end`},
		{"bad.heisen", string(forge([]byte{9})), `bad.heisen: block 1 at byte 12: unknown kind 9`},
		{"cut.heisen", string(forge()), `cut.heisen: block 1 at byte 12: trace is cut off`},
	} {
		path := write(c.name, c.data)
		r, err := trace.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = collect(r, 10)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want := c.want; want != "" && got != filepath.Join(dir, want) || want == "" && got != "" {
			t.Errorf("%s: error %s, want %s", c.name, got, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := trace.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := trace.Open(dir); err == nil {
		t.Error("a directory is no error")
	}
}

// Writers and the other detectors of this package stand behind heisen.Run.
func TestDetectorsInTee(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		t.Fatal(err)
	}
	r := must.Make(trace.NewSTDReader(bytes.NewReader(text)))
	var std, bin bytes.Buffer
	stdWriter, err := trace.NewSTDWriter(&std, r.Symbols())
	if err != nil {
		t.Fatal(err)
	}
	writer, err := trace.NewWriter(&bin, r.Symbols())
	if err != nil {
		t.Fatal(err)
	}
	stats := &trace.Stats{}
	events, err := heisen.Run(context.Background(), r, stdWriter, writer, stats)
	if err != nil || events != stats.Events {
		t.Fatalf("%d events, %d counted, %v", events, stats.Events, err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if std.String() != string(text) {
		t.Error("text differs from the original")
	}
	records, symbols, err := readBinary(t, bin.Bytes())
	if err != nil || writeSTD(t, records, symbols) != string(text) {
		t.Errorf("binary trace differs from the original, %v", err)
	}
}

func TestSTDWriterSiteNumbers(t *testing.T) {
	records, symbols := readSTD(t, "T|r(x)|f.go:1\nT|r(x)\nT|r(x)|f.go:2\nT|r(x)|f.go:1\n")
	if got, want := writeSTD(t, records, symbols, trace.WithSiteNumbers()), "T|r(x)|1\nT|r(x)|0\nT|r(x)|2\nT|r(x)|1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What text cannot say is an error, not another trace.
func TestSTDWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		records []heisen.Record
		want    string
	}{
		{[]heisen.Record{{Op: 99}}, "record cannot be written: event 1: op 99 is not valid"},
		{[]heisen.Record{{Op: heisen.Read, Object: 8}, {Op: heisen.Read, Object: 8, Len: 16}}, "record cannot be written: event 2: 16 bytes of 0x8, which has 8 bytes in the text"},
		{[]heisen.Record{{Op: heisen.Read, Thread: 1 << 30}}, "record cannot be written: event 1: thread 1073741824 is not below 16777216"},
	} {
		w, err := trace.NewSTDWriter(&bytes.Buffer{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(c.records); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestNewReaderDamagedGzip checks that a compressed trace has one of the promised errors wherever it is
// cut off or a bit of it is changed, and that all records before a cut are its own.
func TestNewReaderDamagedGzip(t *testing.T) {
	data, records := smallBinary(t)
	text := []byte("T0|w(x)|1\nT1|r(x)|2\nT1|w(x)|3\n")
	lines, _ := readSTD(t, string(text))
	for _, c := range []struct {
		name    string
		zipped  []byte
		records []heisen.Record
	}{
		{"text", zip(t, text), lines},
		{"binary", zip(t, data), records},
	} {
		for cut := 1; cut < len(c.zipped); cut++ {
			got, err := readAny(c.zipped[:cut])
			var truncated *trace.TruncatedError
			var whole bool // the end of the binary trace was read
			if c.name == "binary" {
				whole = err == nil && len(got) == len(c.records)
			}
			if !whole && !errors.As(err, &truncated) || !slices.Equal(got, c.records[:len(got)]) {
				t.Errorf("%s, cut at %d: %d records, error %v", c.name, cut, len(got), err)
			}
		}
		damaged := 0
		for i := range c.zipped {
			for bit := range 8 {
				changed := slices.Clone(c.zipped)
				changed[i] ^= 1 << bit
				_, err := readAny(changed)
				var truncated *trace.TruncatedError
				var syntax *trace.SyntaxError
				var corrupt *trace.CorruptError
				switch {
				case err == nil: // a part of the header that says nothing about the contents
				case errors.As(err, &corrupt):
					damaged++
				case !errors.As(err, &truncated) && !errors.As(err, &syntax):
					t.Errorf("%s, bit %d of byte %d: error %v", c.name, bit, i, err)
				}
			}
		}
		if damaged < 8*len(c.zipped)/2 {
			t.Errorf("%s: only %d of %d errors are CorruptErrors", c.name, damaged, 8*len(c.zipped))
		}
	}
}

// readAny reads a trace in whichever format it is.
func readAny(data []byte) ([]heisen.Record, error) {
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return collect(r, 10)
}

// TestDamagedGzipPlace checks that the error names the place.
func TestDamagedGzipPlace(t *testing.T) {
	zipped := zip(t, []byte("T0|w(x)|1\nT1|r(x)|2\n"))
	zipped[len(zipped)-8]++ // the checksum
	path := filepath.Join(t.TempDir(), "damaged.std.gz")
	if err := os.WriteFile(path, zipped, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := collect(r, 10)
	if want := path + ":3: the compressed trace cannot be unpacked: gzip: invalid checksum"; len(got) != 2 || err == nil || err.Error() != want {
		t.Errorf("%d records, error %v, want %s", len(got), err, want)
	}
}

// TestReaderClosed checks that a Reader delivers nothing after Close, even what it has read already.
func TestReaderClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.std")
	if err := os.WriteFile(path, []byte("T|r(x)|1\nT|r(x)|2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]heisen.Record, 1)
	if n, err := r.Next(batch); n != 1 || err != nil {
		t.Fatalf("%d records, error %v", n, err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if n, err := r.Next(batch); n != 0 || !errors.Is(err, trace.ErrClosed) {
			t.Errorf("after Close: %d records, error %v", n, err)
		}
	}
	if r.Symbols() == nil || r.Format() != trace.STD {
		t.Error("Close has cleared the reader")
	}
}
