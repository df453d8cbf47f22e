package bench

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

var workloads = []struct {
	name     string
	generate func(workload.Params) []heisen.Record
	params   workload.Params
}{
	{"lock-protected", workload.LockProtected, workload.Params{Threads: 16, Vars: 4096}},
	{"sync-heavy", workload.SyncHeavy, workload.Params{Threads: 64, Vars: 64}},
	{"thread-local", workload.ThreadLocal, workload.Params{Threads: 16, Vars: 4096}},
	{"read-shared", workload.ReadShared, workload.Params{Threads: 16, Vars: 4096}},
}
