package happens

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestParallel has threads on all processors use one table. What they do to words under locks, some of which
// they have together with others to read, is in order; of words without locks every thread but the first finds
// out.
func TestParallel(t *testing.T) {
	const threads, rounds, locked = 16, 3000, 8
	if err := Reserve(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var cells [2*locked + 1]Word // of locks, of what they protect, of what nothing protects
	var locks [locked]sync.RWMutex
	var racy, wrong atomic.Uint32

	var first Thread
	table.Renew(&first, 0)
	sync1 := func(th *Thread, i int, op uint32) {
		c, addr := &cells[i].Cell, uint64(8*i)
		var races Races
		if op == AcquireShared && table.SharedAgain(th, c, addr) {
			return
		}
		if op <= AcquireShared {
			synchronise(&table, th, c, addr, op)
		}
		table.LockWord(th, c, addr, 2, &races)
		if op > AcquireShared {
			synchronise(&table, th, c, addr, op)
		}
		wrong.Add(races.Count)
	}
	access := func(th *Thread, i int, kind uint32, found *atomic.Uint32) {
		c := &cells[i].Cell
		var races Races
		table.Access(th, c, uint64(8*i), 1, 1, kind, &races)
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
				for range round % 8 {
					locks[i].RLock()
					sync1(th, i, AcquireShared)
					access(th, locked+i, Read, &wrong)
					sync1(th, i, ReleaseShared)
					locks[i].RUnlock()
				}
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

// TestParallelLoads has some threads write words and then say so in another one, with an atomic
// store, and others load that until they are told: they are ordered behind what was written, and
// behind nothing else.
func TestParallelLoads(t *testing.T) {
	const writers, readers, rounds = 3, 3, 20000
	if err := Reserve(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var cells [writers*rounds + 2]Word // of what is written; of who said so last; of a word of all
	var said atomic.Uint64
	var wrong, racy atomic.Uint32
	var first Thread
	table.Renew(&first, 0)
	flag, all := &cells[writers*rounds].Cell, &cells[writers*rounds+1].Cell
	const addr = 8 * writers * rounds
	var wg sync.WaitGroup
	for id := range writers + readers {
		th := new(Thread)
		table.Fork(&first, th, uint32(id)+1)
		wg.Go(func() {
			var races, found Races
			if id < writers {
				for i := id; i < writers*rounds; i += writers {
					table.Access(th, &cells[i].Cell, uint64(8*i), 1, 1, Write, &races)
					table.Atomic(th, flag, addr, 1, AtomicWrite, func() { said.Store(uint64(i + 1)) }, &races)
				}
			} else {
				for last, seen := uint64(0), 0; seen < rounds; {
					var now uint64
					table.Load(th, flag, addr, 1, func() { now = said.Load() }, &races)
					if now == last {
						runtime.Gosched()
						seen++ // also of those who are not told any more
						continue
					}
					last = now
					table.Access(th, &cells[now-1].Cell, 8*(now-1), 1, 1, Read, &races)
				}
			}
			table.Access(th, all, addr+8, 1, 1, Write, &found)
			wrong.Add(races.Count)
			racy.Add(found.Count)
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d false alarms", n)
	}
	if n := racy.Load(); n == 0 {
		t.Error("what nothing orders is in order")
	}
}
