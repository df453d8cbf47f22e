package heisen_test

import (
	"context"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/trace"
)

// reachKind is a representation S of sets of objects.
type reachKind[S any] struct {
	name       string
	build      func([]heisen.Span) S // in any order
	intersects func(a, b S) bool
	contains   func(s S, o heisen.Object) bool
	encode     func(S) []byte
	decode     func([]byte) S
	bytes      func(S) uint64
}

var spanReach = reachKind[heisen.Objects]{
	name:       "spans",
	build:      func(spans []heisen.Span) heisen.Objects { return heisen.NewObjects(slices.Clone(spans)...) },
	intersects: heisen.Objects.Intersects,
	contains:   func(s heisen.Objects, o heisen.Object) bool { return s.Meets(o, 1) },
	encode: func(s heisen.Objects) (b []byte) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		end := uint64(0)
		for _, o := range s {
			b = binary.AppendUvarint(b, uint64(o.Start)-end)
			b = binary.AppendUvarint(b, o.Len)
			end = uint64(o.Start) + o.Len
		}
		return b
	},
	decode: func(b []byte) heisen.Objects {
		next := func() uint64 {
			v, n := binary.Uvarint(b)
			b = b[n:]
			return v
		}
		s := make(heisen.Objects, next())
		end := uint64(0)
		for i := range s {
			start := end + next()
			s[i] = heisen.Span{Start: heisen.Object(start), Len: next()}
			end = start + s[i].Len
		}
		return s
	},
	bytes: func(s heisen.Objects) uint64 { return uint64(len(s)) * 16 },
}

// bitmapReach is a bitmap of the numbers that add adds.
func bitmapReach(name string, of func(heisen.Object) uint64, add func(*roaring64.Bitmap, []heisen.Span)) reachKind[*roaring64.Bitmap] {
	return reachKind[*roaring64.Bitmap]{
		name: name,
		build: func(spans []heisen.Span) *roaring64.Bitmap {
			b := roaring64.New()
			add(b, spans)
			b.RunOptimize()
			return b
		},
		intersects: (*roaring64.Bitmap).Intersects,
		contains:   func(b *roaring64.Bitmap, o heisen.Object) bool { return b.Contains(of(o)) },
		encode: func(b *roaring64.Bitmap) []byte {
			data, err := b.ToBytes()
			if err != nil {
				panic(err)
			}
			return data
		},
		decode: func(data []byte) *roaring64.Bitmap {
			b := roaring64.New()
			if _, err := b.FromUnsafeBytes(data); err != nil {
				panic(err)
			}
			return b
		},
		bytes: (*roaring64.Bitmap).GetSizeInBytes,
	}
}

// wordReach has each 8-byte word of an object, so that it knows which words an object has.
var wordReach = bitmapReach("words", func(o heisen.Object) uint64 { return uint64(o) / 8 },
	func(b *roaring64.Bitmap, spans []heisen.Span) {
		for _, s := range spans {
			b.AddRange(uint64(s.Start)/8, (uint64(s.Start)+s.Len+7)/8)
		}
	})

// startReach has only the address of each object, as in the thesis. It cannot answer for an address
// within an object.
var startReach = bitmapReach("starts", func(o heisen.Object) uint64 { return uint64(o) },
	func(b *roaring64.Bitmap, spans []heisen.Span) {
		starts := make([]uint64, len(spans))
		for i, s := range spans {
			starts[i] = uint64(s.Start)
		}
		b.AddMany(starts)
	})

// recordedReach returns the sets of objects of the hidden calls in a trace that bench/rdit -keep has
// written, without the sets of all objects and of none.
func recordedReach(tb testing.TB, path string) (sets []heisen.Objects) {
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := heisen.Run(context.Background(), r, reachCollector(func(rec *heisen.Record) {
		if s := r.Symbols().Reach(rec.Reach()); rec.Reach() != 0 && len(s) > 0 {
			sets = append(sets, s)
		}
	})); err != nil {
		tb.Fatal(err)
	}
	if len(sets) == 0 {
		tb.Fatal("no sets in " + path)
	}
	return sets
}

type reachCollector func(*heisen.Record)

func (c reachCollector) Handle(e heisen.Event) { c(heisen.AsRecord(e)) }
func (reachCollector) Flush() error            { return nil }

// scatteredReach makes sets of n objects of 48 bytes each, spread over 16 GiB, which the heaps of
// small programs do not have.
func scatteredReach(n int) (sets []heisen.Objects) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 64 {
		spans := make([]heisen.Span, n)
		for i := range spans {
			spans[i] = heisen.Span{Start: heisen.Object(0xc000000000 + rng.Uint64N(1<<34/48)*48), Len: 48}
		}
		sets = append(sets, heisen.NewObjects(spans...))
	}
	return sets
}

var heavy = flag.Bool("heavy", false, "compare sets of objects on all recordings")

// BenchmarkReach compares representations of the sets of objects of hidden calls: making a set of
// what the recorder sends, asking whether two sets have an object in common and whether a set has an
// address, and reading a set from a file. An event is one operation on one set. B/set is the size of
// a set in memory, file-B/set in a file before compression. The flag -heavy adds recordings of further
// modules.
func BenchmarkReach(b *testing.B) {
	files, err := filepath.Glob("testdata/reach/*.heisen")
	if err != nil || len(files) == 0 {
		b.Fatal("no sets: ", err)
	}
	for _, path := range files {
		if !*heavy && filepath.Base(path) != "bbolt.heisen" {
			continue
		}
		name, _ := strings.CutSuffix(filepath.Base(path), ".heisen")
		benchmarkReach(b, name, recordedReach(b, path))
	}
	benchmarkReach(b, "scattered-100", scatteredReach(100))
	benchmarkReach(b, "scattered-4000", scatteredReach(4000))
}

func benchmarkReach(b *testing.B, name string, sets []heisen.Objects) {
	rng := rand.New(rand.NewPCG(1, 2))
	arrivals := make([][]heisen.Span, len(sets))
	for i, s := range sets {
		arrivals[i] = slices.Clone(s)
		rng.Shuffle(len(s), func(j, k int) { a := arrivals[i]; a[j], a[k] = a[k], a[j] })
	}
	reachOps(b, name, spanReach, sets, arrivals)
	reachOps(b, name, wordReach, sets, arrivals)
	reachOps(b, name, startReach, sets, arrivals)
}

func reachOps[S any](b *testing.B, name string, kind reachKind[S], sets []heisen.Objects, arrivals [][]heisen.Span) {
	built, encoded := make([]S, len(sets)), make([][]byte, len(sets))
	memory, file := 0.0, 0.0
	for i, a := range arrivals {
		built[i] = kind.build(a)
		encoded[i] = kind.encode(built[i])
		memory += float64(kind.bytes(built[i])) / float64(len(sets))
		file += float64(len(encoded[i])) / float64(len(sets))
	}
	op := func(op string, once func(i int)) {
		b.Run("sets="+name+"/op="+op+"/kind="+kind.name, func(b *testing.B) {
			measure.PerEvent(b, len(sets), func() error {
				for i := range sets {
					once(i)
				}
				return nil
			})
			b.ReportMetric(memory, "B/set")
			b.ReportMetric(file, "file-B/set")
		})
	}
	count := func(yes bool) {
		if yes {
			answers++
		}
	}
	op("build", func(i int) { kind.build(arrivals[i]) })
	op("intersect", func(i int) { count(kind.intersects(built[i], built[(i*7+1)%len(built)])) })
	op("contains", func(i int) {
		inside := sets[i][i%len(sets[i])].Start
		count(kind.contains(built[i], inside) && !kind.contains(built[i], inside-8))
	})
	op("decode", func(i int) { kind.decode(encoded[i]) })
}

// answers keeps the compiler from dropping what is measured.
var answers int

// TestReachKinds checks that all representations give the same answers.
func TestReachKinds(t *testing.T) {
	sets := slices.Concat(recordedReach(t, "testdata/reach/bbolt.heisen"), scatteredReach(100))
	for i, s := range sets {
		o := sets[(i*7+1)%len(sets)]
		words, starts := wordReach.build(s), startReach.build(s)
		want := s.Intersects(o)
		if got := wordReach.intersects(words, wordReach.build(o)); got != want {
			t.Errorf("sets %d: words intersect: %v, spans: %v", i, got, want)
		}
		if got := startReach.intersects(starts, startReach.build(o)); got && !want {
			t.Errorf("sets %d: starts intersect and spans do not", i)
		}
		if got := spanReach.decode(spanReach.encode(s)); !slices.Equal(got, s) {
			t.Errorf("set %d is read as another one", i)
		}
		if !wordReach.decode(wordReach.encode(words)).Equals(words) {
			t.Errorf("set %d of words is read as another one", i)
		}
	}
}
