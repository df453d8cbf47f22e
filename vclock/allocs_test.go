package vclock_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/vclock"
)

// TestSteadyStateDoesNotAllocate repeats traces that a detector has seen: its
// shadow memory, clocks, read vectors and atomic histories are all there then.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	params := workload.Params{Threads: 70, Vars: 200, Events: 20000, Seed: 1}
	mixed := []heisen.Record{{TID: 1, Code: heisen.Free, Obj: 0, Val: 1 << 62}}
	for i := range heisen.Object(1000) {
		t := heisen.Thread(i % 7)
		mixed = append(mixed,
			heisen.Record{TID: t, Code: heisen.AtomicUpdate, Obj: 1<<20 + i%50*8},
			heisen.Record{TID: t, Code: heisen.Read, Obj: 1<<21 + i*3, Len: 20},
			heisen.Record{TID: t, Code: heisen.ReleaseShared, Obj: 1<<22 + i%10*64},
			heisen.Record{TID: t, Code: heisen.Acquire, Obj: 1<<22 + i%10*64},
			heisen.Record{TID: t, Code: heisen.Alloc, Obj: 1<<20 + i%7*64, Val: 64},
		)
	}
	for name, trace := range map[string][]heisen.Record{
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"thread-local":   workload.ThreadLocal(params),
		"read-shared":    workload.ReadShared(params),
		"mixed":          mixed,
	} {
		t.Run(name, func(t *testing.T) {
			// A finding is the one thing that allocates, so the repeated part
			// must have none: threads do not start or end again.
			var repeat []heisen.Record
			for _, r := range trace {
				if r.Code != heisen.Fork && r.Code != heisen.End && r.TID != 0 {
					repeat = append(repeat, r)
				}
			}
			races := 0
			d := vclock.NewFastTrack(func(heisen.Finding) { races++ })
			d.HandleRecords(trace)
			for range 20 {
				d.HandleRecords(repeat)
			}
			if n := testing.AllocsPerRun(10, func() { d.HandleRecords(repeat) }); n != 0 {
				t.Errorf("%v allocations in %d events", n, len(repeat))
			}
			if races != 0 {
				t.Errorf("%d findings", races)
			}
		})
	}
}
