package section_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/section"
)

// TestTracker compares what a Tracker follows with what a Detector reports: exactly the
// passages that others come into, in a way that is not allowed, are violations.
func TestTracker(t *testing.T) {
	violated, quiet := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		sections := randomSections(rng)
		locator := section.Locator{Site: func(s heisen.Site) (string, int, string) { return "f.go", int(s), "" }, Folder: "/"}
		var events []heisen.Record
		inside := map[heisen.Thread]int{}
		for range 60 {
			r := heisen.Record{Thread: heisen.Thread(rng.IntN(3)), Object: heisen.Object(8 + 8*rng.IntN(2)), Site: heisen.Site(1 + rng.IntN(6))}
			switch n := rng.IntN(12); {
			case n < 1:
				r = heisen.Record{Thread: r.Thread, Op: heisen.Call}
				inside[r.Thread]++
			case n < 2 && inside[r.Thread] > 0:
				r = heisen.Record{Thread: r.Thread, Op: heisen.Return}
				inside[r.Thread]--
			case n < 3:
				r = heisen.Record{Thread: r.Thread, Op: heisen.Alloc, Object: r.Object, Value: 8}
			default:
				r.Op = []heisen.Op{heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicUpdate}[rng.IntN(4)]
			}
			events = append(events, r)
			if r.Op.IsAccess() {
				events = append(events, heisen.Record{Thread: r.Thread, Op: heisen.Done}) // nothing overlaps
			}
		}
		want := map[string]bool{}
		d, err := atomrace.NewDetector(atomrace.WithSink(func(f heisen.Finding) {
			if f.Kind == heisen.Atomicity {
				last := f.Accesses[len(f.Accesses)-1]
				want[fmt.Sprint(f.Accesses[0].Site, last.Site, last.Index)] = true
			}
		}), atomrace.WithSections(sections, locator), atomrace.WithDedup(0))
		if err != nil {
			t.Fatal(err)
		}
		d.HandleRecords(events)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		tracker, err := section.NewTracker(sections, locator, func(p section.Execution) {
			entry, end := p.Entry, p.End
			if entry != heisen.AccessOf(&events[entry.Index-1], entry.Index) || end != heisen.AccessOf(&events[end.Index-1], end.Index) ||
				entry.Thread != end.Thread || entry.Object != end.Object {
				t.Fatalf("seed %d: from %+v to %+v", seed, entry, end)
			}
			broken := slices.ContainsFunc(events[entry.Index:end.Index-1], func(r heisen.Record) bool {
				return r.Op.IsAccess() && r.Thread != end.Thread && r.Object == end.Object && p.Allow&section.ModeOf(r.Op) == 0
			})
			if broken {
				got[fmt.Sprint(entry.Site, end.Site, end.Index)] = true
			} else {
				quiet++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			tracker.Next(&events[i], uint64(i+1))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %v, want %v\nsections %+v\nevents %v", seed, got, want, sections, events)
		}
		violated += len(want)
	}
	if violated == 0 || quiet == 0 {
		t.Errorf("%d passages violated, %d not", violated, quiet)
	}
}

// randomSections returns sections between six lines.
func randomSections(rng *rand.Rand) (sections []section.Section) {
	mode := func() section.Modes { return []section.Modes{section.Reads, section.Writes}[rng.IntN(2)] }
	for range 1 + rng.IntN(3) {
		s := section.Section{Entry: section.Location{File: "f.go", Line: 1 + rng.IntN(6), Mode: mode()}, Above: rng.IntN(2)}
		for range 1 + rng.IntN(2) {
			s.Ends = append(s.Ends, section.End{At: section.Location{File: "f.go", Line: 1 + rng.IntN(6), Mode: mode()}, Allow: section.Modes(rng.IntN(3))})
		}
		switch rng.IntN(4) {
		case 0:
			s.Circular = true
			s.Ends = append(s.Ends, section.End{At: s.Entry, Allow: section.Modes(rng.IntN(3))})
		case 1:
			s.Recursive = true
		}
		if section.Check(append(sections, s)) == nil {
			sections = append(sections, s)
		}
	}
	return sections
}
