package bench

import (
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// events is the number of events of a workload. The predictor gets fewer, because it is slower.
const (
	events          = 1 << 17
	predictedEvents = 1 << 14
)

// all has a constructor for every detector of the module, with the options of the TREE filter that
// may be in front of it. Without options there is no filter for the detector: atomrace and mcm need
// all events.
var all = []struct {
	name    string
	precise bool // reports races and nothing else
	events  int
	make    func(heisen.Sink) (heisen.Detector, error)
	filter  []tree.FilterOption
}{
	{"fasttrack", true, events,
		func(s heisen.Sink) (heisen.Detector, error) { return vclock.NewFastTrack(vclock.WithSink(s)) },
		[]tree.FilterOption{tree.WithDetectorCost(14 * time.Nanosecond)}},
	{"hb", true, events,
		func(s heisen.Sink) (heisen.Detector, error) { return vclock.NewHappensBefore(vclock.WithSink(s)) },
		[]tree.FilterOption{tree.WithoutBypass()}},
	{"eraser", false, events,
		func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewEraser(lockset.WithSink(s)) },
		[]tree.FilterOption{tree.WithMessageOrder(), tree.WithDetectorCost(11 * time.Nanosecond)}},
	{"eraser-by-object", false, events,
		func(s heisen.Sink) (heisen.Detector, error) {
			return lockset.NewEraser(lockset.WithSink(s), lockset.WithObjectGranularity())
		},
		[]tree.FilterOption{tree.WithMessageOrder(), tree.WithDetectorCost(11 * time.Nanosecond)}},
	{"hybrid", false, events,
		func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewHybrid(lockset.WithSink(s)) },
		[]tree.FilterOption{tree.WithMessageOrder(), tree.WithDetectorCost(18 * time.Nanosecond)}},
	{"lockorder", false, events,
		func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewLockOrder(lockset.WithSink(s)) },
		[]tree.FilterOption{tree.WithoutBypass()}},
	{"atomrace", true, events,
		func(s heisen.Sink) (heisen.Detector, error) { return atomrace.NewDetector(atomrace.WithSink(s)) }, nil},
	{"mcm", true, predictedEvents,
		func(s heisen.Sink) (heisen.Detector, error) { return mcm.NewDetector(mcm.WithSink(s)) }, nil},
}

// BenchmarkDetectors runs every detector over every shared workload, alone and behind the TREE
// filter. Each run has a fresh detector, so B/event and allocs/event include the cost of building up
// its state.
func BenchmarkDetectors(b *testing.B) {
	for _, w := range workload.Shared() {
		traces := map[int][]heisen.Record{events: w.Events(events), predictedEvents: w.Events(predictedEvents)}
		for _, filter := range []string{"none", "tree"} {
			for _, d := range all {
				if filter == "tree" && d.filter == nil {
					continue
				}
				b.Run("workload="+w.Name+"/filter="+filter+"/detector="+d.name, func(b *testing.B) {
					findings, trace := 0, traces[d.events]
					bm.PerEvent(b, len(trace), func() error {
						detector, err := d.make(func(heisen.Finding) { findings++ })
						if err == nil && filter == "tree" {
							detector, err = tree.NewFilter(detector, d.filter...)
						}
						if err != nil {
							return err
						}
						return bm.Feed(detector, trace)
					})
					if d.precise && findings != 0 {
						b.Fatalf("%d findings in a trace without races", findings)
					}
				})
			}
		}
	}
}
