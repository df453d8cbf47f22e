package trace

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
)

// bigSTD is a text trace of the size and shape that analysers are measured on:
// threads take turns of some events, run loops over a few hundred sites, hold a
// lock now and then.
func bigSTD(events int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	const threads = 8
	var b []byte
	at := [threads]int{}
	inside := [threads]int{}
	holder := map[int]int{}
	for n := 0; n < events; {
		t := rng.IntN(threads)
		for range 1 + rng.IntN(20) {
			if n == events {
				break
			}
			n++
			site := 100*t + at[t]
			at[t] = (at[t] + 1) % 300
			if at[t]%10 == 0 {
				l := t + rng.IntN(20)
				if _, held := holder[l]; !held && inside[t] == 0 {
					holder[l] = t
					inside[t] = l + 1
					b = fmt.Appendf(b, "T%d|acq(L%d)|%d\n", t, l, site)
					continue
				}
			}
			if inside[t] > 0 && at[t]%10 == 5 {
				b = fmt.Appendf(b, "T%d|rel(L%d)|%d\n", t, inside[t]-1, site)
				delete(holder, inside[t]-1)
				inside[t] = 0
				continue
			}
			b = fmt.Appendf(b, "T%d|%c(V%d)|%d\n", t, "rw"[rng.IntN(4)/3], site*3%2000+rng.IntN(3), site)
		}
	}
	return b
}

func drain(b *testing.B, source heisen.Source) (n int) {
	batch := make([]heisen.Record, 1024)
	for {
		got, err := source.Next(batch)
		n += got
		if err == io.EOF {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSTDReader(b *testing.B) {
	text := bigSTD(1_000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		drain(b, NewSTDReader(bytes.NewReader(text)))
	}
	b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func readAll(b *testing.B, source heisen.Source) (records []heisen.Record) {
	batch := make([]heisen.Record, 1024)
	for {
		got, err := source.Next(batch)
		records = append(records, batch[:got]...)
		if err == io.EOF {
			return records
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	r := NewSTDReader(bytes.NewReader(bigSTD(1_000_000)))
	records := readAll(b, r)
	for _, level := range []int{0, 1, 3, 7} {
		b.Run(fmt.Sprint("level", level), func(b *testing.B) {
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				w, _ := NewWriter(&out, r.Symbols(), Compression(level))
				if err := w.Write(records); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(records))/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(out.Len())/float64(len(records)), "bytes/event")
		})
		b.Run(fmt.Sprint("read", level), func(b *testing.B) {
			var out bytes.Buffer
			w, _ := NewWriter(&out, r.Symbols(), Compression(level))
			_ = w.Write(records)
			_ = w.Close()
			for b.Loop() {
				br, _ := NewBinaryReader(bytes.NewReader(out.Bytes()))
				drain(b, br)
			}
			b.ReportMetric(float64(b.N)*float64(len(records))/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func BenchmarkSTDWriter(b *testing.B) {
	r := NewSTDReader(bytes.NewReader(bigSTD(1_000_000)))
	records := readAll(b, r)
	for b.Loop() {
		w, _ := NewSTDWriter(io.Discard, r.Symbols())
		if err := w.Write(records); err != nil {
			b.Fatal(err)
		}
		_ = w.Flush()
	}
	b.ReportMetric(float64(b.N)*float64(len(records))/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
