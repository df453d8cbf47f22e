package focus_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// compacting compacts a detector after each of some events.
type compacting struct {
	heisen.Detector
	compact func()
	every   int
	events  int
}

func (c *compacting) Handle(e heisen.Event) {
	c.Detector.Handle(e)
	if c.events++; c.events%c.every == 0 {
		c.compact()
	}
}

// TestCompactionChangesNothing: the findings of a Filter, what it leaves out, and what a Discoverer
// finds are the same if they forget what they do not need.
func TestCompactionChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		w := newWorld(seed, 2+int(seed%9))
		records := w.run(400)
		every := 1 + int(seed%7)
		filter := func(compacts bool) (found []string, dropped uint64) {
			f := must.Make(focus.NewFilter(w.plan, heisen.Tee(), focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols},
				focus.WithSink(func(f heisen.Finding) { found = append(found, fmt.Sprint(f, f.Locks)) })))
			var d heisen.Detector = f
			if compacts {
				d = &compacting{Detector: f, compact: f.CompactNow, every: every}
			}
			feed(t, d, records)
			return found, f.Dropped()
		}
		want, wantDropped := filter(false)
		got, gotDropped := filter(true)
		if diff := cmp.Diff(want, got); diff != "" || wantDropped != gotDropped {
			t.Fatalf("seed %d: %d left out, want %d; findings (-want +got)\n%s", seed, gotDropped, wantDropped, diff)
		}
		discover := func(compacts bool) []focus.Discovery {
			discoverer := must.Make(focus.NewDiscoverer(w.variable))
			var d heisen.Detector = discoverer
			if compacts {
				d = &compacting{Detector: discoverer, compact: discoverer.CompactNow, every: every}
			}
			feed(t, d, records)
			return discoverer.Discoveries()
		}
		if diff := cmp.Diff(discover(false), discover(true)); diff != "" {
			t.Fatalf("seed %d: discoveries (-without +with compaction)\n%s", seed, diff)
		}
	}
}
