package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// violation is what of Eraser's findings does not depend on which other access
// was the last one.
type violation struct {
	object heisen.Object
	later  heisen.Access
	locks  string
}

// TestViolationsAreUnchanged is the theorem for Eraser: behind either filter the
// same variables are reported, at the same accesses, with the same locks.
func TestViolationsAreUnchanged(t *testing.T) {
	messages := []tree.FilterOption{tree.WithMessageOrder()}
	for _, test := range []struct {
		name    string
		options []tree.FilterOption
		filter  func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error)
	}{
		{"default", nil, tree.NewFilter},
		{"MessageOrder", messages, tree.NewFilter},
		{"MessageOrder, bypassing accesses", messages, bypassing(true)},
	} {
		t.Run(test.name, func(t *testing.T) {
			forRandomTraces(t, perKind, func(trace []heisen.Record) (outcome, error) {
				want, _, err := violations(trace, nil)
				if err != nil {
					return outcome{}, err
				}
				got, stats, err := violations(trace, func(d heisen.Detector) (*tree.Filter, error) { return test.filter(d, test.options...) })
				o := outcome{Stats: stats, races: len(want), refused: errors.Is(err, tree.ErrLockMisuse)}
				if err == nil || o.refused {
					err = nil
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(violation{})); diff != "" && !o.refused && err == nil {
					err = fmt.Errorf("violations (-all +filtered):\n%s", diff)
				}
				return o, err
			})
		})
	}
}

func violations(trace []heisen.Record, filter func(heisen.Detector) (*tree.Filter, error)) (map[violation]bool, tree.Stats, error) {
	found := map[violation]bool{}
	event := uint64(0)
	var d heisen.Detector = must.Make(lockset.NewEraser(lockset.WithSink(func(f heisen.Finding) {
		later := f.Accesses[1]
		later.Index = event
		// Neighbours that one access violates are one finding if the access
		// before is the same, which it need not be.
		// Locks are in the order in which the detector met them, and it need not
		// meet one under which nothing was handed on.
		v := violation{f.Object, later, fmt.Sprint(slices.Sorted(slices.Values(f.Locks)))}
		if later.Size > 1 {
			v.object, v.locks = 0, ""
		}
		found[v] = true
	})))
	var f *tree.Filter
	if filter != nil {
		var err error
		if f, err = filter(d); err != nil {
			return nil, tree.Stats{}, err
		}
		d = f
	}
	for i := range trace {
		event = uint64(i + 1)
		feed(d, trace[i:i+1], i)
	}
	err := d.Flush()
	if f == nil {
		return found, tree.Stats{}, err
	}
	return found, f.Stats(), err
}
