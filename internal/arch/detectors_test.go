package arch

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/syncp"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// detectors makes one of each type that is a heisen.Detector, some in the ways that differ in this.
var detectors = map[string]func() heisen.Detector{
	"atomicity.Blocks":    func() heisen.Detector { return must.Make(atomicity.NewBlocks()) },
	"atomicity.Serial":    func() heisen.Detector { return must.Make(atomicity.NewSerial()) },
	"atomicity.Reduction": func() heisen.Detector { return must.Make(atomicity.NewReduction()) },
	"atomrace.Detector":   func() heisen.Detector { return must.Make(atomrace.NewDetector()) },
	"focus.Discoverer":    func() heisen.Detector { return must.Make(focus.NewDiscoverer(noVariable)) },
	"focus.Filter": func() heisen.Detector {
		return must.Make(focus.NewFilter(&focus.Plan{}, new(vclock.FastTrack), focus.Names{Variable: noVariable}))
	},
	"heal.Profiler":        func() heisen.Detector { return must.Make(heal.NewProfiler(heisen.NewSymbols())) },
	"lockset.Eraser":       func() heisen.Detector { return new(lockset.Eraser) },
	"lockset.Hybrid":       func() heisen.Detector { return new(lockset.Hybrid) },
	"lockset.LockOrder":    func() heisen.Detector { return new(lockset.LockOrder) },
	"mcm.Detector":         func() heisen.Detector { return must.Make(mcm.NewDetector()) },
	"syncp.Detector":       func() heisen.Detector { return must.Make(syncp.NewDetector()) },
	"trace.Stats":          func() heisen.Detector { return new(trace.Stats) },
	"tree.Filter":          func() heisen.Detector { return must.Make(tree.NewFilter(new(vclock.HappensBefore))) },
	"vclock.FastTrack":     func() heisen.Detector { return new(vclock.FastTrack) },
	"vclock.HappensBefore": func() heisen.Detector { return new(vclock.HappensBefore) },

	"lockset.Eraser, handing over": func() heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithHandOver())) },
	"vclock.FastTrack, with pairs": func() heisen.Detector {
		return must.Make(vclock.NewFastTrack(vclock.WithBarrierPairs(heisen.NewSymbols())))
	},
	"Tee": func() heisen.Detector { return heisen.Tee(new(vclock.FastTrack)) },
	"Filter": func() heisen.Detector {
		return heisen.Filter(new(vclock.FastTrack), func(heisen.Event) bool { return true })
	},
}

// otherwise has the types that are told in other ways: the writers by trace.ErrRecord and trace.ErrClosed,
// the Validator by its problems. The Printer prints what it is given.
var otherwise = map[string]bool{"trace.Printer": true, "trace.STDWriter": true, "trace.Validator": true, "trace.Writer": true}

func noVariable(*heisen.Record) (focus.Variable, bool) { return focus.Variable{}, false }

func TestDetectorsAreComplete(t *testing.T) {
	for _, m := range methods {
		typ := reflect.TypeOf(m.zero)
		name := typ.Elem().String()
		if typ.Implements(reflect.TypeFor[heisen.Detector]()) && detectors[name] == nil && !otherwise[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestDetectorsRefuse checks that no detector takes events whose op it does not know, or that come after
// the end of the stream, without a word, one by one and in batches.
func TestDetectorsRefuse(t *testing.T) {
	valid := []heisen.Record{{Op: heisen.Write, Object: 8, Len: 8}, {Op: heisen.Acquire, Object: 16}, {Op: heisen.Release, Object: 16}}
	wrong := []heisen.Record{{Op: heisen.Invalid}, {Op: heisen.Op(heisen.NumOps), Object: 8}, {Op: 255, Flags: 255, Object: 8}}
	for name, make := range detectors {
		for way, handle := range map[string]func(heisen.Detector, []heisen.Record){"batch": inBatch, "one by one": oneByOne} {
			d := make()
			handle(d, valid)
			if err := d.Flush(); err != nil {
				t.Errorf("%s, %s: valid events: %v", name, way, err)
			}
			handle(d, valid)
			if err := d.Flush(); !errors.Is(err, heisen.ErrFlushed) || errors.Is(err, heisen.ErrOp) {
				t.Errorf("%s, %s: events after Flush: error %v", name, way, err)
			}
			for i := range wrong {
				d = make()
				handle(d, valid)
				handle(d, wrong[i:i+1])
				handle(d, valid)
				err := d.Flush()
				if !errors.Is(err, heisen.ErrOp) || errors.Is(err, heisen.ErrFlushed) || strings.Count(err.Error(), "\n") > 0 {
					t.Errorf("%s, %s: op %d: error %v, want one line", name, way, wrong[i].Op, err)
				}
			}
		}
	}
}

func inBatch(d heisen.Detector, records []heisen.Record) {
	heisen.Tee(d).(heisen.RecordHandler).HandleRecords(records)
}

func oneByOne(d heisen.Detector, records []heisen.Record) {
	for i := range records {
		d.Handle(records[i].Event())
	}
}

// TestReleaseUnheld checks that a release of a lock that nobody holds is an error of those detectors that
// were told that they see the whole stream, also behind a Tee, and of no others; and never behind a filter
// that leaves out lock operations.
func TestReleaseUnheld(t *testing.T) {
	unheld := []heisen.Record{{Op: heisen.Acquire, Object: 8}, {Op: heisen.Release, Object: 8}, {Op: heisen.Release, Object: 8}}
	balanced := []heisen.Record{
		{Op: heisen.Acquire, Object: 8}, {Op: heisen.Release, Object: 8},
		{Op: heisen.Acquire, Object: 8}, {Op: heisen.Write, Object: 16, Site: 1}, {Op: heisen.Release, Object: 8},
		{Op: heisen.Acquire, Object: 8}, {Op: heisen.Write, Object: 16, Site: 1}, {Op: heisen.Release, Object: 8},
	}
	told := map[string]func() heisen.Detector{
		"vclock.FastTrack":     func() heisen.Detector { return must.Make(vclock.NewFastTrack(vclock.WithWholeStream())) },
		"vclock.HappensBefore": func() heisen.Detector { return must.Make(vclock.NewHappensBefore(vclock.WithWholeStream())) },
		"lockset.Eraser":       func() heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithWholeStream())) },
		"lockset.Hybrid":       func() heisen.Detector { return must.Make(lockset.NewHybrid(lockset.WithWholeStream())) },
		"lockset.LockOrder":    func() heisen.Detector { return must.Make(lockset.NewLockOrder(lockset.WithWholeStream())) },
	}
	after := func(d heisen.Detector, records []heisen.Record) error {
		_, err := heisen.Run(t.Context(), heisen.Slice(records), d)
		return err
	}
	for name, make := range detectors {
		if err := after(make(), unheld); err != nil {
			t.Errorf("%s, which was not told: %v", name, err)
		}
	}
	for name, make := range told {
		if err := after(make(), unheld); !errors.Is(err, heisen.ErrReleaseUnheld) || !errors.Is(err, trace.ErrReleaseUnheld) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := after(make(), balanced); err != nil {
			t.Errorf("%s, balanced: %v", name, err)
		}
		for _, dropped := range []heisen.Op{heisen.Acquire, heisen.Write} {
			filter := heisen.Filter(make(), func(e heisen.Event) bool { return e.Op() != dropped })
			if err := after(filter, balanced); err != nil {
				t.Errorf("%s behind a filter of each %v: %v", name, dropped, err)
			}
		}
		filter := must.Make(tree.NewFilter(make(), tree.WithoutBypass()))
		if err := after(filter, balanced); err != nil {
			t.Errorf("%s behind a filter: %v", name, err)
		}
		if s := filter.Stats(); name != "lockset.LockOrder" && s.DroppedAccesses+s.DroppedLocks == 0 {
			t.Errorf("%s: the filter leaves out nothing: %+v", name, s)
		}
	}
	writer := must.Make(trace.NewWriter(io.Discard, nil))
	if err := after(writer, unheld); err != nil {
		t.Errorf("a writer records what it is given: %v", err)
	}
}
