package bench

import (
	"runtime"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// TestEndless: what detectors store does not grow with the number of threads that have ended, although
// nobody waits for them. The reference, hb, stores all accesses and is not among the detectors.
func TestEndless(t *testing.T) {
	// A connection writes to its memory at site 101 and then reads at 102; see workload.Server.
	sections := []section.Section{{
		Entry: section.Location{File: "server.go", Line: 101, Mode: section.Writes},
		Ends:  []section.End{{At: section.Location{File: "server.go", Line: 102, Mode: section.Reads}}},
	}}
	locator := section.Locator{Site: func(at heisen.Site) (string, int, string) { return "server.go", int(at), "" }}
	for _, d := range []struct {
		name   string
		slow   int // times as slow as the others
		make   func() (heisen.Detector, error)
		filter []tree.FilterOption // besides a bound of memory; nil if there is no filter for the detector
	}{
		{"fasttrack", 1, func() (heisen.Detector, error) { return vclock.NewFastTrack() },
			[]tree.FilterOption{}},
		{"eraser", 1, func() (heisen.Detector, error) { return lockset.NewEraser() },
			[]tree.FilterOption{tree.WithMessageOrder()}},
		{"eraser with hand-over", 1, func() (heisen.Detector, error) { return lockset.NewEraser(lockset.WithHandOver()) }, nil},
		{"eraser by object with hand-over", 1, func() (heisen.Detector, error) {
			return lockset.NewEraser(lockset.WithHandOver(), lockset.WithObjectGranularity())
		}, nil},
		{"hybrid", 2, func() (heisen.Detector, error) { return lockset.NewHybrid() },
			[]tree.FilterOption{tree.WithMessageOrder()}},
		{"lockorder", 2, func() (heisen.Detector, error) { return lockset.NewLockOrder() },
			[]tree.FilterOption{tree.WithoutBypass()}},
		{"atomrace", 1, func() (heisen.Detector, error) { return atomrace.NewDetector() }, nil},
		{"atomrace with sections", 1, func() (heisen.Detector, error) {
			return atomrace.NewDetector(atomrace.WithSections(sections, locator))
		}, nil},
		{"mcm", 20, func() (heisen.Detector, error) { return mcm.NewDetector(mcm.WithSections(sections, locator)) }, nil},
	} {
		for _, filtered := range []bool{false, true} {
			if filtered && d.filter == nil {
				continue
			}
			name := d.name
			if filtered {
				name += " behind tree"
			}
			t.Run(name, func(t *testing.T) {
				detector := must.Make(d.make())
				if filtered {
					detector = must.Make(tree.NewFilter(detector, append(slices.Clip(d.filter), tree.WithMemory(4<<20))...))
				}
				checkEndless(t, detector, d.slow)
			})
		}
	}
}

// checkEndless gives a detector the events of an endless server.
func checkEndless(t *testing.T, detector heisen.Detector, slow int) {
	tolerance := 3 << 19 // bytes: sets of locks are compacted when they take two thirds of it
	first, more := 60_000, 150_000
	if tier.Of() == tier.Nightly {
		first, more, tolerance = 100_000, 900_000, 1<<20
	}
	if slow > 2 {
		first, more = first/5, more/slow
	}
	server := workload.NewServer(1)
	handle := func(batch []heisen.Record) {
		for i := range batch {
			detector.Handle(batch[i].Event())
		}
	}
	if d, ok := detector.(heisen.RecordHandler); ok {
		handle = d.HandleRecords
	}
	server.Run(first, handle)
	before := heap()
	server.Run(more, handle)
	after := heap()
	if err := detector.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("%d bytes after %d threads, %d after %d", before, first, after, server.Started())
	if after > before+tolerance {
		t.Errorf("%d bytes more after %d more threads", after-before, more)
	}
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
