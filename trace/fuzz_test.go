package trace_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

// checkDelivered asserts what readers promise of every record, whatever the
// input.
func checkDelivered(t *testing.T, records []heisen.Record, symbols *heisen.Symbols) {
	t.Helper()
	for i, r := range records {
		if !r.Op.Valid() || r.Thread >= trace.MaxThreads || int(r.Site) >= symbols.NumSites() || int(r.Context) >= symbols.NumContexts() {
			t.Fatalf("record %d is out of bounds: %+v", i, r)
		}
		if r.Op == heisen.Hide && r.Value >= uint64(symbols.NumReaches()) {
			t.Fatalf("record %d reaches %d", i, r.Value)
		}
		if (r.Op == heisen.Fork || r.Op == heisen.Join) && r.Object >= trace.MaxThreads {
			t.Fatalf("record %d is of thread %d", i, r.Object)
		}
	}
}

func FuzzSTDReader(f *testing.F) {
	sample, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample[:500])
	f.Add([]byte("T0|fork(T1)|129\nT0|acq(L)|one\r\n\nT0|w4(V x)=12|14\nT1|begin|2\nT0|req(L)|1\nT0|branch\n"))
	f.Add([]byte("T|alloc(x,64)\nT|w64(x)\nT|w4096(0xc000000000)\nT|racq(L)\nT|rrel(L)\nT|call|1\nT|return\nT|hide(f)\n"))
	f.Add([]byte("\uFEFFT|r(V)|x"))
	f.Add([]byte("T|acq(x)\nT|hide(f)=o(x)o4(y)o64(0xc000012340)t(U)\nU|w4(y)\nT|hide(g)=none\nT|reveal(g)\nT|reveal(f)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := must.Make(trace.NewSTDReader(bytes.NewReader(text)))
		records, err := collect(r, 16)
		checkDelivered(t, records, r.Symbols())
		var syntax *trace.SyntaxError
		if err != nil && !errors.As(err, &syntax) && !errors.Is(err, trace.ErrTruncated) {
			t.Fatalf("error %v is of no documented kind", err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error %q is more than one line", err)
		}
		// What was read can be written and is then read the same. Reading
		// numbers names in order of first appearance, so numbers agree unless
		// the first text mentions something in a line without event.
		if bytes.Contains(text, []byte("req")) || err != nil {
			return
		}
		var out bytes.Buffer
		w, err := trace.NewSTDWriter(&out, r.Symbols())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(records), w.Close()); err != nil {
			t.Fatal(err)
		}
		reader := must.Make(trace.NewSTDReader(&out))
		again, err := collect(reader, 16)
		if err != nil || !slices.Equal(records, again) || !cmp.Equal(contentsOf(r.Symbols()).Reaches, contentsOf(reader.Symbols()).Reaches) {
			t.Fatalf("%q reads as %+v, but what is written of it as %+v, %v", text, records, again, err)
		}
	})
}

func FuzzBinaryReader(f *testing.F) {
	small, _ := smallBinary(f)
	f.Add(small)
	text, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		f.Fatal(err)
	}
	records, symbols := readSTD(f, string(text))
	f.Add(writeBinary(f, records, symbols))
	f.Add(writeBinary(f, records[:20], symbols, trace.WithCompression(0), trace.WithBlockRecords(7)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, reforge(data)} {
			r, err := trace.NewBinaryReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			records, err := collect(r, 16)
			checkDelivered(t, records, r.Symbols())
			var corrupt *trace.CorruptError
			if err != nil && !errors.As(err, &corrupt) && !errors.Is(err, trace.ErrTruncated) {
				t.Fatalf("error %v is of no documented kind", err)
			}
			if err != nil {
				continue
			}
			again, _, err := readBinary(t, writeBinary(t, records, r.Symbols()))
			if err != nil || !slices.Equal(records, again) {
				t.Fatalf("%+v becomes %+v, %v", records, again, err)
			}
		}
	})
}

// reforge gives the blocks of a trace right lengths and checksums, so that the
// fuzzer gets behind them: each block is taken as stored.
func reforge(data []byte) []byte {
	if len(data) < 12 {
		return forge()
	}
	var blocks [][]byte
	for rest := data[12:]; len(rest) > 16; {
		size := min(int(rest[4])|int(rest[5])<<8, len(rest)-16)
		blocks = append(blocks, append([]byte{rest[0]}, rest[16:16+size]...))
		rest = rest[16+size:]
	}
	return forge(blocks...)
}
