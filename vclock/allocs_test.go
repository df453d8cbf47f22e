package vclock_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/vclock"
)

// TestSteadyStateDoesNotAllocate repeats traces that a detector has seen: its
// shadow memory, clocks, read vectors and atomic histories are all there then.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	params := workload.Params{Threads: 70, Vars: 200, Events: 20000, Seed: 1}
	mixed := []heisen.Record{{Thread: 1, Op: heisen.Free, Object: 0, Value: 1 << 62}}
	for i := range heisen.Object(1000) {
		t := heisen.Thread(i % 7)
		mixed = append(mixed,
			heisen.Record{Thread: t, Op: heisen.AtomicUpdate, Object: 1<<20 + i%50*8},
			heisen.Record{Thread: t, Op: heisen.Read, Object: 1<<21 + i*3, Len: 20},
			heisen.Record{Thread: t, Op: heisen.ReleaseShared, Object: 1<<22 + i%10*64},
			heisen.Record{Thread: t, Op: heisen.Acquire, Object: 1<<22 + i%10*64},
			heisen.Record{Thread: t, Op: heisen.Alloc, Object: 1<<20 + i%7*64, Value: 64},
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
				if r.Op != heisen.Fork && r.Op != heisen.End && r.Thread != 0 {
					repeat = append(repeat, r)
				}
			}
			races := 0
			d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
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
