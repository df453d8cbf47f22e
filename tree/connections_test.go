package tree_test

import (
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// TestManyConnections: what a filter stores does not grow with the number of threads that have ended.
func TestManyConnections(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	const first, rest = 20_000, 50_000
	for name, options := range map[string][]tree.FilterOption{
		"default":       {tree.WithoutBypass()},
		"message order": {tree.WithoutBypass(), tree.WithMessageOrder()},
	} {
		filter, err := tree.NewFilter(heisen.Tee(), options...)
		if err != nil {
			t.Fatal(err)
		}
		if name == "message order" {
			tree.LimitContexts(filter, 1<<14)
		}
		workload.Connections(0, first, filter.HandleRecords)
		before := heap()
		workload.Connections(first, rest, filter.HandleRecords)
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d bytes more after %d more threads", name, grown, 2*rest)
		}
		if err := filter.Flush(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
