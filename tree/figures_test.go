package tree_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/tree"
)

const (
	x heisen.Object = 0x1000
	y heisen.Object = 0x1008
	// A and B are locks, m is for messages.
	A heisen.Object = 0x2000
	B heisen.Object = 0x2040
	m heisen.Object = 0x3000
)

func lock(i int) heisen.Object { return 0x4000 + 64*heisen.Object(i) }

func do(t heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
	return heisen.Record{Thread: t, Op: op, Object: o}
}

func at(site heisen.Site, t heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
	return heisen.Record{Thread: t, Op: op, Object: o, Site: site}
}

// under returns records between the acquisition and the release of a lock.
func under(lock heisen.Object, t heisen.Thread, inner ...heisen.Record) []heisen.Record {
	return slices.Concat([]heisen.Record{do(t, heisen.Acquire, lock)}, inner, []heisen.Record{do(t, heisen.Release, lock)})
}

// forwarded is a detector that records the events that it gets.
type forwarded struct{ records []heisen.Record }

func (k *forwarded) Handle(e heisen.Event) { k.records = append(k.records, *heisen.AsRecord(e)) }
func (k *forwarded) Flush() error          { return nil }

// filter returns the filter, after the trace, and the events that it forwarded.
func filter(t testing.TB, trace []heisen.Record, options ...tree.FilterOption) (*tree.Filter, []heisen.Record) {
	t.Helper()
	var k forwarded
	f, err := tree.NewFilter(&k, options...)
	if err != nil {
		t.Fatal(err)
	}
	f.HandleRecords(trace)
	return f, k.records
}

// droppedFrom returns the numbers, from 1, of the events of a trace that a filter
// drops.
func droppedFrom(t testing.TB, trace []heisen.Record, options ...tree.FilterOption) (dropped []int) {
	t.Helper()
	var k forwarded
	f, err := tree.NewFilter(&k, options...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range trace {
		before := len(k.records)
		if f.Handle(trace[i].Event()); len(k.records) == before {
			dropped = append(dropped, i+1)
		}
	}
	return dropped
}

func checkSame[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestFigure31: two loops, each with a lock of its own. One write of each loop
// is enough for the race.
func TestFigure31(t *testing.T) {
	trace := []heisen.Record{do(0, heisen.Fork, 1)}
	for range 10 {
		trace = append(trace, under(A, 0, at(1, 0, heisen.Write, x))...)
	}
	for range 10 {
		trace = append(trace, under(B, 1, at(2, 1, heisen.Write, x))...)
	}
	for name, options := range map[string][]tree.FilterOption{"default": nil, "MessageOrder": {tree.WithMessageOrder()}, "Literal": {tree.WithThesisAlgorithm()}} {
		f, _ := filter(t, trace, options...)
		// By the default, thread 0's first write after the second thread came is
		// forwarded too, had there been one; here there is none.
		checkSame(t, name+": dropped", f.Stats().DroppedAccesses, 18)
		for _, d := range []func(heisen.Sink) heisen.Detector{reference, fastTrack, hybrid} {
			checkSame(t, name+": racy locations", len(analyze(trace, d, tree.NewFilter, options...).pairs), 1)
		}
	}
}

// TestFigure32 is redundancy within a thread: the lexical location of the write
// is always the same, what differs are the locks.
func TestFigure32(t *testing.T) {
	const reading, writing, other heisen.Site = 1, 2, 6
	trace := []heisen.Record{do(0, heisen.Fork, 1)}
	write := at(writing, 0, heisen.Write, x)
	for i := range 10 {
		guard := A
		if i >= 5 {
			guard = B
		}
		trace = append(trace, under(guard, 0, write)...)
		trace = append(trace, at(reading, 0, heisen.Read, x), write)
	}
	trace = append(trace, under(A, 1, at(other, 1, heisen.Write, x))...)
	for name, options := range map[string][]tree.FilterOption{"MessageOrder": {tree.WithMessageOrder()}, "Literal": {tree.WithThesisAlgorithm()}} {
		f, _ := filter(t, trace, options...)
		// What stays: the write under A, under B and under none, and the read;
		// and the other thread's write.
		checkSame(t, name+": forwarded", f.Stats().Accesses-f.Stats().DroppedAccesses, 5)
		got := analyze(trace, hybrid, tree.NewFilter, options...).pairs
		checkSame(t, name+": racy locations", len(got), 2)
	}
}

// TestFigure33 is redundancy between threads, as the thesis has it.
func TestFigure33(t *testing.T) {
	var trace []heisen.Record
	var last []int // events at the location of the started threads
	for i := 1; i < 10; i++ {
		id := heisen.Thread(i)
		trace = append(trace, at(1, 0, heisen.Read, x), do(0, heisen.Fork, heisen.Object(i)))
		trace = append(trace, under(A, 0, at(3, 0, heisen.Write, x))...)
		if write := at(5, id, heisen.Write, x); i < 5 {
			trace = append(trace, under(A, id, write)...)
			last = append(last, len(trace)-1)
		} else {
			trace = append(trace, write)
			last = append(last, len(trace))
		}
	}
	// Two threads with A and two without are forwarded.
	checkSame(t, "dropped", droppedFrom(t, trace, tree.WithThesisAlgorithm()), slices.Concat(last[2:4], last[6:]))
	want := analyze(trace, hybrid, nil).pairs
	checkSame(t, "racy locations", len(want), 3)
	checkSame(t, "racy locations behind the literal filter", len(analyze(trace, hybrid, tree.NewFilter, tree.WithThesisAlgorithm()).pairs), 3)
}

// figure34 is the trace of Figure 3.4.
func figure34() (trace []heisen.Record) {
	for i := 1; i <= 3; i++ {
		trace = append(trace, do(0, heisen.Fork, heisen.Object(i)))
	}
	for i := 1; i <= 3; i++ {
		trace = append(trace, under(lock(i), 0, at(1, 0, heisen.Write, x))...)
		trace = append(trace, at(2, 0, heisen.Read, x))
	}
	for i := 1; i <= 3; i++ {
		id := heisen.Thread(i)
		trace = append(trace, under(lock(i), id, at(3, id, heisen.Write, x))...)
		trace = append(trace, at(4, id, heisen.Write, x))
	}
	return trace
}

// TestFigure34 counts the races of the trace by their definition: not ordered by
// messages, and no common lock. The thesis says that there are 27 in total, and
// six pairs of locations; its list of them has 39, when each is counted once,
// and leaves out the six between ③ of one thread and ④ of another, which are a
// seventh pair of locations.
func TestFigure34(t *testing.T) {
	trace := figure34()
	checkSame(t, "events", len(trace), 27)
	locksAt := map[int]heisen.Object{}
	for i := range trace {
		if trace[i].Op.IsAccess() && trace[i-1].Op == heisen.Acquire {
			locksAt[i+1] = trace[i-1].Object
		}
	}
	races, listed := map[[2]int]bool{}, 0
	places, listedPlaces := map[[2]heisen.Site]bool{}, map[[2]heisen.Site]bool{}
	for i := range trace {
		for j := i + 1; j < len(trace); j++ {
			a, b := &trace[i], &trace[j]
			if a.Thread == b.Thread || !a.Op.Conflicts(b.Op) {
				continue
			}
			if l := locksAt[i+1]; l != 0 && l == locksAt[j+1] {
				continue
			}
			races[[2]int{i + 1, j + 1}] = true
			p := [2]heisen.Site{min(a.Site, b.Site), max(a.Site, b.Site)}
			places[p] = true
			if p != [2]heisen.Site{3, 4} {
				listed++
				listedPlaces[p] = true
			}
		}
	}
	checkSame(t, "races", len(races), 45)
	checkSame(t, "races that the thesis lists", listed, 39)
	checkSame(t, "pairs of locations", len(places), 7)
	checkSame(t, "pairs of locations that the thesis lists", len(listedPlaces), 6)
	checkSame(t, "pairs of locations that the hybrid detector finds", len(analyze(trace, hybrid, nil).pairs), 7)
	for name, options := range map[string][]tree.FilterOption{"default": nil, "MessageOrder": {tree.WithMessageOrder()}, "Literal": {tree.WithThesisAlgorithm()}} {
		checkSame(t, "pairs of locations behind "+name, len(analyze(trace, hybrid, tree.NewFilter, options...).pairs), 7)
	}

	// Section 3.5: what is pruned.
	checkSame(t, "dropped by Literal", droppedFrom(t, trace, tree.WithThesisAlgorithm()), []int{11, 15, 27})
	checkSame(t, "dropped by MessageOrder", droppedFrom(t, trace, tree.WithMessageOrder()), []int{11, 15})
	checkSame(t, "dropped by default", droppedFrom(t, trace), nil)
}

// TestFigure35 is Γ at each location.
func TestFigure35(t *testing.T) {
	trace := figure34()
	f, _ := filter(t, nil, tree.WithThesisAlgorithm())
	want := map[heisen.Site][]string{
		1: {"[g1 g2 g3 L4]", "[g1 g2 g3 L5]", "[g1 g2 g3 L6]"},
		2: {"[g1 g2 g3]", "[g1 g2 g3]", "[g1 g2 g3]"},
		3: {"[L4]", "[L5]", "[L6]"},
		4: {"[]", "[]", "[]"},
	}
	got := map[heisen.Site][]string{}
	for i := range trace {
		f.Handle(trace[i].Event())
		if r := &trace[i]; r.Op.IsAccess() {
			got[r.Site] = append(got[r.Site], fmt.Sprint(tree.Gamma(f, r.Thread)))
		}
	}
	checkSame(t, "Γ by location", got, want)
}

// TestFigure36 is Θ of each location in the end.
func TestFigure36(t *testing.T) {
	f, _ := filter(t, figure34(), tree.WithThesisAlgorithm())
	for loc, want := range map[heisen.Site][]string{
		1: {"g1→g2→g3→L4 [0]", "g1→g2→g3→L5 [0]", "g1→g2→g3→L6 [0]"},
		2: {"g1→g2→g3 [0]"},
		3: {"L4 [1]", "L5 [2]", "L6 [3]"},
		4: {" [1 2]"},
	} {
		checkSame(t, fmt.Sprint("Θ of location ", loc), tree.Theta(f, loc), want)
	}
}

// TestFigure37 is span redundancy: five times over an array, without
// synchronisation.
func TestFigure37(t *testing.T) {
	const length, i = 20, 0x8000
	var trace []heisen.Record
	for range 5 {
		for j := range heisen.Object(length) {
			trace = append(trace, at(1, 0, heisen.Write, x+8*j), at(2, 0, heisen.Write, i))
		}
	}
	var k forwarded
	f, err := tree.NewSpanFilter(&k)
	if err != nil {
		t.Fatal(err)
	}
	f.HandleRecords(trace)
	checkSame(t, "forwarded", len(k.records), length+1)
	checkSame(t, "dropped of the array", f.Stats().DroppedAccesses-(5*length-1), 4*length)
}
