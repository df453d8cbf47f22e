package happens

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestParallel has threads on all processors use one table. What they do to words under
// locks of their own is in order; of words without locks every thread but the first finds
// out.
func TestParallel(t *testing.T) {
	const threads, rounds, locked = 16, 3000, 8
	if err := Reserve(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var cells [2*locked + 1]Word // of locks, of what they protect, of what nothing protects
	var locks [locked]sync.Mutex
	var racy, wrong atomic.Uint32

	var first Thread
	table.Renew(&first, 0)
	sync1 := func(th *Thread, i, op int) {
		c := &cells[i].Cell
		synchronise(&table, th, c, uint64(8*i), uint32(op))
	}
	access := func(th *Thread, i int, kind uint32, found *atomic.Uint32) {
		c := &cells[i].Cell
		var races Races
		if !table.Access(th, c, uint64(8*i), 1, 1, kind, &races) {
			c.Unlock(table.AccessLocked(th, c, c.Lock(), uint64(8*i), 1, 1, kind, &races))
		}
		found.Add(races.Count)
	}
	var wg sync.WaitGroup
	for id := range threads {
		th := new(Thread)
		table.Fork(&first, th, uint32(id)+1)
		wg.Go(func() {
			for round := range rounds {
				i := (round*7 + id) % locked
				locks[i].Lock()
				sync1(th, i, Acquire)
				access(th, locked+i, Read, &wrong)
				access(th, locked+i, Write, &wrong)
				sync1(th, i, Release)
				locks[i].Unlock()
				if round%64 == 0 { // a child that ends, and whose slot others may have
					child := new(Thread)
					table.Fork(th, child, 1000)
					access(child, 2*locked, Read, &racy)
					table.End(child)
				}
			}
			access(th, 2*locked, Write, &racy)
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d false alarms", n)
	}
	if n := racy.Load(); n < threads-1 {
		t.Errorf("%d races of %d threads", n, threads)
	}
	if table.Full() || table.Crowded.Load() > 0 {
		t.Errorf("%d slots are in use", table.slots.Load())
	}
}
