package tree_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// byByte hands accesses of several bytes on to FastTrack byte by byte, so that
// there is a finding for each that races; of atomic ones, the first byte alone.
type byByte struct{ heisen.Detector }

func fastTrackByByte(s heisen.Sink) heisen.Detector {
	return byByte{must.Make(vclock.NewFastTrack(vclock.WithSink(s)))}
}

func (d byByte) Handle(e heisen.Event) {
	r := *heisen.AsRecord(e)
	if r.Op != heisen.Read && r.Op != heisen.Write {
		r.Len = 0
		d.Detector.Handle(r.Event())
		return
	}
	n := r.Size()
	r.Len = 0
	for ; n > 0; n-- {
		d.Detector.Handle(r.Event())
		r.Object++
	}
}

// spanFilter is NewSpanFilter with the type of NewFilter.
func spanFilter(d heisen.Detector, options ...tree.FilterOption) (*tree.Filter, error) {
	var opts []tree.Option
	for _, o := range options {
		opts = append(opts, o.(tree.Option))
	}
	return tree.NewSpanFilter(d, opts...)
}

// TestFirstRacesAreUnchanged is what holds for FastTrack behind either filter:
// the same bytes race, and of each of them the first event that races with an
// earlier one is the same. All that it reports is a pair of hb's.
func TestFirstRacesAreUnchanged(t *testing.T) {
	for _, test := range []struct {
		name   string
		filter func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error)
	}{
		{"NewFilter", tree.NewFilter},
		{"NewSpanFilter", spanFilter},
	} {
		t.Run(test.name, func(t *testing.T) {
			forRandomTraces(t, perKind, func(trace []heisen.Record) (outcome, error) {
				want := analyze(trace, fastTrackByByte, nil)
				got := analyze(trace, fastTrackByByte, test.filter)
				o := outcome{Stats: got.stats, races: len(want.pairs), refused: errors.Is(got.err, tree.ErrLockMisuse)}
				switch {
				case o.refused:
					return o, nil
				case got.err != nil:
					return o, got.err
				case !maps.Equal(want.first, got.first):
					return o, fmt.Errorf("first races (-all +filtered):\n%s", cmp.Diff(want.first, got.first))
				}
				all := analyze(trace, reference, nil).pairs
				for p := range got.pairs {
					if !all[p] {
						return o, fmt.Errorf("%v is no race", p)
					}
				}
				return o, nil
			})
		})
	}
}

// TestSpansTakeWritesForReads: a read stands for reads only, a write for both.
func TestSpansTakeWritesForReads(t *testing.T) {
	trace := []heisen.Record{
		at(1, 0, heisen.Read, x),
		at(2, 0, heisen.Write, x), // forwarded: it races with reads
		at(3, 0, heisen.Read, x),
		at(4, 0, heisen.Write, x),
		at(5, 0, heisen.Read, y),
		at(6, 0, heisen.Read, y),
	}
	var k forwarded
	f, err := tree.NewSpanFilter(&k)
	if err != nil {
		t.Fatal(err)
	}
	f.HandleRecords(trace)
	var sites []heisen.Site
	for _, r := range k.records {
		sites = append(sites, r.Site)
	}
	checkSame(t, "sites forwarded", sites, []heisen.Site{1, 2, 5})
}
