package lockset_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// TestSteadyStateDoesNotAllocate repeats traces that a detector has seen.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	params := workload.Params{Threads: 70, Vars: 200, Events: 20000, Seed: 1}
	var mixed []heisen.Record
	for i := range heisen.Object(1000) {
		t := heisen.Thread(i % 7)
		lock := 1<<22 + i%10*64
		mixed = append(mixed,
			heisen.Record{Thread: t, Op: heisen.AtomicUpdate, Object: 1<<20 + i%50*8},
			heisen.Record{Thread: t, Op: heisen.Send, Object: 1<<23 + i%5*64},
			heisen.Record{Thread: t, Op: heisen.AcquireShared, Object: lock},
			heisen.Record{Thread: t, Op: heisen.AcquireShared, Object: lock + 640},
			heisen.Record{Thread: t, Op: heisen.AcquireShared, Object: lock},
			heisen.Record{Thread: t, Op: heisen.Read, Object: 1<<21 + i*3, Len: 20},
			heisen.Record{Thread: t, Op: heisen.ReleaseShared, Object: lock},
			heisen.Record{Thread: t, Op: heisen.ReleaseShared, Object: lock},
			heisen.Record{Thread: t, Op: heisen.Read, Object: 1<<21 + i*3, Len: 20},
			heisen.Record{Thread: t, Op: heisen.ReleaseShared, Object: lock + 640},
			heisen.Record{Thread: t, Op: heisen.Alloc, Object: 1<<20 + i%7*64, Value: 64},
			heisen.Record{Thread: t, Op: heisen.Receive, Object: 1<<23 + i%5*64},
			// A lock that is locked for somebody else, and one that goes away.
			heisen.Record{Thread: t, Op: heisen.Acquire, Object: 1 << 24},
			heisen.Record{Thread: t + 1, Op: heisen.Release, Object: 1 << 24},
			heisen.Record{Thread: t, Op: heisen.Acquire, Object: 1<<20 + i%7*64},
		)
	}
	for name, trace := range map[string][]heisen.Record{
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"thread-local":   workload.ThreadLocal(params),
		"read-shared":    workload.ReadShared(params),
		"mixed":          mixed,
	} {
		var repeat []heisen.Record
		for _, r := range trace {
			if r.Op != heisen.Fork && r.Op != heisen.End && (r.Thread != 0 || name == "mixed") {
				repeat = append(repeat, r)
			}
		}
		for _, d := range []struct {
			name     string
			detector heisen.RecordHandler
		}{
			{"eraser", must.Make(lockset.NewEraser())},
			{"eraser by object", must.Make(lockset.NewEraser(lockset.WithObjectGranularity()))},
			{"hybrid", must.Make(lockset.NewHybrid())},
			{"hybrid, bounded", must.Make(lockset.NewHybrid(lockset.WithMaxAccesses(3)))},
		} {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				d.detector.HandleRecords(trace)
				for range 20 {
					d.detector.HandleRecords(repeat)
				}
				if n := testing.AllocsPerRun(10, func() { d.detector.HandleRecords(repeat) }); n != 0 {
					t.Errorf("%v allocations in %d events", n, len(repeat))
				}
			})
		}
	}
}
