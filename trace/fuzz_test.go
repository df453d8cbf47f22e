package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
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
		if r.Op == heisen.Hide && r.Value >= uint64(symbols.NumReaches()) && r.Reach() != heisen.Synchronized {
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
	f.Add([]byte("T|hide(x)=o(x)o1(x)o10(0x0)\nT|hide(x)=o9(0x0)\n"))
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
	f.Fuzz(func(t *testing.T, data []byte) { checkBinary(t, data) })
}

// FuzzBinaryContents fuzzes what is behind the checksums: the payloads of two blocks of symbols and
// two of records, in the order in which a writer writes them. All blocks have right lengths and
// checksums.
func FuzzBinaryContents(f *testing.F) {
	add := func(data []byte) {
		var payloads [4][]byte
		next := 0
		for _, b := range blocksOf(data)[1:] {
			if kind := int(b[0]) - 1; kind < 2 {
				if kind != next%2 {
					next++ // there are no new symbols
				}
				if next < len(payloads) {
					payloads[next] = b[16:]
				}
				next++
			}
		}
		f.Add(false, payloads[0], payloads[1], payloads[2], payloads[3])
		f.Add(true, payloads[0], payloads[1], payloads[2], payloads[3])
		if len(payloads[0]) == 0 || len(payloads[1]) == 0 {
			f.Fatal("not the blocks of a writer")
		}
	}
	text, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		f.Fatal(err)
	}
	records, symbols := readSTD(f, string(text))
	add(writeBinary(f, records[:20], symbols, trace.WithCompression(0), trace.WithBlockRecords(7)))
	records, symbols = readSTD(f, "T|fork(U)|a\nU|begin|b\nT|acq(x)|c\nT|hide(f)=o(x)o4(y)o64(0xc000012340)t(U)\nU|w4(y)=7|d\nU|racq(L)|e\nT|reveal(f)\nT|alloc(z,64)\nT|free(z,64)\nT|branch\n")
	add(writeBinary(f, records, symbols, trace.WithCompression(0), trace.WithBlockRecords(3)))
	f.Fuzz(func(t *testing.T, old bool, symbols, records, more, rest []byte) {
		version := byte(2)
		if old {
			version = 1
		}
		var blocks []forged
		for i, payload := range [][]byte{symbols, records, more, rest} {
			if len(payload) > 0 {
				blocks = append(blocks, forged{byte(1 + i%2), 0, len(payload), payload})
			}
		}
		blocks = append(blocks, forged{3, 0, 1, []byte{0}})
		data := sealAs(version, blocks...)
		if err := checkBinary(t, data); err != nil && strings.Contains(err.Error(), "checksum") {
			t.Fatalf("stopped at a checksum: %v", err)
		}
	})
}

// checkBinary asserts what a reader promises of every input, and that what it reads can be written and
// is then read the same. It returns the reader's error.
func checkBinary(t *testing.T, data []byte) error {
	r, err := trace.NewBinaryReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	records, err := collect(r, 16)
	checkDelivered(t, records, r.Symbols())
	checkAhead(t, data, records, r.Symbols(), err)
	var corrupt *trace.CorruptError
	if err != nil && !errors.As(err, &corrupt) && !errors.Is(err, trace.ErrTruncated) {
		t.Fatalf("error %v is of no documented kind", err)
	}
	if err != nil {
		return err
	}
	again, _, err := readBinary(t, writeBinary(t, records, r.Symbols()))
	if err != nil || !slices.Equal(records, again) {
		t.Fatalf("%+v becomes %+v, %v", records, again, err)
	}
	return nil
}

// checkAhead asserts that a reader that decodes ahead delivers the same as one that does not.
func checkAhead(t *testing.T, data []byte, records []heisen.Record, symbols *heisen.Symbols, failed error) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data), trace.WithProcessors(3))
	if err != nil || r.Format() != trace.Binary {
		return
	}
	again, err := collect(r, 11)
	if !slices.Equal(records, again) || fmt.Sprint(failed) != fmt.Sprint(err) || diffSymbols(symbols, r.Symbols()) != "" {
		t.Fatalf("%d records, then %v; decoded ahead %d records, then %v", len(records), failed, len(again), err)
	}
}

// FuzzReader: a reader of any input, compressed or not, that arrives in pieces of any size, delivers what a
// reader of all of it delivers, and its errors are one line that begins with the name of the input.
func FuzzReader(f *testing.F) {
	small, _ := smallBinary(f)
	for _, data := range [][]byte{small, []byte("T|w(x)|1\nU|w(x)|2\n"), []byte("T|w(x"), nil, []byte("\x1f\x8b"), []byte("\x89hei")} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		z.Write(data)
		z.Close()
		f.Add(data, uint8(1))
		f.Add(zipped.Bytes(), uint8(3))
		f.Add(zipped.Bytes()[:zipped.Len()/2], uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		if len(data) > 4<<10 {
			return // it may unpack to four megabytes
		}
		read := func(r io.Reader, processors int) ([]heisen.Record, string) {
			reader, err := trace.NewReader(r, trace.WithName("name"), trace.WithProcessors(processors))
			if err != nil {
				return nil, err.Error()
			}
			records, err := collect(reader, 16)
			checkDelivered(t, records, reader.Symbols())
			if position := reader.Position(); !strings.HasPrefix(position, "name:") || strings.Contains(position, "\n") {
				t.Fatalf("position %q", position)
			}
			if err == nil {
				return records, ""
			}
			return records, err.Error()
		}
		whole, failed := read(bytes.NewReader(data), 1)
		for _, processors := range []int{1, 2, 5} {
			pieces, again := read(&inPieces{data, 1 + int(piece)}, processors)
			if !slices.Equal(whole, pieces) || failed != again {
				t.Fatalf("%d records, then %q; in pieces on %d processors %d records, then %q", len(whole), failed, processors, len(pieces), again)
			}
		}
		if failed != "" && (!strings.HasPrefix(failed, "name:") || strings.Contains(failed, "\n")) {
			t.Fatalf("error %q", failed)
		}
	})
}

// inPieces is a reader that returns at most so many bytes at a time.
type inPieces struct {
	data []byte
	most int
}

func (p *inPieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.most)], p.data)
	p.data = p.data[n:]
	return n, nil
}
