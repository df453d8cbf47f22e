package lockset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// TestTrackerIsNaive compares what each thread holds, after each event of random traces, with a naive
// version, and compacts the table from time to time.
func TestTrackerIsNaive(t *testing.T) {
	forRandomTraces(t, 500, func(trace []heisen.Record) error {
		table := locksets.NewTable()
		holds := locksets.NewTracker(table)
		naive := newNaiveHolds()
		for i := range trace {
			holds.Handle(&trace[i])
			naive.handle(&trace[i])
			for thread := range heisen.Thread(12) {
				got := holds.HeldBy(thread)
				any, exclusive := naive.held(thread)
				for _, c := range []struct {
					id   locksets.ID
					want lives
				}{{got.Any, any}, {got.Exclusive, exclusive}} {
					addresses := table.Locks(c.id)
					slices.Sort(addresses)
					if fmtObjects(addresses) != fmtObjects(c.want.addresses()) {
						return fmt.Errorf("event %d: thread %d holds %v, want %v", i+1, thread, addresses, c.want.addresses())
					}
				}
			}
			if i%13 == 0 {
				table.Compact(holds.KeepSets)
			}
		}
		return nil
	})
}

// locked is the accesses of a test about locks: by thread 1 under l, then by
// thread 2 under l.
func locked(between ...heisen.Record) []heisen.Record {
	return slices.Concat(
		[]heisen.Record{do(1, heisen.Acquire, l, 0), do(1, wr, x, 1)}, between,
		[]heisen.Record{do(2, heisen.Acquire, l, 0), do(2, wr, x, 2), do(2, heisen.Release, l, 0)},
	)
}

// TestLocksThatDoNotExclude checks that Hybrid reports a pair if anything except a release by the holder
// ends the hold of the common lock.
func TestLocksThatDoNotExclude(t *testing.T) {
	release := do(1, heisen.Release, l, 0)
	for name, test := range map[string]struct {
		trace []heisen.Record
		want  string
	}{
		"released by its holder":          {locked(release), ""},
		"taken twice, released twice":     {locked(do(1, heisen.Acquire, l, 0), release, do(1, wr, x, 3), release), ""},
		"taken twice, released once":      {locked(do(1, heisen.Acquire, l, 0), release), "(1,2)"},
		"another lock is released":        {locked(do(1, heisen.Release, m, 0), release), ""},
		"released out of order":           {locked(do(1, heisen.Acquire, m, 0), release, do(1, heisen.Release, m, 0)), ""},
		"released twice":                  {locked(release, release), "(1,2)"},
		"released by another thread":      {locked(do(3, heisen.Release, l, 0)), "(1,2)"},
		"released for reading":            {locked(do(1, heisen.ReleaseShared, l, 0)), "(1,2)"},
		"not released":                    {locked(), "(1,2)"},
		"the holder ends":                 {locked(do(1, heisen.End, 1, 0)), "(1,2)"},
		"its memory is freed":             {locked(heisen.Record{Thread: 1, Op: heisen.Free, Object: l - 8, Value: 16}), "(1,2)"},
		"its memory is another lock's":    {locked(release, heisen.Record{Thread: 2, Op: heisen.Alloc, Object: l, Value: 8}), "(1,2)"},
		"the next word is another lock's": {locked(release, heisen.Record{Thread: 2, Op: heisen.Alloc, Object: l + 8, Value: 8}), ""},
	} {
		found, err := findingsOf(test.trace, hybrid())
		if err != nil {
			t.Fatal(err)
		}
		if got := sitePairs(found); got != test.want {
			t.Errorf("%s: pairs %q, want %q", name, got, test.want)
		}
	}
}

// TestReadLocks checks that two shared holds do not exclude each other, and that an exclusive one
// excludes both kinds.
func TestReadLocks(t *testing.T) {
	under := func(t heisen.Thread, shared bool, op heisen.Op, site heisen.Site) []heisen.Record {
		if shared {
			return []heisen.Record{do(t, heisen.AcquireShared, l, 0), do(t, op, x, site), do(t, heisen.ReleaseShared, l, 0)}
		}
		return []heisen.Record{do(t, heisen.Acquire, l, 0), do(t, op, x, site), do(t, heisen.Release, l, 0)}
	}
	for _, test := range []struct {
		first, second bool // for reading
		want          string
	}{{true, true, "(1,2)"}, {true, false, ""}, {false, true, ""}, {false, false, ""}} {
		found, err := findingsOf(slices.Concat(under(1, test.first, wr, 1), under(2, test.second, rd, 2)), hybrid())
		if err != nil {
			t.Fatal(err)
		}
		if got := sitePairs(found); got != test.want {
			t.Errorf("for reading %v and %v: pairs %q, want %q", test.first, test.second, got, test.want)
		}
	}
}
