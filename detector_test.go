package heisen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// journal is what detectors have been called with, in order.
type journal []string

// single is a detector that takes events one at a time.
type single struct {
	name string
	to   *journal
	err  error
}

func (d single) Handle(e Event) {
	*d.to = append(*d.to, fmt.Sprintf("%s handles %d", d.name, e.Site()))
}

func (d single) Flush() error {
	*d.to = append(*d.to, d.name+" flushes")
	return d.err
}

// batched is a detector that takes batches, too.
type batched struct{ single }

func (d batched) HandleRecords(batch []Record) {
	line := d.name + " takes"
	for i := range batch {
		line += fmt.Sprintf(" %d", batch[i].Site)
	}
	*d.to = append(*d.to, line)
}

func sites(n int) []Record {
	batch := make([]Record, n)
	for i := range batch {
		batch[i].Site = Site(i + 1)
	}
	return batch
}

func TestTee(t *testing.T) {
	var got journal
	errA, errC := errors.New("a is incomplete"), errors.New("c is incomplete")
	d := Tee(
		single{"a", &got, errA},
		batched{single{"b", &got, nil}},
		batched{single{"c", &got, errC}},
	)
	batch := sites(2)
	d.Handle(batch[0].Event())
	d.(RecordHandler).HandleRecords(batch)
	err := d.Flush()
	want := journal{
		"a handles 1", "b handles 1", "c handles 1",
		"a handles 1", "a handles 2", "b takes 1 2", "c takes 1 2",
		"a flushes", "b flushes", "c flushes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.Is(err, errA) || !errors.Is(err, errC) {
		t.Errorf("the error is %v, want both of the detectors'", err)
	}
	if err := Tee().Flush(); err != nil {
		t.Errorf("a tee of nothing: %v", err)
	}
}

func TestFilterHandsOnRuns(t *testing.T) {
	var got journal
	d := Filter(batched{single{"d", &got, nil}}, func(e Event) bool { return e.Site()%4 != 0 })
	batch := sites(9)
	d.(RecordHandler).HandleRecords(batch)
	d.Handle(batch[2].Event())
	d.Handle(batch[3].Event())
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
	want := journal{"d takes 1 2 3", "d takes 5 6 7", "d takes 9", "d handles 3", "d flushes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// positions is a detector that notes the position of each event in the stream, as those do that are
// Skippers.
type positions struct {
	at  uint64
	got []uint64
}

func (p *positions) Handle(Event) {
	p.at++
	p.got = append(p.got, p.at)
}

func (p *positions) Skip(events uint64) { p.at += events }

func (p *positions) Flush() error { return nil }

// TestFilterKeepsPositions checks that a detector behind any number of filters knows the position of
// each event in the whole stream, one event at a time and in batches.
func TestFilterKeepsPositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := sites(rapid.IntRange(0, 50).Draw(t, "events"))
		d := &positions{}
		filtered := Detector(d)
		keeps := func(Site) bool { return true }
		for range rapid.IntRange(1, 3).Draw(t, "filters") {
			kept := rapid.SliceOfN(rapid.Bool(), len(stream), len(stream)).Draw(t, "kept")
			keep, inner := func(s Site) bool { return kept[s-1] }, keeps
			keeps = func(s Site) bool { return keep(s) && inner(s) }
			filtered = Filter(filtered, func(e Event) bool { return keep(e.Site()) })
			if rapid.Bool().Draw(t, "tee") {
				filtered = Tee(filtered)
			}
		}
		var want []uint64
		for i, r := range stream {
			if keeps(r.Site) {
				want = append(want, uint64(i+1))
			}
		}
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "batch")
			if n == 0 {
				n = 1
				filtered.Handle(rest[0].Event())
			} else {
				filtered.(RecordHandler).HandleRecords(rest[:n])
			}
			rest = rest[n:]
		}
		if !slices.Equal(d.got, want) {
			t.Fatalf("the detector got positions %v, want %v", d.got, want)
		}
	})
}

// recorder keeps the events it gets, by whichever way.
type recorder struct{ got []Record }

func (d *recorder) Handle(e Event)               { d.got = append(d.got, *AsRecord(e)) }
func (d *recorder) HandleRecords(batch []Record) { d.got = append(d.got, batch...) }
func (d *recorder) Flush() error                 { return nil }

// TestFilterKeeps: whatever is kept arrives, in order, asked once each, and
// without a batch that is empty.
func TestFilterKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := rapid.SliceOf(rapid.Bool()).Draw(t, "kept")
		batch := sites(len(kept))
		var want []Record
		for i, keep := range kept {
			if keep {
				want = append(want, batch[i])
			}
		}
		asked := 0
		keep := func(e Event) bool {
			asked++
			return kept[e.Site()-1]
		}
		var sink recorder
		Filter(&sink, keep).(RecordHandler).HandleRecords(batch)
		if !slices.Equal(sink.got, want) || asked != len(kept) {
			t.Fatalf("got %v after %d questions, want %v", sink.got, asked, want)
		}
		var calls journal
		Filter(batched{single{"d", &calls, nil}}, keep).(RecordHandler).HandleRecords(batch)
		if slices.Contains(calls, "d takes") {
			t.Fatalf("an empty batch among %q", calls)
		}
	})
}

// accessCounter counts the accesses of a stream; a detector is no more than this.
type accessCounter struct{ reads, writes int }

func (c *accessCounter) Handle(e Event) {
	switch {
	case e.Op().IsWrite():
		c.writes++
	case e.Op().IsAccess():
		c.reads++
	}
}

func (c *accessCounter) Flush() error { return nil }

func ExampleFilter() {
	var all, mine accessCounter
	d := Tee(&all, Filter(&mine, func(e Event) bool { return e.Thread() == 1 }))
	for _, r := range []Record{
		{Op: Write, Thread: 0, Object: 8},
		{Op: Read, Thread: 1, Object: 8},
		{Op: AtomicUpdate, Thread: 1, Object: 16},
	} {
		d.Handle(r.Event())
	}
	fmt.Println("all:", all.reads, all.writes)
	fmt.Println("of thread 1:", mine.reads, mine.writes)
	// Output:
	// all: 1 2
	// of thread 1: 1 1
}

// capable is a detector that declares its LockUse.
type capable struct {
	Detector
	use LockUse
}

func (c capable) LockUse() LockUse { return c.use }

// TestTeeLockUse checks that detectors that differ get all lock operations, and that a Filter has the
// LockUse of its detector.
func TestTeeLockUse(t *testing.T) {
	order, sets := capable{use: LocksAsOrder}, capable{use: LocksAsSets}
	var mute struct{ Detector }
	for _, test := range []struct {
		detectors []Detector
		use       LockUse
	}{
		{nil, LocksAsEvents},
		{[]Detector{order}, LocksAsOrder},
		{[]Detector{order, order}, LocksAsOrder},
		{[]Detector{order, sets}, LocksAsEvents},
		{[]Detector{mute, order}, LocksAsEvents},
		{[]Detector{sets, mute}, LocksAsEvents},
	} {
		tee := Tee(test.detectors...)
		if use := tee.(LockUser).LockUse(); use != test.use {
			t.Errorf("%d detectors: locks are %d, want %d", len(test.detectors), use, test.use)
		}
		filter := Filter(tee, func(Event) bool { return true })
		if use := filter.(LockUser).LockUse(); use != test.use {
			t.Errorf("a filter in front of %d detectors: locks are %d, want %d", len(test.detectors), use, test.use)
		}
	}
}

// TestNilDetectors checks that nothing panics on a detector, a function or a source that is nil.
func TestNilDetectors(t *testing.T) {
	var got recorder
	batch := sites(3)
	for name, d := range map[string]Detector{
		"Tee":                 Tee(nil, &got, nil),
		"Filter without keep": Filter(&got, nil),
		"Filter of a tee":     Filter(Tee(nil, &got), func(Event) bool { return true }),
	} {
		got.got = nil
		d.Handle(batch[0].Event())
		d.(RecordHandler).HandleRecords(batch[1:])
		if err := d.Flush(); err != nil || !slices.Equal(got.got, batch) {
			t.Errorf("%s: %d of %d events, error %v", name, len(got.got), len(batch), err)
		}
	}
	discards := Filter(nil, func(Event) bool { return true })
	discards.Handle(batch[0].Event())
	if err := discards.Flush(); err != nil {
		t.Error(err)
	}
	got.got = nil
	if events, err := Run(context.Background(), Slice(batch), nil, &got); err != nil || events != 3 || len(got.got) != 3 {
		t.Errorf("Run: %d events, error %v", events, err)
	}
	flushed := &flushCounter{}
	//lint:ignore SA1012 a nil context must not panic
	if events, err := Run(nil, Slice(batch), flushed); !errors.Is(err, ErrOption) || events != 0 || flushed.flushed != 1 {
		t.Errorf("Run without a context: %d events, error %v, flushed %d times", events, err, flushed.flushed)
	}
	if events, err := Run(context.Background(), Slice(nil), nil); err != nil || events != 0 {
		t.Errorf("Run of nothing: %d events, error %v", events, err)
	}
	if _, err := Run(context.Background(), nil, &got); !errors.Is(err, ErrOption) {
		t.Errorf("Run without a source: error %v", err)
	}
}

// strange is an Event that Record.Event did not make.
type strange struct{}

func (strange) Op() Op         { return Write }
func (strange) Thread() Thread { return 3 }
func (strange) Object() Object { return 8 }
func (strange) Site() Site     { return 5 }

func TestAnyEvent(t *testing.T) {
	var a, b recorder
	d := Tee(&a, Filter(&b, func(e Event) bool { return e.Op() == Write }))
	d.Handle(strange{})
	want := Record{Op: Write, Thread: 3, Object: 8, Site: 5}
	for _, got := range [][]Record{a.got, b.got} {
		if !slices.Equal(got, []Record{want}) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
