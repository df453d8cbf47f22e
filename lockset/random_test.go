package lockset_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// kinds of random traces: few threads and objects, so that everything meets.
var kinds = []struct {
	name string
	workload.Small
}{
	{"words", workload.Small{Threads: 4, Events: 50, Vars: 3, Syncs: 3}},
	{"ranges", workload.Small{Threads: 4, Events: 50, Vars: 3, Syncs: 3, Ranges: true, LockWords: true}},
	{"lives", workload.Small{Threads: 4, Events: 60, Vars: 3, Syncs: 3, Ranges: true, Lives: true, LockWords: true}},
	{"same sites", workload.Small{Threads: 3, Events: 60, Vars: 2, Syncs: 2, Lives: true, Sites: 4}},
	{"nested", workload.Small{Threads: 3, Events: 70, Vars: 2, Syncs: 3, Nested: true, LockWords: true}},
	{"crowd", workload.Small{Threads: 12, Events: 80, Vars: 1, Syncs: 1, Sites: 2}},
	{"many threads", workload.Small{Threads: 12, Events: 70, Vars: 2, Syncs: 2}},
	{"wild", workload.Small{Threads: 5, Events: 60, Vars: 3, Syncs: 2, Ranges: true, Lives: true, Wild: true, LockWords: true}},
}

// forRandomTraces calls check with n random traces of each kind, on all cores.
func forRandomTraces(t *testing.T, n int, check func(trace []heisen.Record) error) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			randomtrials.Each(t, n, func(seed uint64) error {
				trace := workload.Random(rand.New(rand.NewPCG(seed, 17)), kind.Small)
				if err := check(trace); err != nil {
					return fmt.Errorf("%w\n%s", err, workload.Show(trace))
				}
				return nil
			})
		})
	}
}

// accessOf is what a finding says of an event.
func accessOf(r *heisen.Record, index uint64) heisen.Access {
	a := heisen.AccessOf(r, index)
	a.Op = r.Access()
	return a
}

func fmtObjects(objects []heisen.Object) string { return fmt.Sprint(objects) }

// findingsOf runs a detector over a trace.
func findingsOf(trace []heisen.Record, detector func(heisen.Sink) heisen.Detector) ([]heisen.Finding, error) {
	var all []heisen.Finding
	d := detector(func(f heisen.Finding) { all = append(all, f) })
	_, err := heisen.Run(context.Background(), heisen.Slice(trace), d)
	return all, err
}

// TestMain lets the garbage collector rest: the tests make many short-lived
// detectors.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// compacting is a detector that compacts every few events.
type compacting struct {
	heisen.Detector
	compact func()
	every   int // 0 is 3
	events  int
}

func (c *compacting) Handle(e heisen.Event) {
	if c.events++; c.events%cmp.Or(c.every, 3) == 0 {
		c.compact()
	}
	c.Detector.Handle(e)
}

// handleAll hands a trace to a detector, event by event.
func handleAll(d heisen.Detector, trace []heisen.Record) {
	for i := range trace {
		d.Handle(trace[i].Event())
	}
}
