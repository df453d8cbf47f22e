package focus_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// TestConformance are accesses to the field of one node, with the lock that guards it or without.
func TestConformance(t *testing.T) {
	const trusted, unknown heisen.Site = 1, 2
	symbols := heisen.NewSymbols()
	symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.main.func1"}}})
	symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.main.func2"}}})
	access := func(t heisen.Thread, op heisen.Op, site heisen.Site) heisen.Record {
		return heisen.Record{Op: op, Thread: t, Object: node1 + 8, Site: site}
	}
	lock := func(t heisen.Thread, op heisen.Op) heisen.Record {
		return heisen.Record{Op: op, Thread: t, Object: node1}
	}
	const without, shared = "of main.Node.value without the lock that guards it", "of main.Node.value, which goroutines have shared without the lock that guards it"
	for _, test := range []struct {
		name    string
		records []heisen.Record
		want    []string
	}{
		{"one goroutine", []heisen.Record{access(1, heisen.Write, unknown), access(1, heisen.Write, unknown)}, nil},
		{"initialized, then with the lock", []heisen.Record{
			access(1, heisen.Write, unknown), lock(2, heisen.Acquire), access(2, heisen.Write, unknown), access(2, heisen.Write, trusted), lock(2, heisen.Release),
		}, nil},
		{"initialized, then read", []heisen.Record{access(1, heisen.Write, unknown), access(2, heisen.Read, unknown), access(3, heisen.Read, unknown)}, nil},
		{"without the lock", []heisen.Record{
			lock(1, heisen.Acquire), access(1, heisen.Write, trusted), lock(1, heisen.Release), access(2, heisen.Write, unknown), access(3, heisen.Write, unknown),
		}, []string{"5: write " + without}},
		{"read without the lock, then written with it", []heisen.Record{
			access(1, heisen.Write, unknown), access(2, heisen.Read, unknown), lock(3, heisen.Acquire), access(3, heisen.Write, trusted), lock(3, heisen.Release),
		}, []string{"5: write " + shared}},
		{"written with a hold for reading", []heisen.Record{
			access(1, heisen.Write, unknown), lock(2, heisen.AcquireShared), access(2, heisen.Read, unknown), access(2, heisen.Write, unknown), lock(2, heisen.ReleaseShared),
		}, []string{"5: write " + without}},
		{"read with a hold for reading", []heisen.Record{
			access(1, heisen.Write, unknown), lock(2, heisen.Acquire), access(2, heisen.Write, unknown), lock(2, heisen.Release),
			lock(3, heisen.AcquireShared), access(3, heisen.Read, unknown), lock(3, heisen.ReleaseShared),
		}, nil},
		{"another lock at the same address", []heisen.Record{
			access(1, heisen.Write, unknown), lock(2, heisen.Acquire), access(2, heisen.Write, trusted), lock(2, heisen.Release),
			{Op: heisen.Alloc, Object: node1, Value: 8}, lock(3, heisen.Acquire), access(3, heisen.Write, unknown), lock(3, heisen.Release),
		}, []string{"8: write " + without}},
		{"memory that is allocated again", []heisen.Record{
			access(1, heisen.Write, unknown), lock(2, heisen.Acquire), access(2, heisen.Write, trusted), lock(2, heisen.Release),
			{Op: heisen.Alloc, Object: node1, Value: 16}, access(3, heisen.Write, unknown), access(3, heisen.Write, unknown),
		}, nil},
		{"a range", []heisen.Record{
			access(1, heisen.Write, unknown), {Op: heisen.Write, Thread: 2, Object: node1 + 10, Len: 2, Site: unknown},
			{Op: heisen.Write, Thread: 3, Object: node1 + 8, Len: 4, Site: unknown},
		}, []string{"4: write " + without, "4: write " + without}},
	} {
		var found []string
		sink := func(f heisen.Finding) { found = append(found, fmt.Sprint(f.Accesses[1].Index, ": ", f.Message)) }
		f := must.Make(focus.NewFilter(figure1Plan(), heisen.Tee(), figure1Names(symbols), focus.WithMode(focus.MethodBased), focus.WithSink(sink)))
		f.Skip(1) // positions are those of the whole stream
		feed(t, f, test.records)
		if diff := cmp.Diff(test.want, found); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
}

// skipping notes what a filter reports to a detector.
type skipping struct {
	heisen.Detector
	skipped, handled uint64
}

func (s *skipping) Handle(heisen.Event)        { s.handled++ }
func (s *skipping) Skip(events uint64)         { s.skipped += events }
func (s *skipping) Flush() error               { return nil }
func (*skipping) LockUse() heisen.LockUse      { return heisen.LocksAsSets }
func (s *skipping) events() (n uint64)         { return s.skipped + s.handled }
func (s *skipping) last() (handled, at uint64) { return s.handled, s.events() }

// TestFilterReportsWhatItLeavesOut: the detector learns the position of each event, in batches and alone.
func TestFilterReportsWhatItLeavesOut(t *testing.T) {
	w := plannedWorld(4)
	records := w.run(500)
	for _, mode := range modes {
		for _, batches := range []bool{true, false} {
			next := &skipping{}
			f := must.Make(focus.NewFilter(w.plan, next, focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols}, focus.WithMode(mode)))
			if f.LockUse() != heisen.LocksAsSets {
				t.Errorf("mode %d: lock use %v", mode, f.LockUse())
			}
			for i := range records {
				if batches {
					f.HandleRecords(records[i : i+1])
				} else {
					f.Handle(records[i].Event())
				}
			}
			f.Handle((&heisen.Record{Op: heisen.Fork, Object: 99}).Event())
			if handled, at := next.last(); at != uint64(len(records))+1 || handled+f.Dropped() != at || f.Dropped() == 0 {
				t.Errorf("mode %d: %d handled, %d left out, position %d, want %d", mode, handled, f.Dropped(), at, len(records)+1)
			}
		}
	}
}
