package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// micros are the dimensions of Figures 5.2 and 5.3: each varies one of threads,
// iterations and locks; and besides, how long a thread goes on before another one
// comes, and how many increments there are in the program.
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

// fronts are filters and the detectors that they are meant for, and the literal
// one for comparison.
var fronts = []struct {
	filter   string
	detector string
	wrap     func(heisen.Detector) (*tree.Filter, error)
}{
	{"tree", "fasttrack", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d) }},
	{"span", "fasttrack", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewSpanFilter(d) }},
	{"literal", "fasttrack", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithThesisAlgorithm()) }},
	{"tree", "hb", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d) }},
	{"messages", "eraser", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithMessageOrder()) }},
	{"messages", "hybrid", func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, tree.WithMessageOrder()) }},
}

// BenchmarkTREE runs detectors with and without a filter in front of them, by
// turns, over the micro-benchmarks and over the other workloads. It reports the
// least time of each: ns/event behind the filter, bare-ns/event without one, and
// speedup, which is bare by filtered; and of the filter ns/keep, its own cost alone
// per event if it hands on all lock operations and does not rest, and from the run
// with the detector dropped/access (of those that it looked at), locks/event (lock
// operations left out), rested/event and filter-bytes.
func BenchmarkTREE(b *testing.B) {
	for _, m := range micros {
		m.Seed = 1
		name := fmt.Sprintf("/threads=%d,iterations=%d,locks=%d,burst=%d", m.Threads, m.Iterations, m.Locks, m.Burst)
		if m.Sites > 0 {
			name += fmt.Sprintf(",sites=%d", m.Sites)
		}
		benchFilters(b, "shared-locks"+name, workload.SharedLocks(m))
		if m.Sites == 0 { // otherwise the hybrid detector would have to forget accesses
			benchFilters(b, "private-locks"+name, workload.PrivateLocks(m))
		}
	}
	for _, w := range workloads {
		w.params.Events, w.params.Seed = benchEvents, 1
		benchFilters(b, w.name+"/-", w.generate(w.params))
	}
}

// nothing is a detector that costs nothing.
type nothing struct{}

func (nothing) Handle(heisen.Event)           {}
func (nothing) HandleRecords([]heisen.Record) {}
func (nothing) Flush() error                  { return nil }

func benchFilters(b *testing.B, name string, trace []heisen.Record) {
	for _, front := range fronts {
		b.Run(name+"/"+front.filter+"/"+front.detector, func(b *testing.B) {
			var filter *tree.Filter
			wrap := func(d heisen.Detector) (heisen.Detector, error) {
				f, err := front.wrap(d)
				filter = f
				return f, err
			}
			bare := func() (heisen.Detector, error) { return newDetector(front.detector), nil }
			filtered := func() (heisen.Detector, error) { return wrap(newDetector(front.detector)) }
			alone := func() (heisen.Detector, error) { return front.wrap(nothing{}) }
			least := leastTimes(b, trace, bare, filtered, alone)
			events := float64(len(trace))
			s := filter.Stats()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(least[0])/events, "bare-ns/event")
			b.ReportMetric(float64(least[1])/events, "ns/event")
			b.ReportMetric(float64(least[2])/events, "ns/keep")
			b.ReportMetric(float64(least[0])/float64(least[1]), "speedup")
			b.ReportMetric(float64(s.DroppedAccesses)/float64(s.Accesses), "dropped/access")
			b.ReportMetric(float64(s.DroppedLocks)/events, "locks/event")
			b.ReportMetric(float64(s.Bypassed)/events, "rested/event")
			b.ReportMetric(float64(s.Bytes), "filter-bytes")
		})
	}
}

// leastTimes runs detectors over a trace, by turns, and returns the shortest time
// of each.
func leastTimes(b *testing.B, trace []heisen.Record, detectors ...func() (heisen.Detector, error)) []time.Duration {
	least := make([]time.Duration, len(detectors))
	for range b.N {
		for i, build := range detectors {
			d, err := build()
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			if err := run(d, trace); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(start); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return least
}

func newDetector(name string) heisen.Detector {
	for _, d := range detectors {
		if d.name == name {
			return d.make(nil)
		}
	}
	return nil
}

// BenchmarkTREEHit is what the filter takes for an access that it drops, by the
// words that the thread goes round and round.
func BenchmarkTREEHit(b *testing.B) {
	for _, words := range []int{16, 256, 4096} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			records := make([]heisen.Record, words)
			for i := range records {
				records[i] = heisen.Record{Op: heisen.Read, Object: heisen.Object(1<<20 + 8*i), Site: 1, Thread: 1}
			}
			f, err := tree.NewFilter(heisen.Tee())
			if err != nil {
				b.Fatal(err)
			}
			f.HandleRecords(records)
			for b.Loop() {
				f.HandleRecords(records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*words), "ns/access")
		})
	}
}
