package tree_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/tree"
)

func hybrid(s heisen.Sink) heisen.Detector {
	return must.Make(lockset.NewHybrid(lockset.WithSink(s), lockset.WithMaxAccesses(0)))
}
func hybridOrderingAtomics(s heisen.Sink) heisen.Detector {
	return must.Make(lockset.NewHybrid(lockset.WithSink(s), lockset.WithMaxAccesses(0), lockset.WithAtomicOrder()))
}

// TestPotentialRacesAreUnchanged is the theorem for the hybrid detector, which
// reports unordered pairs of places: behind either filter they are the same.
func TestPotentialRacesAreUnchanged(t *testing.T) {
	for _, test := range []struct {
		name     string
		detector func(heisen.Sink) heisen.Detector
		options  []tree.FilterOption
	}{
		{"default", hybrid, nil},
		{"MessageOrder", hybrid, []tree.FilterOption{tree.WithMessageOrder()}},
		{"MessageOrder, atomics order", hybridOrderingAtomics, []tree.FilterOption{tree.WithMessageOrder()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			forRandomTraces(t, perKind, func(trace []heisen.Record) (outcome, error) {
				return sameLocations(trace, test.detector, test.options...)
			})
		})
	}
}
