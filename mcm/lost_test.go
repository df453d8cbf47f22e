package mcm_test

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/vclock"
)

// TestObservedRaces: two accesses that happens-before does not order, with BarrierPairs or
// without, are a race of the model, too, if what happens before them, and nothing else,
// shows their reads what they saw. There is no other reason why happens-before should have
// a race of a window that the model has not.
func TestObservedRaces(t *testing.T) {
	races, lost, paired := 0, 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		shape := workload.Small{
			Threads: 2 + rng.IntN(4), Events: 10 + rng.IntN(50), Vars: 1 + rng.IntN(6), Syncs: 1 + rng.IntN(4),
			Nested: rng.IntN(3) == 0,
		}
		if seed%4 > 0 {
			shape.Hidden = distinct(workload.Sets(rng, shape, 1+rng.IntN(6), false))
		}
		records := workload.Random(rng, shape)
		distinguish(records)
		m, err := mcm.NewModel(mcm.Window{Records: records}, mcm.Reaches(shape.Hidden))
		if err != nil {
			t.Fatal(err)
		}
		before := happensBefore(records, shape.Hidden)
		for j := range records {
			for i := range j {
				a, b := &records[i], &records[j]
				if a.TID == b.TID || a.Obj != b.Obj || !a.Code.Conflicts(b.Code) || before[j][i] {
					continue
				}
				past := func(k int) bool { return before[i][k] || before[j][k] }
				if !showsReads(records[:j], past) {
					lost++
					continue
				}
				races++
				if shape.Hidden != nil {
					paired++
				}
				verdict, _, err := m.Race(i, j)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if verdict != mcm.Possible {
					t.Errorf("seed %d: records %d and %d race in the observed order, and it is %v", seed, i, j, verdict)
					for k, r := range records {
						t.Logf("%2d T%d %v(%d,%d) %d", k, r.TID, r.Code, r.Obj, r.Len, r.Val)
					}
					return
				}
			}
		}
	}
	t.Logf("%d races, of them %d with BarrierPairs; of %d more a read is in the way", races, paired, lost)
	if paired < 1000 || races-paired < 1000 || lost < 1000 {
		t.Error("that says little")
	}
}

// distinguish gives messages and locks objects that nothing else has: what is used in
// several ways keeps its order, which is more than happens-before.
func distinguish(records []heisen.Record) {
	for k := range records {
		switch r := &records[k]; r.Code {
		case heisen.Send, heisen.Receive:
			r.Obj |= 1 << 50
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			r.Obj |= 1 << 51
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate: // that overlap have one address
			r.Len = 0
		}
	}
}

// distinct adds these objects to sets.
func distinct(sets *heisen.Symbols) *heisen.Symbols {
	more := heisen.NewSymbols()
	for n := 1; n < sets.NumReaches(); n++ {
		var spans []heisen.Span
		for _, s := range sets.Reach(heisen.Reach(n)) {
			spans = append(spans, s)
			if _, ok := s.Start.AsThread(); !ok {
				spans = append(spans, heisen.Span{Start: s.Start | 1<<50, Len: s.Len}, heisen.Span{Start: s.Start | 1<<51, Len: s.Len})
			}
		}
		more.AddReach(heisen.NewObjects(spans...))
	}
	return more
}

// happensBefore returns for each record which ones happen before it.
func happensBefore(records []heisen.Record, hidden *heisen.Symbols) (before [][]bool) {
	var options []vclock.Option
	if hidden != nil {
		options = append(options, vclock.BarrierPairs(hidden))
	}
	o := vclock.NewOrder(options...)
	var at []vclock.Epoch
	for i := range records {
		r := &records[i]
		o.Arrive(r)
		list := make([]bool, len(records))
		for k, e := range at {
			list[k] = o.Before(e, r.TID)
		}
		before = append(before, list)
		at = append(at, o.Touch(r.TID))
		o.Leave(r)
	}
	return before
}

// showsReads reports whether the reads among some of the records see the same writes
// without the others.
func showsReads(records []heisen.Record, in func(int) bool) bool {
	last := map[heisen.Object]int{}
	for i := range records {
		r := &records[i]
		if !r.Code.IsAccess() {
			continue
		}
		if k, ok := last[r.Obj]; ok && in(i) && r.Code != heisen.Write && r.Code != heisen.AtomicWrite && !in(k) {
			return false
		}
		if r.Code.IsWrite() {
			last[r.Obj] = i
		}
	}
	return true
}
