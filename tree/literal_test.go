package tree_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/tree"
)

// TestLiteralLosesRaces has the least traces on which the thesis' version of the
// theorem fails. The default filter loses nothing on them.
func TestLiteralLosesRaces(t *testing.T) {
	for _, test := range []struct {
		name     string
		detector func(heisen.Sink) heisen.Detector
		trace    []heisen.Record
	}{
		{
			// Redundancy between threads: threads 1, 2 and 3 have equal
			// contexts, for what a thread was started with is not in it. What
			// is ordered after them differs.
			"a third thread", hybrid,
			[]heisen.Record{
				do(0, heisen.Fork, 1), do(0, heisen.Fork, 2), do(0, heisen.Fork, 3),
				at(1, 1, heisen.Read, x),
				at(1, 2, heisen.Read, x),
				at(1, 3, heisen.Read, x), // dropped
				do(0, heisen.Join, 1), do(0, heisen.Join, 2),
				at(2, 0, heisen.Write, x),
			},
		},
		{
			// The same, what is ordered before them differs.
			"a third thread, started earlier", hybrid,
			[]heisen.Record{
				do(0, heisen.Fork, 1),
				at(2, 0, heisen.Write, x),
				do(0, heisen.Fork, 2), do(0, heisen.Fork, 3),
				at(1, 2, heisen.Read, x),
				at(1, 3, heisen.Read, x),
				at(1, 1, heisen.Read, x), // dropped
			},
		},
		{
			// Locks order too, for happens-before: thread 1 has seen the first
			// write of thread 0, and not the second.
			"a lock that changes hands", reference,
			slices.Concat(
				[]heisen.Record{do(0, heisen.Fork, 1)},
				under(A, 0, at(1, 0, heisen.Write, x)),
				under(A, 1),
				under(A, 0, at(1, 0, heisen.Write, x)), // dropped
				[]heisen.Record{at(2, 1, heisen.Write, x)},
			),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if n := len(analyze(test.trace, test.detector, nil).pairs); n != 1 {
				t.Errorf("%d racy pairs of locations, want 1", n)
			}
			if n := len(analyze(test.trace, test.detector, tree.NewFilter, tree.WithThesisAlgorithm()).pairs); n != 0 {
				t.Errorf("%d racy pairs of locations behind the literal filter, want none", n)
			}
			if n := len(analyze(test.trace, test.detector, tree.NewFilter).pairs); n != 1 {
				t.Errorf("%d racy pairs of locations behind the filter, want 1", n)
			}
		})
	}
}

// TestThesisKey: accesses at one place to two variables, or of two types, do not stand for each other, which section 3.3 asks for and
// Algorithm 2 leaves out.
func TestThesisKey(t *testing.T) {
	for name, second := range map[string]heisen.Record{
		"another variable": at(1, 0, heisen.Write, y),
		"another type":     at(1, 0, heisen.Read, x),
	} {
		first := at(1, 0, heisen.Write, x)
		if second.Op == heisen.Read {
			first, second = second, first
		}
		trace := []heisen.Record{do(0, heisen.Fork, 1), first, second, at(2, 1, heisen.Read, second.Object), first, second}
		checkSame(t, name, droppedFrom(t, trace, tree.WithThesisAlgorithm()), []int{5, 6})
		if n := len(analyze(trace, hybrid, tree.NewFilter, tree.WithThesisAlgorithm()).pairs); n != 1 {
			t.Errorf("%s: %d racy pairs of locations, want 1", name, n)
		}
	}
}

// TestMessageOrderIsNotForLockEdges: the last of these traces is lost by
// MessageOrder as well.
func TestMessageOrderIsNotForLockEdges(t *testing.T) {
	trace := slices.Concat(
		[]heisen.Record{do(0, heisen.Fork, 1)},
		under(A, 0, at(1, 0, heisen.Write, x)),
		under(A, 1),
		under(A, 0, at(1, 0, heisen.Write, x)),
		[]heisen.Record{at(2, 1, heisen.Write, x)},
	)
	if n := len(analyze(trace, reference, tree.NewFilter, tree.WithMessageOrder()).pairs); n != 0 {
		t.Errorf("%d racy pairs of locations, want none", n)
	}
	if n := len(analyze(trace, hybrid, tree.NewFilter, tree.WithMessageOrder()).pairs); n != 1 {
		t.Errorf("hybrid: %d racy pairs of locations, want 1", n)
	}
}

// TestLockThatIsNoLock: who reads what was released through a lock while it is
// held sees an access that stands for one that it does not see. That cannot be
// known in advance, so the filter says it.
func TestLockThatIsNoLock(t *testing.T) {
	trace := slices.Concat(
		[]heisen.Record{do(0, heisen.Fork, 1)},
		under(A, 0, at(1, 0, heisen.Write, x)),
		[]heisen.Record{
			do(0, heisen.Acquire, A),
			at(1, 0, heisen.Write, x), // dropped
			do(1, heisen.Receive, A),
			do(0, heisen.Release, A),
			at(2, 1, heisen.Write, x),
		})
	if want := analyze(trace, reference, nil); len(want.pairs) != 1 || want.err != nil {
		t.Fatalf("%d racy pairs of locations, %v, want 1", len(want.pairs), want.err)
	}
	if got := analyze(trace, reference, tree.NewFilter); len(got.pairs) != 0 || !errors.Is(got.err, tree.ErrLockMisuse) {
		t.Errorf("%d racy pairs of locations, error %v, want none and ErrLock", len(got.pairs), got.err)
	}

	// Once it is known that the address is used so, nothing depends on it, and
	// nothing is lost.
	again := slices.Concat([]heisen.Record{do(2, heisen.Send, A)}, trace)
	if got := analyze(again, reference, tree.NewFilter); len(got.pairs) != 1 || got.err != nil {
		t.Errorf("%d racy pairs of locations, error %v, want 1", len(got.pairs), got.err)
	}
}

// TestFastTrackMayReportAnotherPair: FastTrack remembers the last write only, and
// a write that is redundant is not the last one any more. It still reports a race
// of the same variable, at the same access, and a true one.
func TestFastTrackMayReportAnotherPair(t *testing.T) {
	trace := slices.Concat(
		[]heisen.Record{do(0, heisen.Fork, 1)},
		under(A, 0, at(1, 0, heisen.Write, x)),
		under(A, 0, at(2, 0, heisen.Write, x)),
		under(A, 0, at(1, 0, heisen.Write, x)), // redundant
		[]heisen.Record{at(3, 1, heisen.Write, x)},
	)
	all := analyze(trace, fastTrack, nil)
	behind := analyze(trace, fastTrack, tree.NewFilter)
	pair := func(a, b heisen.Site) map[locations]bool {
		return map[locations]bool{{{heisen.Write, a}, {heisen.Write, b}}: true}
	}
	if !equalPairs(all.pairs, pair(1, 3)) || !equalPairs(behind.pairs, pair(2, 3)) {
		t.Errorf("FastTrack finds %v, behind the filter %v", all.pairs, behind.pairs)
	}
	if want := analyze(trace, reference, nil).pairs; len(want) != 2 || !equalPairs(analyze(trace, reference, tree.NewFilter).pairs, want) {
		t.Errorf("hb finds %v, which the filter changes", want)
	}
}

func equalPairs(a, b map[locations]bool) bool {
	for p := range a {
		if !b[p] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestEraserNeedsAllAccesses: who owns a variable depends on accesses that add nothing to races. Between the two equal writes of
// thread 0, which nothing orders before thread 1, the variable becomes shared.
func TestEraserNeedsAllAccesses(t *testing.T) {
	trace := []heisen.Record{
		at(1, 0, heisen.Write, x), // by one thread alone: needs no lock
		do(1, heisen.Acquire, A), at(2, 1, heisen.Write, x), do(1, heisen.Release, A),
		at(1, 0, heisen.Write, x), // shared now; dropped
	}
	eraser := func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithSink(s))) }
	if n := len(analyze(trace, eraser, nil).pairs); n != 1 {
		t.Errorf("%d violations, want 1", n)
	}
	if n := len(analyze(trace, eraser, tree.NewFilter).pairs); n != 0 {
		t.Errorf("%d violations behind the filter, want none", n)
	}
}

// TestPositionsAreThoseOfTheStream: what detectors say of positions does not
// depend on the filter.
func TestPositionsAreThoseOfTheStream(t *testing.T) {
	trace := slices.Concat(
		[]heisen.Record{do(0, heisen.Fork, 1)},
		under(A, 0, at(1, 0, heisen.Write, x)),
		under(A, 0, at(1, 0, heisen.Write, x)),
		under(A, 0, at(1, 0, heisen.Write, x), at(1, 0, heisen.Write, x), at(2, 0, heisen.Write, x)),
		[]heisen.Record{at(3, 1, heisen.Write, x)},
	)
	for name, d := range map[string]func(heisen.Sink) heisen.Detector{
		"hb": reference, "fasttrack": fastTrack, "hybrid": hybrid,
		"tee": func(s heisen.Sink) heisen.Detector { return heisen.Tee(reference(s), hybrid(s)) },
	} {
		found := 0
		f, err := tree.NewFilter(d(func(f heisen.Finding) {
			found++
			if at := f.Accesses[1].Index; at != uint64(len(trace)) {
				t.Errorf("%s: the race is at event %d, not %d", name, at, len(trace))
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		f.HandleRecords(trace[:8])
		for i := range trace[8:] {
			f.Handle(trace[8+i].Event())
		}
		if found == 0 {
			t.Errorf("%s has found nothing", name)
		}
	}
}
