package atomicity_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// workloads are traces whose transactions are critical sections.
func workloads(events int) map[string][]heisen.Record {
	params := workload.Params{Threads: 8, Vars: 200, Events: events, Seed: 1}
	out := map[string][]heisen.Record{}
	for name, trace := range map[string][]heisen.Record{
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"thread-local":   workload.ThreadLocal(params),
		"read-shared":    workload.ReadShared(params),
	} {
		for _, r := range trace {
			if r.Op != heisen.Fork && r.Op != heisen.End && r.Op != heisen.Join {
				out[name] = append(out[name], r)
			}
		}
	}
	return out
}

// overlapping are transactions that overlap and of which each is after the others.
func overlapping() (trace []heisen.Record) {
	for i := range heisen.Object(200) {
		for t := range heisen.Thread(6) {
			trace = append(trace, heisen.Record{Thread: t, Op: heisen.Enter})
			for k := range heisen.Object(4) {
				trace = append(trace,
					heisen.Record{Thread: t, Op: heisen.Write, Object: 8 * (heisen.Object(t) + k + i%3)},
					heisen.Record{Thread: t, Op: heisen.Read, Object: 4096 + 8*k, Len: 16},
					heisen.Record{Thread: 7, Op: heisen.Write, Object: 8 * (i + k)},
					heisen.Record{Thread: 7, Op: heisen.Send, Object: 1 << 20},
					heisen.Record{Thread: t, Op: heisen.Receive, Object: 1 << 20})
			}
		}
		for t := range heisen.Thread(6) {
			trace = append(trace, heisen.Record{Thread: t, Op: heisen.Exit})
		}
	}
	return trace
}

// TestSteadyStateDoesNotAllocate repeats traces that a detector has seen.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	all := workloads(20000)
	all["overlapping"] = overlapping()
	for name, trace := range all {
		t.Run(name, func(t *testing.T) {
			bounds := atomicity.WithBoundaries(atomicity.Marked | atomicity.CriticalSections)
			detectors := map[string]heisen.RecordHandler{"serial": must.Make(atomicity.NewSerial(bounds))}
			if name != "overlapping" && name != "sync-heavy" { // Blocks makes a clock for each message
				detectors["blocks"] = must.Make(atomicity.NewBlocks(bounds))
			}
			for which, d := range detectors {
				for range 3 {
					d.HandleRecords(trace)
				}
				most := 0
				if which == "blocks" { // the order in which random transactions come matters to it
					most = len(trace) / 100
				}
				if n := testing.AllocsPerRun(5, func() { d.HandleRecords(trace) }); n > float64(most) {
					t.Errorf("%s: %v allocations per %d events", which, n, len(trace))
				}
			}
		})
	}
}

// BenchmarkDetectors measures traces whose critical sections are transactions.
func BenchmarkDetectors(b *testing.B) {
	bounds := atomicity.WithBoundaries(atomicity.Marked | atomicity.CriticalSections)
	all := workloads(100000)
	all["overlapping"] = overlapping()
	for _, name := range []string{"lock-protected", "overlapping", "read-shared", "sync-heavy", "thread-local"} {
		trace := all[name]
		for which, d := range map[string]heisen.RecordHandler{
			"serial": must.Make(atomicity.NewSerial(bounds)), "blocks": must.Make(atomicity.NewBlocks(bounds)),
		} {
			b.Run("workload="+name+"/detector="+which, func(b *testing.B) {
				d.HandleRecords(trace)
				measure.PerEvent(b, len(trace), func() error { d.HandleRecords(trace); return nil })
			})
		}
	}
}
