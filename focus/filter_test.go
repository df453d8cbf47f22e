package focus_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

var modes = []focus.Mode{focus.FieldBased, focus.MethodBased, focus.Combined}

// trials returns how many random runs a test makes.
func trials(n uint64) uint64 {
	if testing.Short() {
		return n / 6
	}
	return n
}

// place is a field of an object.
type place struct {
	base  heisen.Object
	field int
}

// collect returns a sink, and the places that it was told of.
func collect() (heisen.Sink, map[place]bool) {
	found := map[place]bool{}
	return func(f heisen.Finding) {
		offset := f.Object % objectSpacing
		found[place{f.Object - offset, int((offset - fieldsOffset) / 8)}] = true
	}, found
}

// detectors are what the guarantee of a Filter is about.
var detectors = map[string]func(heisen.Sink) heisen.Detector{
	"eraser":    func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithSink(s))) },
	"fasttrack": func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewFastTrack(vclock.WithSink(s))) },
}

// TestFilterMissesNothing: each field that a detector reports without a plan is reported with it, by the
// detector or the Filter, and behind the Filter the detector reports no other.
func TestFilterMissesNothing(t *testing.T) {
	type count struct{ runs, full, behind, filter int }
	counts := map[string]*count{}
	var events, dropped uint64
	for seed := range trials(900) {
		w := newWorld(seed, 2+int(seed%9))
		records := w.run(400)
		names := focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols}
		for name, detector := range detectors {
			sink, full := collect()
			feed(t, detector(sink), records)
			for _, mode := range modes {
				sink, behind := collect()
				ownSink, own := collect()
				f := must.Make(focus.NewFilter(w.plan, detector(sink), names, focus.WithMode(mode), focus.WithSink(ownSink)))
				feed(t, f, records)
				events += uint64(len(records))
				dropped += f.Dropped()
				for p := range full {
					unique := name == "eraser" && w.plan.Safe(fieldVariable(p.field)) && worldOwners[p.field].Kind == focus.Unique
					if !behind[p] && !own[p] && !unique {
						t.Fatalf("seed %d, %s, mode %d: nothing about field %d of %#x, %+v", seed, name, mode, p.field, p.base, w.plan.Variables[fieldVariable(p.field)])
					}
				}
				for p := range behind {
					if !full[p] {
						t.Fatalf("seed %d, %s, mode %d: field %d of %#x only behind the filter", seed, name, mode, p.field, p.base)
					}
				}
				for p := range own {
					if protection := w.plan.Variables[fieldVariable(p.field)]; !protection.Unsafe || protection.Owner.Kind != focus.Guarded || mode == focus.FieldBased {
						t.Fatalf("seed %d, mode %d: the filter reports field %d, which is %+v", seed, mode, p.field, protection)
					}
				}
				key := fmt.Sprintf("%s, mode %d", name, mode)
				if counts[key] == nil {
					counts[key] = &count{}
				}
				c := counts[key]
				c.runs, c.full, c.behind, c.filter = c.runs+1, c.full+len(full), c.behind+len(behind), c.filter+len(own)
			}
		}
	}
	for key, c := range counts {
		t.Logf("%s: %+v", key, *c)
		if c.full < c.runs || c.behind == 0 {
			t.Errorf("%s: hardly anything was compared: %+v", key, *c)
		}
	}
	t.Logf("%d of %d events were left out", dropped, events)
	if dropped < events/10 {
		t.Errorf("only %d of %d events were left out", dropped, events)
	}
}

// TestTinyBounds: a filter and a discoverer that remember next to nothing of sites and places say the same.
func TestTinyBounds(t *testing.T) {
	found, dropped := 0, uint64(0)
	for seed := range trials(300) {
		w := newWorld(seed, 2+int(seed%9))
		records := w.run(400)
		names := focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols}
		for _, mode := range modes {
			filtered := func(bound int) (reported []heisen.Finding, left uint64) {
				sink := func(f heisen.Finding) { reported = append(reported, f) }
				f := must.Make(focus.NewFilter(w.plan, detectors["eraser"](sink), names, focus.WithMode(mode), focus.WithSink(sink)))
				if bound >= 0 {
					f.Forget(bound)
				}
				feed(t, f, records)
				return reported, f.Dropped()
			}
			want, left := filtered(-1)
			for bound := range 4 {
				if got, same := filtered(bound); same != left || !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, mode %d, bound %d: %d findings, %d events left out; without a bound %d and %d", seed, mode, bound, len(got), same, len(want), left)
				}
			}
			found, dropped = found+len(want), dropped+left
		}
	}
	if found < 1000 || dropped < 5_000 {
		t.Errorf("hardly anything was compared: %d findings, %d events left out", found, dropped)
	}
}

// TestDiscovererWithTinyBound: a discoverer that remembers next to nothing of sites discovers the same.
func TestDiscovererWithTinyBound(t *testing.T) {
	for seed := range trials(300) {
		w := newWorld(seed, 2+int(seed%9))
		records := w.run(400)
		discovered := func(bound int) []focus.Discovery {
			d := must.Make(focus.NewDiscoverer(w.variable))
			if bound >= 0 {
				d.Forget(bound)
			}
			feed(t, d, records)
			return d.Discoveries()
		}
		want := discovered(-1)
		for bound := range 4 {
			if got := discovered(bound); len(want) == 0 || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, bound %d:\n%v\nwithout:\n%v", seed, bound, got, want)
			}
		}
	}
}

// TestFilterWithObjectGranularity: each object with a field that Eraser reports is reported.
func TestFilterWithObjectGranularity(t *testing.T) {
	compared := 0
	for seed := range trials(300) {
		w := newWorld(seed, 2+int(seed%5))
		records := w.run(300)
		sink, full := collect()
		feed(t, detectors["eraser"](sink), records)
		for _, mode := range modes {
			objects := map[heisen.Object]bool{}
			sink := func(f heisen.Finding) { objects[f.Object-f.Object%objectSpacing] = true }
			eraser := must.Make(lockset.NewEraser(lockset.WithObjectGranularity(), lockset.WithSink(sink)))
			feed(t, must.Make(focus.NewFilter(w.plan, eraser, focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols},
				focus.WithMode(mode), focus.WithSink(sink))), records)
			for p := range full {
				if w.plan.Safe(fieldVariable(p.field)) && worldOwners[p.field].Kind == focus.Unique {
					continue
				}
				compared++
				if !objects[p.base] {
					t.Fatalf("seed %d, mode %d: nothing about %#x, with field %d", seed, mode, p.base, p.field)
				}
			}
		}
	}
	if compared < 80 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// TestFilterAddsNothing: whatever plan there is, and however damaged a stream, the detectors report nothing
// behind the Filter that they do not report without it, and a Discoverer does not fail either.
func TestFilterAddsNothing(t *testing.T) {
	compared := 0
	for seed := range trials(900) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := newWorld(seed, 2)
		sites := []heisen.Site{0, 1 << 30}
		for _, f := range slices.Sorted(maps.Keys(w.plan.Functions)) {
			sites = append(sites, w.site("x", string(f)), w.site("x", string(f), "main.typed"))
		}
		slices.Sort(sites)
		records := workload.Random(rng, workload.Small{Threads: 4, Events: 150, Vars: 5, Syncs: 3, LockWords: true, Lives: true, Nested: true, Wild: seed%2 == 0})
		for i := range records {
			records[i].Site = sites[rng.IntN(len(sites))]
		}
		shift := rng.IntN(len(fields))
		names := focus.Names{
			Variable: func(r *heisen.Record) (focus.Variable, bool) {
				return fields[(int(r.Object/8)+shift)%len(fields)], r.Object%3 != 2
			},
			Lock: func(r *heisen.Record, _ focus.Variable, _ focus.Guard) (heisen.Object, bool) {
				return records[int(r.Object)%len(records)].Object, r.Object%5 != 0
			},
			Symbols: w.symbols,
		}
		for name, detector := range detectors {
			sink, full := collect()
			d := detector(sink)
			d.(heisen.RecordHandler).HandleRecords(records)
			for _, mode := range modes {
				sink, behind := collect()
				f := must.Make(focus.NewFilter(w.plan, detector(sink), names, focus.WithMode(mode)))
				f.HandleRecords(records)
				for p := range behind {
					compared++
					if !full[p] {
						t.Fatalf("seed %d, %s, mode %d: %+v only behind the filter\n%s", seed, name, mode, p, workload.Show(records))
					}
				}
			}
		}
		discoverer := must.Make(focus.NewDiscoverer(names.Variable))
		discoverer.HandleRecords(records)
		_ = discoverer.Flush() // a damaged stream may be reported
		discoverer.Discoveries()
	}
	if compared < 100 {
		t.Errorf("only %d places were compared", compared)
	}
}

// feed gives records to a detector in batches.
func feed(t testing.TB, d heisen.Detector, records []heisen.Record) {
	t.Helper()
	for batch := range slices.Chunk(records, 64) {
		if h, ok := d.(heisen.RecordHandler); ok {
			h.HandleRecords(batch)
			continue
		}
		for i := range batch {
			d.Handle(batch[i].Event())
		}
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestFilterOptions(t *testing.T) {
	variable := func(*heisen.Record) (focus.Variable, bool) { return focus.Variable{}, false }
	for _, test := range []struct {
		plan  *focus.Plan
		next  heisen.Detector
		names focus.Names
		opts  []focus.FilterOption
		want  error
	}{
		{nil, heisen.Tee(), focus.Names{Variable: variable}, nil, heisen.ErrOption},
		{&focus.Plan{}, nil, focus.Names{Variable: variable}, nil, heisen.ErrOption},
		{&focus.Plan{}, heisen.Tee(), focus.Names{}, nil, heisen.ErrOption},
		{&focus.Plan{}, heisen.Tee(), focus.Names{Variable: variable}, []focus.FilterOption{focus.WithMode(3)}, heisen.ErrOption},
		{&focus.Plan{}, heisen.Tee(), focus.Names{Variable: variable}, []focus.FilterOption{nil}, heisen.ErrOption},
		{&focus.Plan{Files: map[string]focus.File{"": {}}}, heisen.Tee(), focus.Names{Variable: variable}, nil, focus.ErrPlan},
		{&focus.Plan{}, heisen.Tee(), focus.Names{Variable: variable}, nil, nil},
	} {
		if f, err := focus.NewFilter(test.plan, test.next, test.names, test.opts...); !errors.Is(err, test.want) || (f == nil) != (err != nil) {
			t.Errorf("%+v: error %v, want %v", test, err, test.want)
		}
	}
}
