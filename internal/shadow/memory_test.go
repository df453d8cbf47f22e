package shadow_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// history is a state that remembers which accesses made it, and in which order,
// as a hash; and it owns an entry of a table, to test clone and drop.
type history struct {
	hash  uint64
	owned int
}

func (h history) after(id uint64) uint64 { return (h.hash ^ id) * 0x100000001b3 }

// model is a Memory with an independent history for every byte.
type model struct {
	t     *testing.T
	mem   *shadow.Memory[history]
	bytes map[heisen.Object]uint64
	owned map[int]bool // entries that states own
	next  int
	id    uint64
}

func newModel(t *testing.T) *model {
	m := &model{t: t, bytes: map[heisen.Object]uint64{}, owned: map[int]bool{}}
	m.mem = shadow.New(func(h *history) {
		if h.owned != 0 {
			h.owned = m.own()
		}
	}, func(h *history) {
		if h.owned != 0 && !m.owned[h.owned] {
			t.Fatalf("entry %d dropped twice", h.owned)
		}
		delete(m.owned, h.owned)
	})
	return m
}

func (m *model) own() int {
	m.next++
	m.owned[m.next] = true
	return m.next
}

func (m *model) visit(h *history) {
	h.hash = h.after(m.id)
	if h.owned == 0 {
		h.owned = m.own()
	}
}

func (m *model) access(o heisen.Object, size uint64) {
	m.id++
	if size == 1 && m.id%2 == 0 {
		m.visit(m.mem.At(o))
	} else {
		for c := m.mem.Range(o, size); c.Next(); {
			if at := c.Object(); at < o || uint64(at-o) >= size {
				m.t.Fatalf("entry at %d is outside %d+%d", at, o, size)
			}
			m.visit(c.State())
		}
	}
	for i := uint64(0); i < size && uint64(o) <= math.MaxUint64-i; i++ {
		b := o + heisen.Object(i)
		m.bytes[b] = history{hash: m.bytes[b]}.after(m.id)
	}
}

func (m *model) clear(o heisen.Object, size uint64) {
	m.mem.Clear(o, size)
	for b := range m.bytes {
		if b >= o && uint64(b-o) < size {
			delete(m.bytes, b)
		}
	}
}

// check compares every byte in and next to the model, and the statistics.
func (m *model) check() {
	m.t.Helper()
	words := map[heisen.Object]bool{}
	owners := map[int]bool{}
	for b, want := range m.bytes {
		got := m.mem.Peek(b)
		if got == nil || got.hash != want {
			m.t.Fatalf("after %d accesses byte %d has state %v, want hash %x", m.id, b, got, want)
		}
		words[b/8] = true
		owners[got.owned] = true
		if _, ok := m.bytes[b+1]; !ok && m.mem.Peek(b+1) != nil {
			m.t.Fatalf("byte %d has a state, but was never touched", b+1)
		}
	}
	s := m.mem.Stats()
	if s.Words != len(words) || s.Entries != len(owners) || len(owners) != len(m.owned) {
		m.t.Fatalf("%+v, want %d words and %d entries; %d entries are owned", s, len(words), len(owners), len(m.owned))
	}
	visited := map[int]int{}
	m.mem.Each(func(h *history) { visited[h.owned]++ })
	for owned := range owners {
		if visited[owned] != 1 || len(visited) != len(owners) {
			m.t.Fatalf("Each visits %v, want each of %v once", visited, owners)
		}
	}
	if len(m.bytes) == 0 && s.Pages != 0 {
		m.t.Fatalf("%d pages in use, but there is no state", s.Pages)
	}
}

func TestMemoryMatchesModelOfBytes(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := newModel(t)
		// Few bytes, so that accesses overlap; some of them far apart, so that
		// there are several chunks.
		bases := []heisen.Object{0, 500, 1 << 16, 1<<16 - 20, 1 << 40, math.MaxUint64 - 40}
		for range 300 {
			o := bases[rng.IntN(len(bases))] + heisen.Object(rng.IntN(40))
			size := 1 + rng.Uint64N(8)
			switch rng.IntN(12) {
			case 0:
				size = 1 + rng.Uint64N(60)
			case 1:
				m.clear(o, size-1)
				continue
			case 2:
				m.clear(o, rng.Uint64()>>rng.IntN(64))
				continue
			case 3, 4, 5:
				size = 1
			}
			m.access(o, size)
			m.check()
		}
		m.clear(0, math.MaxUint64)
		m.clear(math.MaxUint64, 1)
		m.check()
	}
}

func TestManyChunksComeAndGo(t *testing.T) {
	m := newModel(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		for range 300 {
			m.access(heisen.Object(rng.Uint64N(400))<<16, 1)
		}
		m.check()
		for range 200 {
			m.clear(heisen.Object(rng.Uint64N(400))<<16, 1+uint64(round%3)<<17)
		}
		m.check()
	}
	before := m.mem.Stats()
	m.clear(0, 1<<30)
	m.check()
	if after := m.mem.Stats(); after.Bytes > before.Bytes {
		t.Errorf("clearing took memory: %d bytes, then %d", before.Bytes, after.Bytes)
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte{0, 0, 8, 0, 4, 1, 1, 2, 4})
	f.Add([]byte{0, 1, 8, 0, 3, 1, 1, 0, 255, 0, 0, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newModel(t)
		for ; len(script) >= 3; script = script[3:] {
			o, size := heisen.Object(script[1]), uint64(script[2])
			if script[0]&2 != 0 {
				o += 1<<16 - 128
			}
			if script[0]&1 != 0 {
				m.clear(o, size)
			} else {
				m.access(o, size)
			}
		}
		m.check()
	})
}

// state has the size of FastTrack's.
type state struct {
	a, b uint64
	_    [2]uint64
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	m := shadow.New[state](nil, nil)
	round := func() {
		for i := range heisen.Object(1000) {
			m.At(i*8).a++
			m.At(i*8+1).a++
			m.At(i<<16).a++
		}
		for c := m.Range(3, 3000); c.Next(); {
			c.State().b++
		}
		m.Clear(100, 5000)
		m.Clear(0, 1<<40)
	}
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations per round", n)
	}
}

func BenchmarkAt(b *testing.B) {
	for _, bench := range []struct {
		name   string
		stride heisen.Object
		count  uint64
	}{
		{"near", 8, 1 << 10},
		{"numbered", 1, 1 << 10},
		{"chunks", 1<<16 + 8, 1 << 6},
		{"large", 8, 1 << 20},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m := shadow.New[state](nil, nil)
			b.ReportAllocs()
			for i := range uint64(b.N) {
				m.At(heisen.Object(i%bench.count)*bench.stride).a++
			}
			b.ReportMetric(float64(m.Stats().Bytes)/float64(bench.count), "B/object")
		})
	}
}

func BenchmarkRange(b *testing.B) {
	m := shadow.New[state](nil, nil)
	b.ReportAllocs()
	b.SetBytes(1024)
	for b.Loop() {
		for c := m.Range(4, 1024); c.Next(); {
			c.State().a++
		}
	}
}

// BenchmarkClear measures the allocation, an access and the release of a small object.
func BenchmarkClear(b *testing.B) {
	for _, size := range []uint64{32, 4096, 1 << 30} {
		b.Run(byteSize(size), func(b *testing.B) {
			m := shadow.New[state](nil, nil)
			m.At(1<<50).a++
			b.ReportAllocs()
			for i := range uint64(b.N) {
				o := heisen.Object(i % 1024 * 64)
				m.At(o).a++
				m.Clear(o, size)
			}
		})
	}
}

func byteSize(n uint64) string {
	switch {
	case n >= 1<<30:
		return "1GiB"
	case n >= 1<<10:
		return "4KiB"
	}
	return "32B"
}
