package vclock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/vclock"
)

// compacting is a FastTrack that compacts its order every few events.
type compacting struct {
	*vclock.FastTrack
	every, events int
	exactly       bool
}

func (c *compacting) Handle(e heisen.Event) {
	if c.events++; c.events%c.every == 0 {
		c.CompactNow(c.exactly)
	}
	c.FastTrack.Handle(e)
}

// HandleRecords hides that of FastTrack.
func (c *compacting) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		c.Handle(batch[i].Event())
	}
}

// TestCompactionKeepsThePromise checks what FastTrack promises for random traces of many short threads,
// most of which nobody waits for, while it compacts its order all the time.
func TestCompactionKeepsThePromise(t *testing.T) {
	for _, kind := range []struct {
		name string
		workload.Small
		alive int
		joins bool
	}{
		{"words", workload.Small{Threads: 12, Events: 90, Vars: 3, Syncs: 3, LockWords: true}, 4, false},
		{"many threads", workload.Small{Threads: 40, Events: 200, Vars: 4, Syncs: 4}, 3, false},
		{"ranges", workload.Small{Threads: 12, Events: 90, Vars: 3, Syncs: 2, Ranges: true, LockWords: true}, 5, false},
		{"few sites", workload.Small{Threads: 20, Events: 120, Vars: 2, Syncs: 2, Sites: 3}, 4, false},
		{"joins", workload.Small{Threads: 20, Events: 120, Vars: 3, Syncs: 2}, 4, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			randomtrials.Each(t, 1000, func(seed uint64) error {
				rng := rand.New(rand.NewPCG(seed, 23))
				trace := workload.ShortLived(rng, kind.Small, kind.alive, kind.joins)
				if kind.joins { // so that compactions expect them
					join := heisen.Record{Op: heisen.Join, Object: 1 << 20, Site: 1}
					trace = append([]heisen.Record{join}, trace...)
				}
				every := 1 + rng.IntN(9)
				detector := func(s heisen.Sink) heisen.Detector {
					return &compacting{FastTrack: must.Make(vclock.NewFastTrack(vclock.WithSink(s))), every: every}
				}
				if err := promise(trace, detector, reference); err != nil {
					return fmt.Errorf("every %d events: %w\n%s", every, err, workload.Show(trace))
				}
				return nil
			})
		})
	}
}

// TestCompactionOfFamilies is the same for threads that mostly wait for their children, and so hand on their
// slots.
func TestCompactionOfFamilies(t *testing.T) {
	randomtrials.Each(t, 300, func(seed uint64) error {
		trace := randomFamily(seed, 150)
		for i := range trace {
			if r := &trace[i]; r.Op == heisen.Read || r.Op == heisen.Write {
				r.Object = 8 + r.Object%48
			}
		}
		join := heisen.Record{Op: heisen.Join, Object: 1 << 20, Site: 1}
		trace = append([]heisen.Record{join}, trace...)
		detector := func(s heisen.Sink) heisen.Detector {
			return &compacting{FastTrack: must.Make(vclock.NewFastTrack(vclock.WithSink(s))), every: 1 + int(seed*7%400)}
		}
		return promise(trace, detector, reference)
	})
}

// TestCompactionKeepsTenures: three threads have a slot in turn. The first has passed on what it learned of
// thread 4, and the main thread has learned of the second only. A compaction must not let it seem that it
// has learned the same from both.
func TestCompactionKeepsTenures(t *testing.T) {
	const variable, fromFour, fromFirst, fromSecond = 0x100, 0x200, 0x300, 0x400
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) { t.Errorf("%+v", f) })))
	d.HandleRecords([]heisen.Record{
		{Op: heisen.Fork, Object: 4},
		{Op: heisen.Fork, Object: 1},
		{Thread: 4, Op: heisen.Write, Object: variable},
		{Thread: 4, Op: heisen.Send, Object: fromFour},
		{Thread: 1, Op: heisen.Receive, Object: fromFour},
		{Thread: 1, Op: heisen.Send, Object: fromFirst},
		{Thread: 1, Op: heisen.End, Object: 1},
		{Op: heisen.Fork, Object: 2},
		{Thread: 2, Op: heisen.Send, Object: fromSecond},
		{Thread: 2, Op: heisen.End, Object: 2},
		{Op: heisen.Receive, Object: fromSecond},
		{Op: heisen.Free, Object: fromSecond, Value: 8},
		{Op: heisen.Fork, Object: 3},
	})
	if d.Slots() != 3 {
		t.Fatalf("%d slots", d.Slots())
	}
	d.CompactNow(false)
	d.HandleRecords([]heisen.Record{
		{Op: heisen.Receive, Object: fromFirst},
		{Op: heisen.Write, Object: variable},
	})
}

// TestCompactionOfAnyTrace is the same for traces in which threads begin without a Fork. If a trace uses
// threads that a compaction has dropped, FastTrack says so, and reports no pair that the reference lacks.
func TestCompactionOfAnyTrace(t *testing.T) {
	forRandomTraces(t, 1000, func(trace []heisen.Record) error {
		var d *compacting
		detector := func(s heisen.Sink) heisen.Detector {
			d = &compacting{FastTrack: must.Make(vclock.NewFastTrack(vclock.WithSink(s))), every: 4, exactly: true}
			return d
		}
		err := promise(trace, detector, reference)
		if !errors.Is(err, vclock.ErrEndedThread) {
			return err
		}
		return invented(trace, detector, reference)
	})
}

// TestCompactionWithBarrierPairs is the same with hidden calls.
func TestCompactionWithBarrierPairs(t *testing.T) {
	forHidden(t, 400, false, func(trace []heisen.Record, symbols *heisen.Symbols) error {
		fastTrack, reference := with(symbols)
		detector := func(s heisen.Sink) heisen.Detector {
			return &compacting{FastTrack: fastTrack(s).(*vclock.FastTrack), every: 3, exactly: true}
		}
		err := promise(trace, detector, reference)
		if !errors.Is(err, vclock.ErrEndedThread) {
			return err
		}
		return invented(trace, detector, reference)
	})
}

// invented reports a pair of a detector that the reference does not have.
func invented(trace []heisen.Record, detector, reference func(heisen.Sink) heisen.Detector) error {
	hb, err := findingsOf(trace, reference)
	if err != nil {
		return err
	}
	type places struct {
		earlier, later heisen.Site
		thread         heisen.Thread
	}
	known := map[places]bool{}
	for _, f := range hb {
		known[places{f.Accesses[0].Site, f.Accesses[1].Site, f.Accesses[0].Thread}] = true
	}
	found, _ := findingsOf(trace, detector)
	for _, f := range found {
		if !known[places{f.Accesses[0].Site, f.Accesses[1].Site, f.Accesses[0].Thread}] {
			return fmt.Errorf("not a race of the reference: %+v", f)
		}
	}
	return nil
}

// TestManyConnections: what a FastTrack stores does not grow with the number of threads that have ended,
// and it still finds a race with what a thread did last, long after its end.
func TestManyConnections(t *testing.T) {
	var found []heisen.Finding
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) { found = append(found, f) })))
	const early = 77
	d.HandleRecords([]heisen.Record{
		{Op: heisen.Fork, Object: early << 20, Site: 1},
		{Thread: early << 20, Op: heisen.Write, Object: 0x8000, Site: 20},
		{Thread: early << 20, Op: heisen.End, Object: early << 20},
	})
	most := 0
	for i := range 50 {
		workload.Connections(1000*i, 1000, d.HandleRecords)
		most = max(most, d.Slots())
	}
	threads, tenures, ranges := d.Order().Remembered()
	if most > 3000 || threads > 3000 || tenures > 3000 || ranges > 10 {
		t.Errorf("%d slots, %d threads, %d tenures, %d ranges", most, threads, tenures, ranges)
	}
	if len(found) > 0 {
		t.Fatalf("%+v", found[0])
	}
	d.HandleRecords([]heisen.Record{{Op: heisen.Write, Object: 0x8000, Site: 21}})
	if len(found) != 1 || found[0].Accesses[0].Thread != early<<20 || found[0].Accesses[0].Site != 20 {
		t.Errorf("findings: %+v", found)
	}
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
}

// TestEndlessWithBarrierPairs: what an order with barrier pairs stores does not grow with the number of
// threads that have ended either.
func TestEndlessWithBarrierPairs(t *testing.T) {
	const first, more, tolerance = 10_000, 60_000, 1 << 18
	d := must.Make(vclock.NewFastTrack(vclock.WithBarrierPairs(nil)))
	d.HandleRecords([]heisen.Record{{Op: heisen.Write, Object: 8}})
	d.Order().SetSealedLimit(100)
	heap := func() int {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	server := workload.NewServer(2)
	server.Run(first, d.HandleRecords)
	before := heap()
	server.Run(more, d.HandleRecords)
	if grown := heap() - before; grown > tolerance {
		t.Errorf("%d bytes more after %d more threads", grown, more)
	}
	if err := d.Flush(); err != nil && !errors.Is(err, vclock.ErrForgotten) {
		t.Error(err)
	}
}

// TestForgotten: if there are too many classes of accesses, a FastTrack forgets some and says so.
func TestForgotten(t *testing.T) {
	d := must.Make(vclock.NewFastTrack())
	d.HandleRecords([]heisen.Record{{Op: heisen.Write, Object: 8}})
	d.Order().SetSealedLimit(2)
	workload.Connections(0, 1000, d.HandleRecords)
	if err := d.Flush(); !errors.Is(err, vclock.ErrForgotten) {
		t.Errorf("%v", err)
	}
}

// TestTinyLimits: with hardly any slots for what ended threads did, FastTrack reports only pairs that race,
// and whenever it misses a variable that races, it says that it has forgotten something.
func TestTinyLimits(t *testing.T) {
	var forgotten, missed, found atomic.Int64
	randomtrials.Each(t, 600, func(seed uint64) error {
		rng := rand.New(rand.NewPCG(seed, 29))
		small := workload.Small{Threads: 10 + rng.IntN(30), Events: 150, Vars: 1 + rng.IntN(4), Syncs: 1 + rng.IntN(3), Ranges: rng.IntN(3) == 0, LockWords: rng.IntN(2) == 0}
		joins := rng.IntN(2) == 0
		trace := workload.ShortLived(rng, small, 2+rng.IntN(4), joins)
		if joins { // so that compactions expect them
			trace = append([]heisen.Record{{Op: heisen.Join, Object: 1 << 20, Site: 1}}, trace...)
		}
		type pair struct{ first, last heisen.Site }
		racy, variables := map[pair]bool{}, map[heisen.Object]bool{}
		all := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
			racy[pair{f.Accesses[0].Site, f.Accesses[1].Site}] = true
			variables[f.Object] = true
		})))
		for i := range trace {
			all.Handle(trace[i].Event())
		}
		if err := all.Flush(); err != nil {
			return err
		}
		sealed, perSlot := rng.IntN(4), rng.IntN(2)
		seen := map[heisen.Object]bool{}
		var wrong error
		d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) {
			seen[f.Object] = true
			if !racy[pair{f.Accesses[0].Site, f.Accesses[1].Site}] {
				wrong = fmt.Errorf("%v does not race\n%s", f, workload.Show(trace))
			}
		})))
		d.Order().SetTinyLimits(sealed, perSlot)
		d.HandleRecords(trace)
		err := d.Flush()
		found.Add(int64(len(seen)))
		if errors.Is(err, vclock.ErrForgotten) {
			forgotten.Add(1)
			if len(seen) < len(variables) {
				missed.Add(1)
			}
		} else if err != nil {
			return err
		} else if !small.Ranges && len(seen) < len(variables) {
			return fmt.Errorf("%d sealed: races in %d of %d variables, and no error\n%s", sealed, len(seen), len(variables), workload.Show(trace))
		}
		return wrong
	})
	if forgotten.Load() == 0 || found.Load() == 0 {
		t.Errorf("the limits are not reached: %d runs forget, %d of them miss a variable, %d variables in all", forgotten.Load(), missed.Load(), found.Load())
	}
}
