package fasttrack

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// operate acquires or releases the lock at addr, including the access to its word, as a program
// does.
func operate(t *Table, th *Thread, c *Cell, addr uint64, op uint32, races *Races) {
	if op <= AcquireShared && t.Reacquire(th, c, addr, op) || op == Release && t.ReleaseAgain(th, c, addr) {
		return
	}
	if op <= AcquireShared {
		synchronize(t, th, c, addr, op)
	}
	t.LockWord(th, c, addr, 2, races)
	if op > AcquireShared {
		synchronize(t, th, c, addr, op)
	}
}

// TestParallel has threads on all processors use one table. Accesses under locks, some of them
// shared, are ordered; on words without locks every thread but the first finds a race.
func TestParallel(t *testing.T) {
	const threads, rounds, locked = 16, 3000, 8
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var cells [2*locked + 1]Word // locks, what they protect, and an unprotected word
	var locks [locked]sync.RWMutex
	var racy, wrong atomic.Uint32

	var first Thread
	table.BeginEpoch(&first, 0)
	sync1 := func(th *Thread, i int, op uint32) {
		var races Races
		operate(&table, th, &cells[i].Cell, uint64(8*i), op, &races)
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
				if round%64 == 0 { // a child that ends, whose slot others may take over
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
	if table.Exhausted() || table.SlotSharers.Load() > 0 {
		t.Errorf("%d slots are in use", table.slots.Load())
	}
}

// TestParallelLoads has threads write words and then announce it by an atomic store, while other
// threads load that variable until they see the store. Those are ordered after the writes before
// the store and after nothing else.
func TestParallelLoads(t *testing.T) {
	const writers, readers, rounds = 3, 3, 20000
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var cells [writers*rounds + 2]Word // the data, the announcements, and a word that all threads access
	var announced atomic.Uint64
	var wrong, racy atomic.Uint32
	var first Thread
	table.BeginEpoch(&first, 0)
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
					table.Atomic(th, flag, addr, 1, AtomicWrite, func() { announced.Store(uint64(i + 1)) }, &races)
				}
			} else {
				for last, seen := uint64(0), 0; seen < rounds; {
					var now uint64
					table.Load(th, flag, addr, 1, func() { now = announced.Load() }, &races)
					if now == last {
						runtime.Gosched()
						seen++ // counts although nothing new was announced
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
		t.Error("unordered accesses count as ordered")
	}
}

// TestParallelBytes has few and many threads access words of which each byte has its own lock.
// Different threads hold the bytes of a word at the same time, and all accesses are ordered.
func TestParallelBytes(t *testing.T) {
	const locked, words = 5, 3
	for _, threads := range []int{3, 8, 30, 90} {
		t.Run(strconv.Itoa(threads), func(t *testing.T) {
			if err := ReserveMemory(); err != nil {
				t.Fatal(err)
			}
			var table Table
			var cells [locked + words + 1]Word // locks, what they protect, and a counter
			var locks [locked]sync.RWMutex
			var counter, wrong atomic.Uint32
			var first Thread
			table.BeginEpoch(&first, 0)
			var wg sync.WaitGroup
			for id := range threads {
				th := new(Thread)
				table.Fork(&first, th, uint32(id)+1)
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(threads), uint64(id)))
					var races Races
					found := func() { wrong.Add(races.Count); races.Count, races.Bytes = 0, 0 }
					locking := func(th *Thread, i int, op uint32) {
						operate(&table, th, &cells[i].Cell, uint64(8*i), op, &races)
						found()
					}
					inside := func(th *Thread, lock int, write bool) {
						for range rng.IntN(4) {
							// Lock i protects byte i, the last one also the others.
							mask, kind := uint32(1)<<lock, uint32(Read)
							if lock == locked-1 {
								mask = bytesMask &^ (1<<lock - 1) & (rng.Uint32() | 1<<(lock+rng.IntN(8-lock)))
							}
							if write && rng.IntN(3) == 0 {
								kind = Write
							}
							i := locked + rng.IntN(words)
							table.Access(th, &cells[i].Cell, uint64(8*i), uint64(1+rng.IntN(2)), mask, kind, &races)
							found()
						}
					}
					section := func(th *Thread) {
						lock := rng.IntN(locked)
						if rng.IntN(4) == 0 {
							locks[lock].Lock()
							locking(th, lock, Acquire)
							inside(th, lock, true)
							locking(th, lock, Release)
							locks[lock].Unlock()
							return
						}
						locks[lock].RLock()
						locking(th, lock, AcquireShared)
						inside(th, lock, false)
						locking(th, lock, ReleaseShared)
						locks[lock].RUnlock()
					}
					for range 100_000 / threads {
						section(th)
						switch c, addr := &cells[locked+words].Cell, uint64(8*(locked+words)); rng.IntN(200) {
						case 0:
							child := new(Thread)
							table.Fork(th, child, 1000)
							section(child)
							table.End(child)
						case 1, 2, 3:
							table.Atomic(th, c, addr, 3, AtomicUpdate, func() { counter.Add(1) }, &races)
						case 4, 5, 6:
							table.Load(th, c, addr, 4, func() { counter.Load() }, &races)
						}
						found()
					}
				})
			}
			wg.Wait()
			if n := wrong.Load(); n > 0 {
				t.Errorf("%d false alarms", n)
			}
			if table.Exhausted() {
				t.Error("memory ran out")
			}
		})
	}
}
