package tree_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// TestCombinedWithFilter checks TREE in front of a heisen.Filter, behind one, and on both sides of one:
// the first race is the one without TREE, and each finding has the position of its event in the whole
// stream. The filter leaves out the plain accesses of some threads.
func TestCombinedWithFilter(t *testing.T) {
	keep := func(e heisen.Event) bool {
		plain := e.Op() == heisen.Read || e.Op() == heisen.Write
		return !plain || e.Thread()%4 != 2
	}
	type newFilter = func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error)
	for name, filter := range map[string]newFilter{
		"default": tree.NewFilter, "spans": spanFilter,
		"bypass of all events": bypassing(false), "bypass of accesses": bypassing(true),
	} {
		t.Run(name, func(t *testing.T) {
			kept := func(d heisen.Detector) heisen.Detector { return heisen.Filter(d, keep) }
			forRandomTraces(t, perKind/8, func(trace []heisen.Record) (outcome, error) {
				var last *tree.Filter
				treed := func(d heisen.Detector) heisen.Detector {
					last = must.Make(filter(d))
					return last
				}
				want, err := positionsOfRaces(trace, kept)
				if err != nil {
					return outcome{}, err
				}
				o := outcome{races: len(want)}
				for name, combined := range map[string]func(heisen.Detector) heisen.Detector{
					"before":     func(d heisen.Detector) heisen.Detector { return treed(kept(d)) },
					"behind":     func(d heisen.Detector) heisen.Detector { return kept(treed(d)) },
					"both sides": func(d heisen.Detector) heisen.Detector { return treed(kept(heisen.Tee(treed(d)))) },
				} {
					got, err := positionsOfRaces(trace, combined)
					if errors.Is(err, tree.ErrLockMisuse) {
						o.refused = true
						continue
					}
					if err != nil {
						return o, fmt.Errorf("%s: %w", name, err)
					}
					if len(got) > 0 != (len(want) > 0) || len(got) > 0 && got[0] != want[0] {
						return o, fmt.Errorf("%s: races at %v, want the first at %v", name, got, want)
					}
				}
				o.Stats = last.Stats()
				return o, nil
			})
		})
	}
}

// positionsOfRaces returns the positions of the later accesses of FastTrack's findings behind filters, in
// the order of the stream, and checks that these accesses are there.
func positionsOfRaces(trace []heisen.Record, filters func(heisen.Detector) heisen.Detector) (at []uint64, err error) {
	sink := func(f heisen.Finding) {
		later := f.Accesses[1]
		if later.Index == 0 || later.Index > uint64(len(trace)) {
			err = errors.Join(err, fmt.Errorf("no event %d", later.Index))
			return
		}
		if r := &trace[later.Index-1]; r.Site != later.Site || r.Thread != later.Thread || r.Object != later.Object {
			err = errors.Join(err, fmt.Errorf("%v is %v", later, r))
		}
		at = append(at, later.Index)
	}
	d := filters(must.Make(vclock.NewFastTrack(vclock.WithSink(sink))))
	for rest := trace; len(rest) > 0; {
		n := min(7, len(rest))
		if len(rest)%5 == 0 {
			n = 1
			d.Handle(rest[0].Event())
		} else {
			d.(heisen.RecordHandler).HandleRecords(rest[:n])
		}
		rest = rest[n:]
	}
	return at, errors.Join(d.Flush(), err)
}
