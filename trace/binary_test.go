package trace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// contents is everything that a Symbols says, however it came about.
type contents struct {
	Sites     []heisen.SiteInfo
	CallPaths []heisen.CallNode
	LockPaths []heisen.LockNode
	Contexts  []heisen.Cursor
	Reaches   []heisen.Objects
	Threads   map[heisen.Thread]heisen.ThreadInfo
	Names     map[heisen.Object]string
}

func contentsOf(s *heisen.Symbols) contents {
	all, _ := s.Changes(heisen.Revision{})
	c := contents{
		all.Sites, all.CallPaths, all.LockPaths, all.Contexts, all.Reaches,
		map[heisen.Thread]heisen.ThreadInfo{}, map[heisen.Object]string{},
	}
	for _, change := range all.Threads {
		c.Threads[change.Thread] = change.Info
	}
	for _, change := range all.Names {
		c.Names[change.Object] = change.Name
	}
	return c
}

// diffSymbols compares everything that two tables say.
func diffSymbols(want, got *heisen.Symbols) string {
	return cmp.Diff(contentsOf(want), contentsOf(got), cmpopts.EquateEmpty())
}

func equalSymbols(t testing.TB, want, got *heisen.Symbols) {
	t.Helper()
	if diff := diffSymbols(want, got); diff != "" {
		t.Errorf("symbols (-want +got):\n%s", diff)
	}
}

// STD to binary to STD is the same text, and the binary trace has the same
// records and symbols.
func TestCorpusRoundTrip(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, text []byte) {
		records, symbols := readSTD(t, string(text))
		data := writeBinary(t, records, symbols, trace.WithBlockRecords(50))
		got, gotSymbols, err := readBinary(t, data)
		if diff := cmp.Diff(records, got); diff != "" || err != nil {
			t.Fatalf("error %v, records (-want +got):\n%s", err, diff)
		}
		equalSymbols(t, symbols, gotSymbols)
		if again := writeSTD(t, got, gotSymbols); again != string(text) {
			t.Errorf("text differs (-want +got):\n%s", cmp.Diff(string(text), again))
		}
	})
}

// Every level and block size holds the same records.
func TestWriterOptions(t *testing.T) {
	records, symbols := readSTD(t, strings.Repeat("T0|w(x)=12345|1\nT1|r8(0xc000000000)|2\n", 2000))
	for level := 0; level <= 22; level++ {
		for _, block := range []int{1, 777, 65536} {
			if block == 1 && level > 1 {
				continue
			}
			data := writeBinary(t, records, symbols, trace.WithCompression(level), trace.WithBlockRecords(block))
			got, _, err := readBinary(t, data)
			if err != nil || !slices.Equal(records, got) {
				t.Errorf("level %d, blocks of %d: %d of %d records, %v", level, block, len(got), len(records), err)
			}
		}
	}
	for _, option := range []trace.WriterOption{trace.WithCompression(-1), trace.WithCompression(23), trace.WithBlockRecords(0), trace.WithBlockRecords(65537)} {
		if _, err := trace.NewWriter(io.Discard, nil, option); err == nil {
			t.Error("misused option is no error")
		}
	}
}

// Records that do not compress at all still fit the bounds of a block.
func TestWriterLargestBlock(t *testing.T) {
	symbols := heisen.NewSymbols()
	for range 1000 {
		symbols.AddSite(heisen.SiteInfo{PC: 1 << 63})
	}
	rng := uint64(1)
	next := func() uint64 { rng = rng*6364136223846793005 + 1442695040888963407; return rng }
	records := make([]heisen.Record, 65536)
	for i := range records {
		records[i] = heisen.Record{
			Object: heisen.Object(next()), Value: next(), Thread: heisen.Thread(next() >> 40), Site: heisen.Site(next() >> 20 % 1000),
			Len: uint16(next() >> 48), Op: heisen.Write, Flags: 0xff,
		}
	}
	for _, level := range []int{0, 1, 22} {
		got, _, err := readBinary(t, writeBinary(t, records, symbols, trace.WithBlockRecords(65536), trace.WithCompression(level)))
		if err != nil || !slices.Equal(records, got) {
			t.Errorf("level %d: %d of %d records, %v", level, len(got), len(records), err)
		}
	}
}

// smallBinary is a trace with every kind of block and entry.
func smallBinary(t testing.TB) (data []byte, records []heisen.Record) {
	t.Helper()
	symbols := heisen.NewSymbols()
	site := symbols.AddSite(heisen.SiteInfo{PC: 0x401000})
	other := symbols.AddSite(heisen.SiteInfo{Text: "somewhere"})
	locked := symbols.Acquire(symbols.Call(heisen.Cursor{}, site), heisen.HeldLock{Lock: 0xc000000100, Shared: true, Site: other})
	ctx := symbols.Context(locked)
	symbols.SetThread(1, heisen.ThreadInfo{Name: "worker", Forked: true, Site: site, Context: ctx})
	symbols.SetName(0xc000000100, "mu")
	records = []heisen.Record{
		{Op: heisen.Fork, Object: 1, Site: site, Context: ctx},
		{Op: heisen.Begin, Thread: 1},
		{Op: heisen.Write, Thread: 1, Object: 0xc000000208, Site: other, Context: ctx, Len: 300, Value: 77, Flags: heisen.HasValue},
		{Op: heisen.Write, Thread: 1, Object: 0xc000000200, Site: other},
		{Op: heisen.Read, Object: 0xc000000200, Site: other},
	}
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, symbols, trace.WithBlockRecords(3))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(records); err != nil {
		t.Fatal(err)
	}
	symbols.SetSite(site, heisen.SiteInfo{PC: 0x401000, Frames: []heisen.Frame{{Func: "main.f", File: "f.go", Line: 3}, {Func: "main.main", File: "f.go", Line: 9}}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), records
}

// What is learned of a site after it was written reaches the reader.
func TestLateSites(t *testing.T) {
	data, records := smallBinary(t)
	got, symbols, err := readBinary(t, data)
	if diff := cmp.Diff(records, got); diff != "" || err != nil {
		t.Fatalf("error %v, records (-want +got):\n%s", err, diff)
	}
	if s := symbols.Site(1).String(); s != "f.go:3" {
		t.Errorf("site is %q, want f.go:3", s)
	}
	if held := symbols.Locks(got[0].Context); len(held) != 1 || !held[0].Shared || symbols.Name(held[0].Lock) != "mu" {
		t.Errorf("held %v", held)
	}
	if calls := symbols.Calls(got[0].Context); !slices.Equal(calls, []heisen.Site{1}) {
		t.Errorf("calls %v", calls)
	}
}

// Cut at any byte, a trace gives the records of its complete blocks and says
// that it is cut off.
func TestBinaryTruncation(t *testing.T) {
	data, want := smallBinary(t)
	delivered := map[int]bool{}
	for cut := range len(data) {
		got, _, err := readBinary(t, data[:cut])
		if !errors.Is(err, trace.ErrTruncated) {
			t.Errorf("cut at %d: error %v", cut, err)
		}
		if !slices.Equal(want[:len(got)], got) {
			t.Errorf("cut at %d: %v is no prefix", cut, got)
		}
		delivered[len(got)] = true
	}
	if diff := cmp.Diff(map[int]bool{0: true, 3: true, 5: true}, delivered); diff != "" {
		t.Errorf("numbers of records delivered (-want +got):\n%s", diff)
	}
}

// Whichever bit is wrong, the damage is found, and what was delivered before
// is right.
func TestBinaryBitFlips(t *testing.T) {
	data, want := smallBinary(t)
	t.Run("stored", func(t *testing.T) { flipBits(t, data, want) })

	want, symbols := readSTD(t, strings.Repeat("T0|acq(L)|1\nT0|w(x)|2\nT0|rel(L)|3\nT1|r(x)|4\n", 15))
	data = writeBinary(t, want, symbols, trace.WithBlockRecords(30))
	if parts := blocksOf(data); parts[2][1] != 1 {
		t.Fatal("nothing is compressed")
	}
	t.Run("compressed", func(t *testing.T) { flipBits(t, data, want) })
}

func flipBits(t *testing.T, data []byte, want []heisen.Record) {
	for i := range len(data) * 8 {
		bad := bytes.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		got, _, err := readBinary(t, bad)
		if !slices.Equal(want[:min(len(got), len(want))], got) {
			t.Errorf("bit %d: %v is no prefix", i, got)
		}
		var corrupt *trace.CorruptError
		if !errors.As(err, &corrupt) && !errors.Is(err, trace.ErrTruncated) {
			t.Errorf("bit %d: error %v", i, err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("bit %d: error %q is more than one line", i, err)
		}
	}
}

// blocksOf splits a binary trace into its header and blocks.
func blocksOf(data []byte) (parts [][]byte) {
	parts = append(parts, data[:12])
	for rest := data[12:]; len(rest) > 0; {
		n := 16 + int(binary.LittleEndian.Uint32(rest[4:]))
		parts = append(parts, rest[:n])
		rest = rest[n:]
	}
	return parts
}

// A lost, repeated or exchanged block is found although each block is whole.
func TestBinaryBlockOrder(t *testing.T) {
	data, want := smallBinary(t)
	parts := blocksOf(data)
	check := func(what string, parts ...[]byte) {
		got, _, err := readBinary(t, bytes.Join(parts, nil))
		var corrupt *trace.CorruptError
		if !errors.As(err, &corrupt) || !slices.Equal(want[:len(got)], got) {
			t.Errorf("%s: records %v, error %v", what, got, err)
		}
	}
	for i := 1; i < len(parts)-1; i++ {
		check("lost", slices.Delete(slices.Clone(parts), i, i+1)...)
		check("repeated", slices.Insert(slices.Clone(parts), i, parts[i])...)
		swapped := slices.Clone(parts)
		swapped[i], swapped[i+1] = parts[i+1], parts[i]
		check("exchanged", swapped...)
	}
}

// forged is a block that a bug or an attacker could write.
type forged struct {
	kind, coding byte
	unpacked     int
	payload      []byte
}

// seal makes a binary trace of blocks, with right checksums.
func seal(blocks ...forged) []byte { return sealAs(2, blocks...) }

// sealAs is seal for a version of the format.
func sealAs(version byte, blocks ...forged) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	out := append([]byte("\x89heisen\n"), version, 0, 0, 0)
	sum := crc32.Checksum(out, table)
	for _, b := range blocks {
		header := make([]byte, 16)
		header[0], header[1] = b.kind, b.coding
		binary.LittleEndian.PutUint32(header[4:], uint32(len(b.payload)))
		binary.LittleEndian.PutUint32(header[8:], uint32(b.unpacked))
		sum = crc32.Update(crc32.Update(sum, table, header[:12]), table, b.payload)
		binary.LittleEndian.PutUint32(header[12:], sum)
		out = append(append(out, header...), b.payload...)
	}
	return out
}

// forge makes a binary trace of stored blocks, each its kind and payload.
func forge(blocks ...[]byte) []byte {
	var all []forged
	for _, b := range blocks {
		all = append(all, forged{b[0], 0, len(b) - 1, b[1:]})
	}
	return seal(all...)
}

// Blocks with right checksums and wrong contents.
func TestBinaryCorruptContents(t *testing.T) {
	end := []byte{3, 0}
	for _, c := range []struct {
		name string
		data []byte
		want string // error; empty if there is none
	}{
		{"empty trace", forge(end), ""},
		{"no end", forge(), "block 1 at byte 12: trace is cut off"},
		{"version", []byte("\x89heisen\n\x04\x00\x00\x00"), "file header: version 4: unknown version of the trace format"},
		{"magic", []byte("\x89heisen\r\n\x02\x00\x00"), "file header: not a binary trace"},
		{"kind", forge([]byte{9}), "block 1 at byte 12: unknown kind 9"},
		{"count", forge([]byte{3, 1}), "block 1 at byte 12: end after 0 records: not as many as were written"},
		{"no count", forge([]byte{3}), "block 1 at byte 12: end after 0 records: not as many as were written"},
		{"skipped", forge([]byte{3, 0, 9}), ""},
		{"none skipped", forge([]byte{3, 0, 0}), "block 1 at byte 12: bad end: not a number of skipped accesses"},
		{"half a number", forge([]byte{3, 0, 0x80}), "block 1 at byte 12: bad end: not a number of skipped accesses"},
		{"left over at the end", forge([]byte{3, 0, 1, 1}), "block 1 at byte 12: bad end: not a number of skipped accesses"},
		{"no records", forge([]byte{2}), "block 1 at byte 12: bad records: bad number of records"},
		{"zero records", forge([]byte{2, 0}), "block 1 at byte 12: bad records: bad number of records"},
		{"many records", forge([]byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f}), "block 1 at byte 12: bad records: bad number of records"},
		{"no threads", forge([]byte{2, 1, 0}), "block 1 at byte 12: bad records: bad number of threads"},
		{"more threads than records", forge([]byte{2, 1, 2}), "block 1 at byte 12: bad records: bad number of threads"},
		{"large thread", forge([]byte{2, 1, 1, 0x80, 0x80, 0x80, 0x08}), "block 1 at byte 12: bad records: bad thread"},
		{"short columns", forge([]byte{2, 1, 1, 0, 1, 1, 1}), "block 1 at byte 12: bad records: number missing or too long"},
		{"long columns", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0}), "block 1 at byte 12: bad records: number missing or too long"},
		{"no context", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0, 2}), "block 1 at byte 12: bad record: number missing or too long"},
		{"unknown context", forge([]byte{2, 1, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 2, 2}), "block 1 at byte 12: bad record: bad context"},
		{"no extra", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0xc1, 0, 0, 2}), "block 1 at byte 12: bad record: number missing or too long"},
		{"large length", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 5, 0xc1, 0, 0, 2, 0, 0x80, 0x80, 0x04, 0}), "block 1 at byte 12: bad record: bad length"},
		{"good record", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x41, 0, 0, 2}, []byte{3, 1}), ""},
		{"left over", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x41, 0, 0, 2, 2}), "block 1 at byte 12: bad records: bytes left over"},
		{"left over in a column", forge([]byte{2, 1, 1, 0, 2, 1, 1, 0, 0, 0x41, 0, 0, 0, 2}), "block 1 at byte 12: bad record: bytes left over"},
		{"op 0", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x40, 0, 0, 2}), "block 1 at byte 12: bad record: bad op"},
		{"op 31", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x5f, 0, 0, 2}), "block 1 at byte 12: bad record: bad op"},
		{"unknown site", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x41, 0, 3, 2}), "block 1 at byte 12: bad record: bad site"},
		{"negative site", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x41, 0, 2, 2}), "block 1 at byte 12: bad record: bad site"},
		{"thread number", forge([]byte{2, 1, 1, 0, 1, 1, 1, 0, 0, 0x41, 1, 0, 2}), "block 1 at byte 12: bad record: bad thread number"},
		{"fork of a large thread", forge([]byte{2, 1, 1, 0, 1, 1, 4, 0, 0, 0x4b, 0, 0, 0x80, 0x80, 0x80, 0x10}), "block 1 at byte 12: bad record: bad thread"},
		{"entry", forge([]byte{1, 99}), "block 1 at byte 12: bad symbols: entry of unknown kind 99"},
		{"site without text", forge([]byte{1, 1, 5, 'x'}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 1"},
		{"many frames", forge([]byte{1, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 1"},
		{"call from nowhere", forge([]byte{1, 2, 1, 0}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 2"},
		{"call twice", forge([]byte{1, 2, 0, 0, 2, 0, 0}), "block 1 at byte 12: bad symbols: entry stands twice"},
		{"lock twice", forge([]byte{1, 3, 0, 0, 8, 0, 3, 0, 0, 8, 0}), "block 1 at byte 12: bad symbols: entry stands twice"},
		{"context twice", forge([]byte{1, 4, 0, 0}), "block 1 at byte 12: bad symbols: entry stands twice"},
		{"thread in nowhere", forge([]byte{1, 5, 1, 0, 0, 0, 0, 1}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 5"},
		{"update of an unknown site", forge([]byte{1, 7, 1, 0, 0, 0}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 7"},
		{"set of objects", forge([]byte{1, 9, 2, 8, 8, 0, 8, 9, 0}, []byte{2, 1, 1, 0, 1, 1, 1, 0, 3, 0xd5, 0, 0, 2, 0, 0, 2}, []byte{3, 1}), ""},
		{"unknown set of objects", forge([]byte{1, 9, 0}, []byte{2, 1, 1, 0, 1, 1, 1, 0, 3, 0xd5, 0, 0, 2, 0, 0, 2}), "block 2 at byte 30: bad record: bad set of objects"},
		{"set of objects twice", forge([]byte{1, 9, 1, 8, 8, 9, 1, 8, 8}), "block 1 at byte 12: bad symbols: entry stands twice"},
		{"set 0 again", forge([]byte{1, 9, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), "block 1 at byte 12: bad symbols: entry stands twice"},
		{"empty span", forge([]byte{1, 9, 1, 8, 0}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 9"},
		{"many spans", forge([]byte{1, 9, 4, 8, 8}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 9"},
		{"span beyond the end", forge([]byte{1, 9, 1, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 9"},
		{"nameless", forge([]byte{1, 6, 8}), "block 1 at byte 12: bad symbols: bad field in an entry of kind 6"},
	} {
		_, _, err := readBinary(t, c.data)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if _, _, err := readBinary(t, []byte("\x89heisen\n\x04\x00\x00\x00")); !errors.Is(err, trace.ErrVersion) {
		t.Errorf("%v is not ErrVersion", err)
	}
}

// Compressed blocks whose size is not what they say, or that say too much.
func TestBinaryCompressionBombs(t *testing.T) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	zipped := func(n int) []byte { return zip.EncodeAll(make([]byte, n), nil) }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"no zstd", seal(forged{2, 1, 5, []byte("hello")}), "cannot be unpacked"},
		{"nothing", seal(forged{2, 1, 0, nil}), "bad number of records"},
		{"more than said", seal(forged{2, 1, 1000, zipped(1 << 20)}), "cannot be unpacked"},
		{"less than said", seal(forged{2, 1, 1 << 20, zipped(1000)}), "cannot be unpacked: wrong size"},
		{"far more than said", seal(forged{2, 1, 1000, zipped(1 << 26)}), "cannot be unpacked"},
		{"over the limit", seal(forged{2, 1, 4<<20 + 1, zipped(4<<20 + 1)}), "payload of 4194305 bytes"},
		{"symbols that swell", seal(forged{1, 1, 1 << 20, zipped(1 << 20)}), "bytes unpack to 1048576"},
		{"stored with two sizes", seal(forged{2, 0, 6, []byte("hello")}), "5 bytes unpack to 6"},
		{"unknown coding", seal(forged{2, 2, 5, []byte("hello")}), "unknown coding"},
	} {
		got, _, err := readBinary(t, c.data)
		var corrupt *trace.CorruptError
		if len(got) != 0 || !errors.As(err, &corrupt) || corrupt.Block != 1 || corrupt.Offset != 12 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d records, error %v, want %s", c.name, len(got), err, c.want)
		}
	}
	// Symbols that compress that well are stored by the writer.
	symbols := heisen.NewSymbols()
	symbols.AddSite(heisen.SiteInfo{Text: strings.Repeat("x", 1<<20)})
	_, got, err := readBinary(t, writeBinary(t, nil, symbols))
	if err != nil || got.Site(1).Text != symbols.Site(1).Text {
		t.Errorf("a site of repetitive text: %v", err)
	}
	// What no block can hold is an error of the writer.
	symbols.AddSite(heisen.SiteInfo{Text: strings.Repeat("x", 5<<20)})
	w, err := trace.NewWriter(io.Discard, symbols)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("a site of 5 MiB: %v", err)
	}
}

// A reader of a growing file has every block as soon as it is there, says that
// the trace is cut off meanwhile, and goes on.
func TestBinaryGrowing(t *testing.T) {
	symbols := heisen.NewSymbols()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, symbols, trace.WithBlockRecords(4))
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []heisen.Record
	batch := make([]heisen.Record, 3)
	for i := range 50 {
		site := symbols.AddSite(heisen.SiteInfo{PC: uint64(i)})
		rec := heisen.Record{Op: heisen.Write, Object: heisen.Object(8 * i), Site: site}
		want = append(want, rec)
		w.Handle(rec.Event())
		if i%7 == 6 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		for {
			n, err := r.Next(batch)
			got = append(got, batch[:n]...)
			if n == 0 {
				if !errors.Is(err, trace.ErrTruncated) {
					t.Fatalf("after %d records: %v", i+1, err)
				}
				break
			}
		}
		if i%7 == 6 && len(got) != len(want) || len(want)-len(got) >= 4 {
			t.Fatalf("%d of %d records after a flush", len(got), len(want))
		}
		if r.Symbols().NumSites() < len(got)+1 {
			t.Fatalf("%d sites for %d records", r.Symbols().NumSites(), len(got))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := collect(r, 5)
	if got = append(got, rest...); err != nil || !slices.Equal(want, got) {
		t.Errorf("%d of %d records, %v", len(got), len(want), err)
	}
}

// The reader stops at the end block, whatever pieces the input comes in.
func TestBinaryReadsNoFurther(t *testing.T) {
	data, want := smallBinary(t)
	in := bytes.NewReader(append(bytes.Clone(data), "rest"...))
	r, err := trace.NewBinaryReader(iotest.OneByteReader(in))
	if err != nil {
		t.Fatal(err)
	}
	got, err := collect(r, 2)
	if err != nil || !slices.Equal(want, got) {
		t.Errorf("%v, %v", got, err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "rest" {
		t.Errorf("%q is left behind the trace", rest)
	}
	if n, err := r.Next(make([]heisen.Record, 1)); n != 0 || err != io.EOF {
		t.Errorf("Next after the end: %d, %v", n, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		rec  heisen.Record
		want string
	}{
		{heisen.Record{}, "record cannot be written: event 2: op 0 is not valid"},
		{heisen.Record{Op: 77}, "record cannot be written: event 2: op 77 is not valid"},
		{heisen.Record{Op: heisen.Read, Thread: trace.MaxThreads}, "record cannot be written: event 2: thread 16777216 is not below 16777216"},
		{heisen.Record{Op: heisen.Fork, Object: 1 << 40}, "record cannot be written: event 2: fork of thread 1099511627776, which is not below 16777216"},
		{heisen.Record{Op: heisen.Read, Site: 5}, "record cannot be written: event 2: site 5 is not in the symbols"},
		{heisen.Record{Op: heisen.Read, Context: 5}, "record cannot be written: event 2: context 5 is not in the symbols"},
	} {
		var out bytes.Buffer
		w, err := trace.NewWriter(&out, nil)
		if err != nil {
			t.Fatal(err)
		}
		good := heisen.Record{Op: heisen.Read}
		w.Handle(good.Event())
		w.Handle(c.rec.Event())
		w.Handle(good.Event())
		if err := w.Flush(); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if err := w.Close(); err == nil || err.Error() != c.want {
			t.Errorf("Close: error %v, want %s", err, c.want)
		}
	}
}

func TestWriterRefusesDanglingSymbols(t *testing.T) {
	for name, dangle := range map[string]func(*heisen.Symbols){
		"call":   func(s *heisen.Symbols) { s.Call(heisen.Cursor{}, 9) },
		"lock":   func(s *heisen.Symbols) { s.Acquire(heisen.Cursor{}, heisen.HeldLock{Site: 9}) },
		"thread": func(s *heisen.Symbols) { s.SetThread(1, heisen.ThreadInfo{Site: 9}) },
	} {
		symbols := heisen.NewSymbols()
		dangle(symbols)
		w, err := trace.NewWriter(io.Discard, symbols)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), "not in") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriterErrorIsKept(t *testing.T) {
	full := errors.New("disk is full")
	w, err := trace.NewWriter(&failing{after: 1, err: full}, nil, trace.WithBlockRecords(2))
	if err != nil {
		t.Fatal(err)
	}
	rec := heisen.Record{Op: heisen.Read}
	for range 10 {
		w.HandleRecords([]heisen.Record{rec})
	}
	if err := w.Flush(); !errors.Is(err, full) {
		t.Errorf("Flush: %v", err)
	}
	if _, err := trace.NewWriter(&failing{err: full}, nil); !errors.Is(err, full) {
		t.Errorf("NewWriter: %v", err)
	}
	std, err := trace.NewSTDWriter(&failing{err: full}, nil)
	if err != nil {
		t.Fatal(err)
	}
	std.Handle(rec.Event())
	if err := std.Flush(); !errors.Is(err, full) {
		t.Errorf("STDWriter: %v", err)
	}
	closed, err := trace.NewWriter(io.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := closed.Write([]heisen.Record{rec}); err == nil {
		t.Error("write to a closed trace is no error")
	}
}

// failing is a writer that fails after some writes.
type failing struct {
	after int
	err   error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.after == 0 {
		return 0, f.err
	}
	f.after--
	return len(p), nil
}

// Neither side allocates in steady state.
func TestBinaryAllocations(t *testing.T) {
	records, symbols := readSTD(t, strings.Repeat("T0|acq(L)|1\nT0|w(x)=7|3\nT0|rel(L)|4\nT1|r(0xc000000000)|5\n", 250))
	var file bytes.Buffer
	file.Grow(1 << 20)
	w, err := trace.NewWriter(&file, symbols, trace.WithBlockRecords(500))
	if err != nil {
		t.Fatal(err)
	}
	write := func() {
		if err := w.Write(records); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := testing.AllocsPerRun(100, write); n != 0 {
		t.Errorf("writer: %v allocations in %d events", n, len(records))
	}
	r, err := trace.NewBinaryReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]heisen.Record, 1000)
	read := func() {
		if n, err := r.Next(batch); n == 0 {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("reader: %v allocations in a block", n)
	}
}

// What a filter left out is counted at the end of the trace.
func TestSkipped(t *testing.T) {
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.HandleRecords([]heisen.Record{{Op: heisen.Read, Object: 8}})
	w.AddSkipped(5)
	w.AddSkipped(4)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	stats := &trace.Stats{}
	if _, err := heisen.Run(t.Context(), r, stats); err != nil || r.Skipped() != 9 {
		t.Errorf("%d skipped, error %v", r.Skipped(), err)
	}
	stats.Skipped = r.Skipped()
	if want := "of plain accesses           90.0%"; !strings.Contains(stats.String(), want) {
		t.Errorf("no %q in\n%s", want, stats)
	}
}

// A reader that decodes ahead delivers the same as one that does not, with the same errors at the same places, also of a damaged trace.
func TestDecodeAhead(t *testing.T) {
	symbols := heisen.NewSymbols()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, symbols, trace.WithBlockRecords(50))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	ops := []heisen.Op{heisen.Read, heisen.Write, heisen.Hide, heisen.Call}
	for i := range 1000 {
		if i%60 == 0 {
			symbols.AddSite(heisen.SiteInfo{PC: uint64(i)})
			symbols.AddReach(heisen.NewObjects(heisen.Span{Start: heisen.Object(i), Len: 1}))
			symbols.SetName(8, fmt.Sprint("name ", i))
		}
		rec := heisen.Record{Op: ops[rng.IntN(len(ops))], Thread: heisen.Thread(rng.IntN(4)), Object: heisen.Object(8 * rng.IntN(30)), Site: heisen.Site(rng.IntN(symbols.NumSites()))}
		if rec.Op == heisen.Hide {
			rec.Value = uint64(rng.IntN(symbols.NumReaches()))
		}
		w.Handle(rec.Event())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := append(file.Bytes(), "something else"...)
	check := func(data []byte) {
		t.Helper()
		var want []heisen.Record
		var symbols *heisen.Symbols
		var places string
		for _, processors := range []int{1, 2, 8} {
			r, err := trace.NewReader(bytes.NewReader(data), trace.WithName("file"), trace.WithProcessors(processors))
			if err != nil {
				t.Fatal(err)
			}
			r.Gaps()
			var got []heisen.Record
			var at strings.Builder
			batch := make([]heisen.Record, 7)
			for err == nil {
				var n int
				n, err = r.Next(batch)
				got = append(got, batch[:n]...)
				fmt.Fprintln(&at, n, r.Symbols().Name(8))
			}
			fmt.Fprintln(&at, err, r.Position())
			if processors == 1 {
				want, symbols, places = got, r.Symbols(), at.String()
			} else if !slices.Equal(want, got) || places != at.String() {
				t.Fatalf("%d records on %d processors, on one %d:\n%s\n%s", len(got), processors, len(want), at.String(), places)
			} else if diff := diffSymbols(symbols, r.Symbols()); diff != "" {
				t.Fatal(diff)
			}
		}
	}
	check(whole)
	for range 200 {
		check(whole[:rng.IntN(len(whole))])
		damaged := bytes.Clone(whole)
		damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		check(damaged)
	}
	// Behind right checksums, too.
	blocks := blocksOf(file.Bytes())[1:]
	for range 200 {
		var bad []forged
		for _, b := range blocks {
			bad = append(bad, forged{b[0], b[1], int(binary.LittleEndian.Uint32(b[8:])), bytes.Clone(b[16:])})
		}
		payload := bad[rng.IntN(len(bad))].payload
		payload[rng.IntN(len(payload))] ^= 1 << rng.IntN(8)
		check(seal(bad...))
	}
}
