package bench

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/syncp"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// A Detector is a way to construct a detector.
type Detector struct {
	Name     string
	Precise  bool // it reports races that can happen, and nothing else
	Predicts bool // it looks at other orders of the events, and is slower

	New func(heisen.Sink) (heisen.Detector, error)
	// Filter has the options of the TREE filter that may be in front of it. If it is nil there is none: some
	// detectors need all events.
	Filter []tree.FilterOption
}

// Detectors returns every detector of the module for races and deadlocks.
func Detectors() []Detector {
	return []Detector{
		{Name: "fasttrack", Precise: true, Filter: []tree.FilterOption{},
			New: func(s heisen.Sink) (heisen.Detector, error) { return vclock.NewFastTrack(vclock.WithSink(s)) }},
		{Name: "hb", Precise: true, Filter: []tree.FilterOption{},
			New: func(s heisen.Sink) (heisen.Detector, error) { return vclock.NewHappensBefore(vclock.WithSink(s)) }},
		{Name: "atomrace", Precise: true,
			New: func(s heisen.Sink) (heisen.Detector, error) { return atomrace.NewDetector(atomrace.WithSink(s)) }},
		{Name: "mcm", Precise: true, Predicts: true,
			New: func(s heisen.Sink) (heisen.Detector, error) { return mcm.NewDetector(mcm.WithSink(s)) }},
		{Name: "syncp", Precise: true, Predicts: true,
			New: func(s heisen.Sink) (heisen.Detector, error) { return syncp.NewDetector(syncp.WithSink(s)) }},
		{Name: "hybrid", Filter: []tree.FilterOption{tree.WithMessageOrder()},
			New: func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewHybrid(lockset.WithSink(s)) }},
		{Name: "eraser",
			New: func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewEraser(lockset.WithSink(s)) }},
		{Name: "eraser-by-object",
			New: func(s heisen.Sink) (heisen.Detector, error) {
				return lockset.NewEraser(lockset.WithSink(s), lockset.WithObjectGranularity())
			}},
		{Name: "lockorder",
			New: func(s heisen.Sink) (heisen.Detector, error) { return lockset.NewLockOrder(lockset.WithSink(s)) }},
	}
}
