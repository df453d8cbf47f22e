package workload

import "github.com/heisen-go/heisen"

// A Workload is a trace that the benchmarks of several packages share.
type Workload struct {
	Name     string // the value in benchmark names: workload=Name
	Generate func(Params) []heisen.Record
	Params   Params
}

// Events returns the trace of the workload with at least the given number of events. It has no
// races.
func (w Workload) Events(events int) []heisen.Record {
	p := w.Params
	p.Events, p.Seed = events, 1
	return w.Generate(p)
}

// Shared returns the workloads on which all detectors and filters are compared.
func Shared() []Workload {
	return []Workload{
		{"lock-protected", LockProtected, Params{Threads: 16, Vars: 4096}},
		{"sync-heavy", SyncHeavy, Params{Threads: 64, Vars: 64}},
		{"thread-local", ThreadLocal, Params{Threads: 16, Vars: 4096}},
		{"read-shared", ReadShared, Params{Threads: 16, Vars: 4096}},
	}
}
