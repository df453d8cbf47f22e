package workload_test

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// TestValues replays the traces with values. Locks are exclusive, reads see the last written value,
// and threads run between their Begin and End. Each profile has its accesses without locks.
func TestValues(t *testing.T) {
	for name, f := range map[string]func(workload.Params) []heisen.Record{
		"mixed": workload.Mixed, "hot": workload.Hot, "locky": workload.Locky,
	} {
		t.Run(name, func(t *testing.T) {
			p := workload.Params{Threads: 4, Events: 1000, Seed: 7}
			records := f(p)
			if len(records) < 950 || len(records) > 1100 {
				t.Errorf("%d events", len(records))
			}
			if !slices.Equal(records, f(p)) {
				t.Error("two runs differ")
			}
			holder := map[heisen.Object]heisen.Thread{}
			held := map[heisen.Thread]int{}
			memory := map[heisen.Object]uint64{}
			running := map[heisen.Thread]bool{0: true}
			free, guarded := 0, 0
			for i, r := range records {
				if r.Op != heisen.Begin && !running[r.Thread] {
					t.Fatalf("event %d: thread %d does not run", i, r.Thread)
				}
				switch r.Op {
				case heisen.Begin:
					running[r.Thread] = true
				case heisen.End:
					running[r.Thread] = false
				case heisen.Join:
					if running[heisen.Thread(r.Object)] {
						t.Fatalf("event %d: joins a thread that runs", i)
					}
				case heisen.Acquire:
					if holder[r.Object] != 0 {
						t.Fatalf("event %d: lock is taken", i)
					}
					holder[r.Object] = r.Thread
					held[r.Thread]++
				case heisen.Release:
					if holder[r.Object] != r.Thread {
						t.Fatalf("event %d: lock is not held", i)
					}
					delete(holder, r.Object)
					held[r.Thread]--
				case heisen.Write:
					memory[r.Object] = r.Value
				case heisen.Read:
					if r.Value != memory[r.Object] {
						t.Fatalf("event %d: reads %d, which was not written", i, r.Value)
					}
				}
				if r.Op.IsAccess() {
					if r.Flags&heisen.HasValue == 0 {
						t.Fatalf("event %d: no value", i)
					}
					if held[r.Thread] > 0 {
						guarded++
					} else {
						free++
					}
				}
			}
			if free < 15 || guarded < 60 {
				t.Errorf("%d accesses without and %d with locks", free, guarded)
			}
		})
	}
}
