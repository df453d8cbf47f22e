package allocsite

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestOf compares the results of Of with a list of all allocations. The object of an access is the
// latest one that has the memory, large or small, and that was allocated before the access.
func TestOf(t *testing.T) {
	const memory = 1 << 20
	known, former := 0, 0
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := heisen.NewSymbols()
		var a Tracker
		var allocations []heisen.Record
		for range 600 {
			size := 1 + rng.Uint64N(1<<rng.IntN(18))
			start := heisen.Object(rng.Uint64N(memory))
			switch {
			case rng.IntN(8) == 0:
				start &^= 1<<16 - 1 // where a block starts
			case size >= 8:
				start &^= 7
			}
			allocations = append(allocations, heisen.Record{Op: heisen.Alloc, Thread: heisen.Thread(rng.IntN(4)), Object: start, Value: size, Site: heisen.Site(len(allocations))})
		}
		for i := range allocations {
			a.Handle(allocations[i].Event())
		}
		for range 600 {
			o := heisen.Object(rng.Uint64N(memory))
			index := 1 + rng.Uint64N(uint64(len(allocations))+1)
			if rng.IntN(2) == 0 {
				index = uint64(len(allocations)) + 1
			}
			var want []report.Allocation
			over := false // another object has had a part of it since, and no live object has this one
			for i := len(allocations) - 1; i >= 0; i-- {
				l := &allocations[i]
				if o < l.Object || o >= l.Object+heisen.Object(l.Value) {
					continue
				}
				for _, m := range allocations[i+1 : max(i+1, min(len(allocations), int(index)-1))] {
					over = over || m.Object < l.Object+heisen.Object(l.Value) && l.Object < m.Object+heisen.Object(m.Value)
				}
				if uint64(i+1) < index {
					if !over {
						known++
						former += min(1, len(allocations)-int(index)+1)
					}
					want = []report.Allocation{{
						Object: b.Name(o), Offset: uint64(o - l.Object), Size: l.Value, Thread: l.Thread,
						Goroutine: threadName(l.Thread), Site: "?", Stack: []report.Frame{},
					}}
					break
				}
			}
			f := &heisen.Finding{Accesses: []heisen.Access{{Object: o}, {Object: o, Index: index}}}
			got := a.Of(f, b)
			// For tiny objects that share a word the latest is known. Memory that no object has is
			// not accessed.
			if over || got == nil && len(want) > 0 && want[0].Size < 8 {
				continue
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %#x before event %d (-want +got):\n%s", seed, uint64(o), index, d)
			}
			if got := a.Of(&heisen.Finding{Accesses: []heisen.Access{{Object: o}}}, b); got != nil {
				t.Fatalf("seed %d, of an access somewhere in the stream: %v", seed, got)
			}
		}
	}
	if known < 300 || former < 100 {
		t.Errorf("%d are known, %d of them at a former event", known, former)
	}
}

// TestBound: the latest allocations are known, however many there were.
func TestBound(t *testing.T) {
	const objects = 3*maxAllocations + 100
	var a Tracker
	r := heisen.Record{Op: heisen.Alloc, Value: 16}
	for i := range heisen.Object(objects) {
		r.Object = 16 * i
		a.Handle(r.Event())
	}
	if n := entries(&a); n > 2*maxAllocations {
		t.Errorf("%d are remembered", n)
	}
	for i, want := range map[heisen.Object]bool{0: false, objects - maxAllocations: true, objects - 1: true} {
		if got := a.find(16*i+7, a.events+1).index > 0; got != want {
			t.Errorf("object %d is known: %v", i, got)
		}
	}
}

// threadName is how reports call a thread without a name.
func threadName(t heisen.Thread) string {
	if t == 0 {
		return "main goroutine"
	}
	return fmt.Sprintf("goroutine %d", t)
}

// BenchmarkAlloc measures an Alloc in a program whose heap has the given number of objects.
func BenchmarkAlloc(b *testing.B) {
	for name, objects := range map[string]uint64{"1e3": 1e3, "1e5": 1e5, "1e6": 1e6} {
		b.Run(name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			var a Tracker
			records := make([]heisen.Record, 1<<16)
			for i := range records {
				records[i] = heisen.Record{Op: heisen.Alloc, Value: 48, Object: heisen.Object(48 * rng.Uint64N(objects))}
			}
			b.ResetTimer()
			for i := 0; i < b.N; i += len(records) {
				for j := range records[:min(len(records), b.N-i)] {
					a.Handle(records[j].Event())
				}
			}
		})
	}
}

// entries returns the number of entries in the pages of a Tracker.
func entries(t *Tracker) (n int) {
	for _, p := range []pages{t.latest, t.before} {
		for _, page := range p {
			n += len(page)
		}
	}
	return n
}

// TestLong: a program that runs for long and whose heap does not grow needs no more memory in the end
// than at first, whatever sizes its objects have, and what lives long is known.
func TestLong(t *testing.T) {
	const (
		old   = 1 << 30 // an object that lives long
		heap  = 1 << 22
		spans = heap >> 13
	)
	rng := rand.New(rand.NewPCG(1, 2))
	var a Tracker
	alloc := func(at heisen.Object, size uint64) {
		r := heisen.Record{Op: heisen.Alloc, Object: at, Value: size}
		a.Handle(r.Event())
	}
	alloc(old, 100)
	for range 40 * spans {
		// The span gets objects of another size.
		start, size := heisen.Object(rng.Uint64N(spans)<<13), 8*(1+rng.Uint64N(64))
		for at := uint64(0); at+size <= 1<<13; at += size {
			alloc(start+heisen.Object(at), size)
		}
		if n := entries(&a); n > heap/8+1 {
			t.Fatalf("%d are remembered of a heap of %d words", n, heap/8)
		}
	}
	// A span has 76 objects on the average, and there are 512 words at which it had some.
	if n := entries(&a); n > 100*spans {
		t.Errorf("%d are remembered of %d spans", n, spans)
	}
	if a.find(old+50, a.events+1).index != 1 {
		t.Error("the object that lives long is not known")
	}
	if n := entries(&Tracker{latest: a.latest}); a.entries != n {
		t.Errorf("%d entries are counted in the latest pages, which have %d", a.entries, n)
	}
}
