package intake_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
)

// run gives a Check records of lock 8, unless they say otherwise, and returns the error of its Flush.
func run(c *intake.Check, records ...heisen.Record) error {
	for i := range records {
		if records[i].Object == 0 {
			records[i].Object = 8
		}
		c.Take(&records[i], uint64(i+1))
	}
	return c.Flush()
}

func rec(op heisen.Op) heisen.Record { return heisen.Record{Op: op, Thread: 1} }

func TestReleases(t *testing.T) {
	const acq, rel, racq, rrel = heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared
	memory := heisen.Record{Op: heisen.Alloc, Value: 8}
	for _, c := range []struct {
		name    string
		records []heisen.Record
		want    string // of the error
	}{
		{"balanced", []heisen.Record{rec(acq), rec(rel), rec(racq), rec(racq), rec(rrel), rec(rrel)}, ""},
		{"by another thread", []heisen.Record{rec(acq), {Op: rel, Thread: 2}}, ""},
		{"at the start", []heisen.Record{rec(rel)}, "event 1, release by thread 1: release of a lock that nobody holds"},
		{"shared", []heisen.Record{rec(acq), rec(rel), rec(rrel)}, "event 3, release-shared by thread 1: release of a lock that nobody holds"},
		{"twice", []heisen.Record{rec(acq), rec(rel), rec(rel), rec(rel)}, "event 3, release by thread 1, and 1 more: release of a lock that nobody holds"},
		{"another lock", []heisen.Record{rec(acq), {Op: rel, Object: 16}}, "event 2, release by thread 0: release of a lock that nobody holds"},
		{"once too often shared", []heisen.Record{rec(racq), rec(rrel), rec(rrel)}, "event 3, release-shared by thread 1: release of a lock that nobody holds"},
		{"in the other mode", []heisen.Record{rec(acq), rec(rrel), rec(racq), rec(rel)}, ""},
		{"after a store to the lock", []heisen.Record{rec(acq), rec(heisen.AtomicWrite), rec(rel), rec(rel)}, ""},
		{"after its memory was allocated again", []heisen.Record{rec(acq), memory, rec(rel)}, "event 3, release by thread 1: release of a lock that nobody holds"},
		{"after its memory was freed", []heisen.Record{rec(racq), {Op: heisen.Free, Value: 8}, rec(racq), rec(rrel)}, ""},
	} {
		var check intake.Check
		check.CheckReleases()
		err := run(&check, c.records...)
		if got := text(err); got != c.want || c.want != "" && !errors.Is(err, heisen.ErrReleaseUnheld) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		var without, filtered intake.Check
		filtered.CheckReleases()
		filtered.Skipped(0)
		filtered.Skipped(1)
		if err := errors.Join(run(&without, c.records...), run(&filtered, c.records...)); err != nil {
			t.Errorf("%s: %v, although the stream is not known to be whole", c.name, err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A Check that was flushed refuses what comes after, and says so each time.
func TestAfterFlush(t *testing.T) {
	var c intake.Check
	r := rec(heisen.Read)
	if !c.Take(&r, 1) || c.Flush() != nil {
		t.Error("a valid event is refused")
	}
	for range 2 {
		if c.Take(&r, 2) {
			t.Error("an event after the end is taken")
		}
		if err := c.Flush(); !errors.Is(err, heisen.ErrFlushed) || errors.Is(err, heisen.ErrOp) ||
			text(err) != "event 2, read by thread 1: event after the end of the stream" {
			t.Errorf("Flush: %v", err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Errorf("Flush without events since: %v", err)
	}
}

func TestOps(t *testing.T) {
	var c intake.Check
	for _, op := range []heisen.Op{heisen.Invalid, heisen.Op(heisen.NumOps), 255} {
		r := rec(op)
		if c.Take(&r, 0) {
			t.Errorf("op %d is taken", op)
		}
	}
	if err := c.Flush(); !errors.Is(err, heisen.ErrOp) || text(err) != "op 0 by thread 1, and 2 more: op is not valid" {
		t.Errorf("Flush: %v", err)
	}
	for op := heisen.Invalid + 1; op.Valid(); op++ {
		c = intake.Check{}
		r := rec(op)
		if !c.Take(&r, 0) || c.Flush() != nil {
			t.Errorf("%v is refused", op)
		}
	}
}
