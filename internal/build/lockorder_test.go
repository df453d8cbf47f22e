package build

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/lockset"
)

// TestLockOrderWithoutAccesses: in the modes that send what the order of locks depends on, a LockOrder has the same
// findings as with all events, with the same stacks and held locks. Those of one search may come in another order.
func TestLockOrderWithoutAccesses(t *testing.T) {
	const dir = "testdata/lockorder"
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "lockorder")
	if err := b.Build(t.Context(), dir, exe, nil, "."); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}[:tier.Pick(2, 4, 10)] {
		find := func(mode recorder.Mode) (found []lockOrderFinding, events int) {
			rec := record(t, run{exe: exe, args: []string{seed, "40"}, mode: mode})
			if rec.err != nil || rec.status != 0 {
				t.Fatal(rec.err, rec.status, rec.stderr)
			}
			return rec.lockOrder(t), len(rec.events)
		}
		want, all := find(recorder.Everything)
		total += len(want)
		for _, mode := range []recorder.Mode{recorder.LockOrder, recorder.RacesAndLockOrder} {
			got, sent := find(mode)
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("seed %s, mode %d (-want +got)\n%s", seed, mode, d)
			}
			if sent*2 > all {
				t.Errorf("seed %s, mode %d: %d of %d events were sent", seed, mode, sent, all)
			}
		}
	}
	if total < 100 {
		t.Errorf("only %d findings", total)
	}
}

// lockOrderFinding is a potential deadlock: its fingerprint, and for each goroutine the stack and where it has
// acquired the locks that it holds.
type lockOrderFinding struct {
	Fingerprint string
	Waits       []string // stacks
	Held        []string // where locks were acquired
	Parents     []string // where the goroutines were started
}

// lockOrder returns the potential deadlocks in a recording.
func (rec *recording) lockOrder(t *testing.T) (found []lockOrderFinding) {
	t.Helper()
	d := must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) {
		one := lockOrderFinding{Fingerprint: f.Fingerprint(rec.syms)}
		for _, a := range f.Accesses {
			one.Waits = append(one.Waits, linesIn(rec.syms.Stack(a.Site, a.Context)))
			for _, l := range rec.syms.Locks(a.Context) {
				one.Held = append(one.Held, linesIn(rec.syms.Site(l.Site).Frames))
			}
			one.Parents = append(one.Parents, linesIn(rec.syms.Site(rec.syms.Thread(a.Thread).Site).Frames))
		}
		found = append(found, one)
	})))
	if _, err := heisen.Run(context.Background(), heisen.Slice(rec.events), d); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found, func(a, b lockOrderFinding) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return found
}

// linesIn returns the lines of a stack.
func linesIn(frames []heisen.Frame) string {
	var lines []int
	for _, f := range frames {
		lines = append(lines, f.Line)
	}
	return fmt.Sprint(lines)
}
