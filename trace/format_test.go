package trace_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// varints reads the numbers of format.md one after the other.
type varints struct {
	t testing.TB
	b []byte
}

func (v *varints) byte() byte {
	b := v.b[0]
	v.b = v.b[1:]
	return b
}

func (v *varints) unsigned() uint64 {
	u, n := binary.Uvarint(v.b)
	if n <= 0 {
		v.t.Fatal("reference: no varint")
	}
	v.b = v.b[n:]
	return u
}

func signed(u uint64) int64 {
	if u%2 == 1 {
		return -int64(u/2) - 1
	}
	return int64(u / 2)
}

// naiveRecords decodes a records block as format.md says it, step by step: an
// independent reference for the decoder.
func naiveRecords(t testing.TB, payload []byte) (records []heisen.Record) {
	in := varints{t, payload}
	n, threads := in.unsigned(), make([]uint64, in.unsigned())
	for i := range threads {
		threads[i] = in.unsigned()
	}
	var lengths [5]uint64
	for i := range lengths {
		lengths[i] = in.unsigned()
	}
	control := in.b[:n]
	in.b = in.b[n:]
	var columns [5]varints
	for i, length := range lengths {
		columns[i] = varints{t, in.b[:length]}
		in.b = in.b[length:]
	}
	switches, sites, objects, contexts, extras := &columns[0], &columns[1], &columns[2], &columns[3], &columns[4]
	var next, object [4096]uint64
	lastSite, lastContext := map[uint64]uint64{}, map[uint64]uint64{}
	thread := uint64(0)
	for _, c := range control {
		if c>>5&1 == 0 {
			thread = switches.unsigned()
		}
		s := lastSite[thread]
		site := next[s%4096]
		if v := sites.unsigned(); v != 0 {
			site = s + uint64(signed(v-1))
		}
		next[s%4096], lastSite[thread] = site, site
		slot := &object[(uint32(site)^uint32(thread)*2533)%4096]
		*slot += uint64(signed(objects.unsigned()))
		if c>>6&1 == 0 {
			lastContext[thread] += uint64(signed(contexts.unsigned()))
		}
		r := heisen.Record{
			Op: heisen.Op(c % 32), Thread: heisen.Thread(threads[thread]), Site: heisen.Site(site),
			Object: heisen.Object(*slot), Context: heisen.Context(lastContext[thread]),
		}
		if c>>7 == 1 {
			r.Flags, r.Len, r.Value = heisen.Flags(extras.byte()), uint16(extras.unsigned()), extras.unsigned()
		}
		records = append(records, r)
	}
	for i, c := range columns {
		if len(c.b) > 0 {
			t.Fatalf("reference: %d bytes left over in column %d", len(c.b), i)
		}
	}
	return records
}

// The reader, the writer and format.md agree.
func TestFormatDescription(t *testing.T) {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer unzip.Close()
	corpus(t, func(t *testing.T, _ string, text []byte) {
		want, symbols := readSTD(t, string(text))
		for i := range want {
			if i%5 == 0 {
				want[i].Flags, want[i].Value, want[i].Len = heisen.HasValue, uint64(i)<<30, uint16(i)
			}
		}
		var got []heisen.Record
		for _, block := range blocksOf(writeBinary(t, want, symbols, trace.WithBlockRecords(64)))[1:] {
			payload := block[16:]
			if block[1] == 1 {
				if payload, err = unzip.DecodeAll(payload, nil); err != nil {
					t.Fatal(err)
				}
			}
			switch block[0] {
			case 2:
				got = append(got, naiveRecords(t, payload)...)
			case 3:
				if n := (&varints{t, payload}).unsigned(); n != uint64(len(want)) {
					t.Errorf("end block says %d records, want %d", n, len(want))
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Both versions stay readable: the golden files were written by their first
// writers, one of each compressed. What is not compressed is also still written so.
func TestGolden(t *testing.T) {
	const plain, zipped = "testdata/golden/v2.heisen", "testdata/golden/v2zstd.heisen"
	const first, firstZipped = "testdata/golden/v1.heisen", "testdata/golden/v1zstd.heisen"
	text, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		t.Fatal(err)
	}
	old, _ := readSTD(t, string(text))
	want, symbols := readSTD(t, string(text)+"T0|hide(f)=o(x)o64(0xc000012340)t(T1)\nT0|reveal(f)\n")
	storedTrace := writeBinary(t, want, symbols, trace.WithCompression(0))
	if *update {
		if err := os.WriteFile(plain, storedTrace, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(zipped, writeBinary(t, want, symbols), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, storedTrace) {
		t.Error("the writer writes other bytes; if format.md has changed, so must the version")
	}
	for file, want := range map[string][]heisen.Record{plain: want, zipped: want, first: old, firstZipped: old} {
		r, err := trace.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(r, 100)
		if err != nil || !slices.Equal(want, got) {
			t.Errorf("%s: %d of %d records, %v", file, len(got), len(want), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
