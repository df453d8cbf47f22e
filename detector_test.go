package heisen

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// capable is a detector that says what it takes locks for and what an event costs.
type capable struct {
	Detector
	use  LockUse
	cost time.Duration
}

func (c capable) LockUse() LockUse         { return c.use }
func (c capable) EventCost() time.Duration { return c.cost }

// TestTeeSaysWhatAllSay: of several detectors the one that needs more decides.
func TestTeeSaysWhatAllSay(t *testing.T) {
	order, sets := capable{use: LockOrder, cost: 3}, capable{use: LockSets, cost: 4}
	var mute struct{ Detector }
	for _, test := range []struct {
		detectors []Detector
		use       LockUse
		cost      time.Duration
	}{
		{nil, LockEvents, 0},
		{[]Detector{order}, LockOrder, 3},
		{[]Detector{order, order}, LockOrder, 6},
		{[]Detector{order, sets}, LockEvents, 7},
		{[]Detector{mute, order}, LockEvents, 0},
		{[]Detector{sets, mute}, LockEvents, 0},
	} {
		tee := Tee(test.detectors...)
		if use := tee.(LockUser).LockUse(); use != test.use {
			t.Errorf("%d detectors: locks are %d, want %d", len(test.detectors), use, test.use)
		}
		if cost := tee.(Coster).EventCost(); cost != test.cost {
			t.Errorf("%d detectors: an event costs %v, want %v", len(test.detectors), cost, test.cost)
		}
	}
}
