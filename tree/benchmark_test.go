package tree_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// heavy adds the micro-benchmarks of the thesis to BenchmarkFilter, which take several minutes.
var heavy = flag.Bool("heavy", false, "also benchmark the programs of figures 5.2 and 5.3 of the thesis")

// benchEvents is the number of events per workload.
const benchEvents = 1 << 17

// micros are the dimensions of figures 5.2 and 5.3. Each varies one of threads, iterations and locks,
// or how long a thread continues before another one comes, or the number of sites.
var micros = []workload.Micro{
	{Threads: 2, Iterations: 2000, Locks: 4, Burst: 100},
	{Threads: 16, Iterations: 2000, Locks: 4, Burst: 100},
	{Threads: 100, Iterations: 2000, Locks: 4, Burst: 100},
	{Threads: 16, Iterations: 100, Locks: 4, Burst: 100},
	{Threads: 16, Iterations: 20000, Locks: 4, Burst: 100},
	{Threads: 16, Iterations: 2000, Locks: 1, Burst: 100},
	{Threads: 16, Iterations: 2000, Locks: 32, Burst: 100},
	{Threads: 16, Iterations: 2000, Locks: 100, Burst: 100},
	{Threads: 16, Iterations: 2000, Locks: 4, Burst: 10},
	{Threads: 16, Iterations: 2000, Locks: 4, Burst: 100, Sites: 16},
	{Threads: 16, Iterations: 2000, Locks: 1, Burst: 10},
	{Threads: 16, Iterations: 2000, Locks: 1, Burst: 1},
}

// benchFilters are filters with the detectors that they are meant for, and the one of the thesis.
var benchFilters = []struct {
	filter   string
	detector string
	detect   func() heisen.Detector
	wrap     func(heisen.Detector) (*tree.Filter, error)
}{
	{"tree", "fasttrack", newFastTrack, func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d) }},
	{"span", "fasttrack", newFastTrack, func(d heisen.Detector) (*tree.Filter, error) { return tree.NewSpanFilter(d) }},
	{"thesis", "fasttrack", newFastTrack, func(d heisen.Detector) (*tree.Filter, error) {
		return tree.NewFilter(d, tree.WithThesisAlgorithm())
	}},
	{"tree", "hb", func() heisen.Detector { return must.Make(vclock.NewHappensBefore()) }, func(d heisen.Detector) (*tree.Filter, error) {
		return tree.NewFilter(d)
	}},
	{"messages", "hybrid", func() heisen.Detector { return must.Make(lockset.NewHybrid()) }, func(d heisen.Detector) (*tree.Filter, error) {
		return tree.NewFilter(d, tree.WithMessageOrder())
	}},
}

func newFastTrack() heisen.Detector { return must.Make(vclock.NewFastTrack()) }

// BenchmarkFilter runs detectors with and without a filter in front of them, alternately. It reports
// the minimum time of each: ns/event with the filter, bare-ns/event without it, and speedup, their
// quotient. It also reports filter-ns/event, the cost of the filter alone if it forwards all lock
// operations and bypasses nothing, and from the run with the detector dropped/access (of the
// examined ones), locks/event (dropped lock operations), bypassed/event and filter-bytes.
func BenchmarkFilter(b *testing.B) {
	for _, w := range workload.Shared() {
		benchFilter(b, "workload="+w.Name, w.Events(benchEvents))
	}
	small := workload.Micro{Threads: 16, Iterations: 500, Locks: 4, Burst: 100, Seed: 1}
	benchFilter(b, "workload=shared-locks", workload.SharedLocks(small))
	benchFilter(b, "workload=private-locks", workload.PrivateLocks(small))
	if !*heavy {
		return
	}
	for _, m := range micros {
		m.Seed = 1
		name := fmt.Sprintf("/threads=%d/iterations=%d/locks=%d/burst=%d/sites=%d", m.Threads, m.Iterations, m.Locks, m.Burst, m.Sites)
		benchFilter(b, "workload=shared-locks"+name, workload.SharedLocks(m))
		if m.Sites == 0 { // with more sites, the hybrid detector has to evict accesses
			benchFilter(b, "workload=private-locks"+name, workload.PrivateLocks(m))
		}
	}
}

func benchFilter(b *testing.B, name string, trace []heisen.Record) {
	for _, c := range benchFilters {
		b.Run(name+"/detector="+c.detector+"/filter="+c.filter, func(b *testing.B) {
			var filter *tree.Filter
			bare := func() (heisen.Detector, error) { return c.detect(), nil }
			filtered := func() (_ heisen.Detector, err error) {
				filter, err = c.wrap(c.detect())
				return filter, err
			}
			alone := func() (heisen.Detector, error) { return c.wrap(nothing{}) }
			least := leastTimes(b, trace, bare, filtered, alone)
			events := float64(len(trace))
			s := filter.Stats()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(least[0])/events, "bare-ns/event")
			b.ReportMetric(float64(least[1])/events, "ns/event")
			b.ReportMetric(float64(least[2])/events, "filter-ns/event")
			b.ReportMetric(float64(least[0])/float64(least[1]), "speedup")
			b.ReportMetric(float64(s.DroppedAccesses)/float64(max(1, s.Accesses)), "dropped/access")
			b.ReportMetric(float64(s.DroppedLocks)/events, "locks/event")
			b.ReportMetric(float64(s.Bypassed)/events, "bypassed/event")
			b.ReportMetric(float64(s.Bytes), "filter-bytes")
		})
	}
}

// leastTimes runs detectors over a trace, alternately, and returns the minimum time of each.
func leastTimes(b *testing.B, trace []heisen.Record, detectors ...func() (heisen.Detector, error)) []time.Duration {
	least := make([]time.Duration, len(detectors))
	for range b.N {
		for i, build := range detectors {
			d, err := build()
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			if err := measure.Feed(d, trace); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(start); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return least
}

// BenchmarkHit measures the cost of an access that the filter drops, by the number of words that the
// thread accesses in turn.
func BenchmarkHit(b *testing.B) {
	for _, words := range []int{16, 256, 4096} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			records := make([]heisen.Record, words)
			for i := range records {
				records[i] = heisen.Record{Op: heisen.Read, Object: heisen.Object(1<<20 + 8*i), Site: 1, Thread: 1}
			}
			f := must.Make(tree.NewFilter(heisen.Tee(), tree.WithoutBypass()))
			f.HandleRecords(records)
			for b.Loop() {
				f.HandleRecords(records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*words), "ns/access")
		})
	}
}

// BenchmarkMemory compares histories under a memory budget: that of the filter, a cache of its own, and a ristretto cache with one entry per (thread, op, site, word). The threads
// access words in no order that locks or messages establish, so that an access is redundant exactly
// if its entry is in the history. skew=zipf accesses few words often, skew=uniform all alike. It
// reports ns/event, hits/access, and heap-bytes, the heap in use afterwards. Both are lossless: an
// entry that was evicted, or that ristretto has not admitted, costs a forwarded access. The ristretto
// entries have the full key, because equal hashes of two accesses would otherwise drop one of them.
func BenchmarkMemory(b *testing.B) {
	for _, skew := range []string{"zipf", "uniform"} {
		for _, words := range []uint64{1 << 14, 1 << 17} {
			trace := unorderedAccesses(skew, words, 2*benchEvents)
			for _, budget := range []uint64{4 << 20, 16 << 20} {
				for _, kind := range []string{"filter", "ristretto"} {
					b.Run(fmt.Sprintf("skew=%s/words=%d/budget=%d/history=%s", skew, words, budget, kind), func(b *testing.B) {
						benchMemory(b, trace, budget, kind)
					})
				}
			}
		}
	}
}

func benchMemory(b *testing.B, trace []heisen.Record, budget uint64, kind string) {
	var hits, heap float64
	measure.PerEvent(b, len(trace), func() error {
		var before, after runtime.MemStats
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		var history interface{ hits() float64 }
		b.StartTimer()
		if kind == "filter" {
			f := must.Make(tree.NewFilter(nothing{}, tree.WithMemory(budget), tree.WithoutBypass()))
			if err := measure.Feed(f, trace); err != nil {
				return err
			}
			history = filterHistory{f}
		} else {
			c := newCacheHistory(budget)
			for i := range trace {
				c.access(&trace[i])
			}
			history = c
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		hits, heap = history.hits(), float64(after.HeapAlloc)-float64(before.HeapAlloc)
		if c, ok := history.(*cacheHistory); ok {
			c.cache.Close()
		}
		b.StartTimer()
		return nil
	})
	b.ReportMetric(hits/float64(len(trace)), "hits/access")
	b.ReportMetric(heap, "heap-bytes")
}

type filterHistory struct{ f *tree.Filter }

func (h filterHistory) hits() float64 { return float64(h.f.Stats().DroppedAccesses) }

// accessKey is what a redundant access has in common with the one that was forwarded.
type accessKey struct {
	object heisen.Object
	site   heisen.Site
	thread heisen.Thread
	op     heisen.Op
}

type cacheHistory struct {
	cache *ristretto.Cache[uint64, accessKey]
	found float64
}

// newCacheHistory returns a cache of as many entries as fit into the budget. A ristretto cache of version
// 2.4.0 takes at least 2.7 MB for its buffers and 200 bytes per entry, with ten counters.
func newCacheHistory(budget uint64) *cacheHistory {
	const bufferBytes, entryBytes = 2_700_000, 200
	entries := int64((budget - bufferBytes) / entryBytes)
	cache := must.Make(ristretto.NewCache(&ristretto.Config[uint64, accessKey]{
		NumCounters: 10 * entries, MaxCost: entries, BufferItems: 64, IgnoreInternalCost: true,
	}))
	return &cacheHistory{cache: cache}
}

func (h *cacheHistory) hits() float64 { return h.found }

func (h *cacheHistory) access(r *heisen.Record) {
	key := accessKey{r.Object, r.Site, r.Thread, r.Op}
	hash := (uint64(r.Object)>>3 ^ uint64(r.Site)<<32 ^ uint64(r.Thread)<<56 ^ uint64(r.Op)<<48) * 0x9e3779b97f4a7c15
	if known, ok := h.cache.Get(hash); ok && known == key {
		h.found++
		return
	}
	h.cache.Set(hash, key, 1)
}

// unorderedAccesses returns reads by four threads.
func unorderedAccesses(skew string, words uint64, events int) []heisen.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 8, words-1)
	trace := make([]heisen.Record, events)
	for i := range trace {
		word := rng.Uint64N(words)
		if skew == "zipf" {
			word = zipf.Uint64()
		}
		trace[i] = heisen.Record{Op: heisen.Read, Thread: heisen.Thread(1 + i>>8&3), Site: heisen.Site(1 + word%997), Object: heisen.Object(1<<20 + 8*word)}
	}
	return trace
}
