package lockset_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// TestManyConnections: what the detectors store does not grow with the number of threads that have ended,
// although nobody waits for them.
func TestManyConnections(t *testing.T) {
	const first, rest = 60_000, 50_000
	for name, detector := range map[string]heisen.Detector{
		"eraser":    must.Make(lockset.NewEraser()),
		"hybrid":    must.Make(lockset.NewHybrid()),
		"lockorder": must.Make(lockset.NewLockOrder()),
	} {
		handle := func(batch []heisen.Record) { handleAll(detector, batch) }
		workload.Connections(0, first, handle)
		before := heap()
		workload.Connections(first, rest, handle)
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d bytes more after %d more threads", name, grown, 2*rest)
		}
		if err := detector.Flush(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
