package build

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestHeldLocks: the locks of the earlier access of a race are those that its goroutine held then, as
// long as it has not made too many operations on locks since. Then their number is known, and
// where they were acquired.
func TestHeldLocks(t *testing.T) {
	const dir = "testdata/heldlocks"
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "heldlocks")
	if err := b.Build(t.Context(), dir, exe, nil, "."); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		seed, many string
		some       bool // the locks of some accesses are known
	}{{"1", "0", true}, {"2", "0", true}, {"3", "40", true}, {"4", "70", false}} {
		t.Run(test.seed, func(t *testing.T) {
			t.Parallel()
			rec := record(t, run{exe: exe, args: []string{test.seed, test.many}, mode: recorder.Races})
			if rec.err != nil || rec.status != 0 {
				t.Fatal(rec.err, rec.status, rec.stderr)
			}
			rec.checkHeldLocks(t, test.some)
		})
	}
}

// checkHeldLocks compares the locks of the findings with those that the program prints.
func (rec *recording) checkHeldLocks(t *testing.T, some bool) {
	held := map[string][]string{} // by variable, in the order of acquisition
	for line := range strings.Lines(rec.stdout) {
		fields := strings.Fields(line)
		for i := 1; i+1 < len(fields); i += 2 {
			held[fields[0]] = append(held[fields[0]], fields[i]+" "+fields[i+1])
		}
		if len(fields) == 1 {
			held[fields[0]] = nil
		}
	}
	found := map[string]bool{}
	known, lost := 0, 0
	for _, f := range rec.found {
		at := fmt.Sprintf("%#x", uint64(f.Accesses[0].Object))
		found[at] = true
		for _, a := range f.Accesses {
			locks := rec.syms.Locks(a.Context)
			if a.Thread == 0 {
				if len(locks) > 0 {
					t.Errorf("the main goroutine holds %v", locks)
				}
				continue
			}
			want := held[at]
			var got []string
			for _, l := range locks {
				got = append(got, fmt.Sprintf("%#x %v", uint64(l.Lock), l.Shared))
			}
			switch isLost := func(l heisen.HeldLock) bool { return rec.syms.Name(l.Lock) == "(address unknown)" }; {
			case len(got) != len(want):
				t.Errorf("%s: %d locks, not %d", at, len(got), len(want))
			case slices.ContainsFunc(locks, isLost):
				if slices.ContainsFunc(locks, func(l heisen.HeldLock) bool { return !isLost(l) || l.Site == 0 }) ||
					strings.Count(fmt.Sprint(got), "true") != strings.Count(fmt.Sprint(want), "true") {
					t.Errorf("%s: %v, want %v", at, locks, want)
				}
				lost++
			default:
				slices.Sort(got)
				if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", at, got, want)
				}
				if len(got) > 0 {
					known++
				}
			}
		}
	}
	if len(held) != 900 || len(found) != len(held) {
		t.Errorf("races of %d variables, want %d", len(found), len(held))
	}
	if lost == 0 || (known > 0) != some {
		t.Errorf("%d sets of locks are known and %d lost", known, lost)
	}
}
