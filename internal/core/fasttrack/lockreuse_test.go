package fasttrack

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// TestLockReuse is TestFirstRaces where threads take the same locks repeatedly and races are rare.
// An access that is not recorded, because the thread has made it before under the same lock, must
// still be found by threads that have acquired the lock in between.
func TestLockReuse(t *testing.T) {
	checkRandom(t, 3_000, 13, func(rng *rand.Rand) []heisen.Record { return lockTurns(rng, false) })
}

// TestUnownedRelease: if threads release locks of others, races with earlier accesses of those
// threads may be missed, but there are no false races.
func TestUnownedRelease(t *testing.T) {
	for seed := range uint64(randomtrials.Count(1_000)) {
		trace := lockTurns(rand.New(rand.NewPCG(seed, 14)), true)
		var less *missedError
		if err := checkSeeded(t, seed, trace); err != nil && !errors.As(err, &less) {
			t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
		}
	}
	const x, y, lock = 0, 8, 32
	checkDirected(t, []heisen.Record{
		{Op: heisen.Acquire, Thread: 1, Object: lock},
		{Op: heisen.Write, Thread: 1, Object: x},
		{Op: heisen.Release, Thread: 1, Object: lock},
		{Op: heisen.Acquire, Thread: 1, Object: lock},
		{Op: heisen.Write, Thread: 1, Object: x}, // redundant
		{Op: heisen.Release, Thread: 2, Object: lock},
		{Op: heisen.Write, Thread: 1, Object: x},
		{Op: heisen.Acquire, Thread: 2, Object: lock},
		{Op: heisen.Write, Thread: 2, Object: x}, // a race
		{Op: heisen.Release, Thread: 2, Object: lock},
		{Op: heisen.Acquire, Thread: 3, Object: lock},
		{Op: heisen.Write, Thread: 3, Object: y},
		{Op: heisen.Release, Thread: 3, Object: lock},
		{Op: heisen.Acquire, Thread: 3, Object: lock},
		{Op: heisen.Write, Thread: 3, Object: y},
		{Op: heisen.Release, Thread: 1, Object: lock}, // of an acquire long ago
		{Op: heisen.Acquire, Thread: 2, Object: lock},
		{Op: heisen.Write, Thread: 2, Object: y}, // a race
	})
}

// TestAcquireEndsReuse: a thread that has acquired a lock after another one released it is not
// ordered after what the latter does when it takes the lock again.
func TestAcquireEndsReuse(t *testing.T) {
	const x, message, lock = 0, 16, 32
	for _, take := range [][2]heisen.Op{{heisen.Acquire, heisen.Release}, {heisen.AcquireShared, heisen.ReleaseShared}} {
		for _, before := range []int{0, 2} {
			checkDirected(t, []heisen.Record{
				{Op: heisen.Send, Thread: 3, Object: message},
				{Op: heisen.Receive, Thread: 2, Object: message},
				{Op: heisen.Acquire, Thread: 2, Object: lock + 8},
				{Op: heisen.Release, Thread: 2, Object: lock + 8},
				{Op: take[0], Thread: 1, Object: lock},
				{Op: heisen.Read, Thread: 1, Object: x},
				{Op: take[1], Thread: 1, Object: lock},
				{Op: heisen.Acquire, Thread: 2, Object: lock},
				{Op: heisen.Release, Thread: 2, Object: lock},
				{Op: take[0], Thread: 1, Object: lock},
				{Op: heisen.Read, Thread: 1, Object: x},
				{Op: heisen.Write, Thread: 2, Object: x}, // a race
			}[before:])
		}
	}
}

// TestSlotTakeover: a thread that covers an epoch of a slot's present thread need not cover what an
// earlier thread of the slot had learned.
func TestSlotTakeover(t *testing.T) {
	const x = 0
	const message = 16 // to 40
	trace := []heisen.Record{
		{Op: heisen.Fork, Thread: 0, Object: 1},
		{Op: heisen.Fork, Thread: 0, Object: 2},
		{Op: heisen.Fork, Thread: 0, Object: 3},
		{Op: heisen.Write, Thread: 1, Object: x},
		{Op: heisen.Send, Thread: 1, Object: message},
		{Op: heisen.Receive, Thread: 2, Object: message},
		{Op: heisen.Send, Thread: 2, Object: message + 8},
		{Op: heisen.End, Thread: 2},
		{Op: heisen.Receive, Thread: 3, Object: message + 8},
		{Op: heisen.Fork, Thread: 0, Object: 4}, // has the slot of 2
		{Op: heisen.Send, Thread: 4, Object: message + 16},
		{Op: heisen.Receive, Thread: 3, Object: message + 16},
		{Op: heisen.Fork, Thread: 0, Object: 5},
		{Op: heisen.Receive, Thread: 5, Object: message + 16},
		{Op: heisen.Send, Thread: 5, Object: message + 24},
		{Op: heisen.Receive, Thread: 3, Object: message + 24},
		{Op: heisen.Read, Thread: 3, Object: x}, // in order, through 2
	}
	checkDirected(t, trace)
	for i := range trace {
		switch r := &trace[i]; r.Op {
		case heisen.Send:
			r.Op = heisen.AtomicWrite
		case heisen.Receive:
			r.Op = heisen.AtomicUpdate
		}
	}
	checkDirected(t, trace)
}

// TestSilentTakeover is TestSlotTakeover where the thread in between has published nothing: the next
// one need not have learned what the first one published.
func TestSilentTakeover(t *testing.T) {
	const x, message = 0, 16 // and 24
	checkDirected(t, []heisen.Record{
		{Op: heisen.Fork, Thread: 0, Object: 1},
		{Op: heisen.Fork, Thread: 0, Object: 2},
		{Op: heisen.Fork, Thread: 0, Object: 3},
		{Op: heisen.Write, Thread: 1, Object: x},
		{Op: heisen.Send, Thread: 1, Object: message},
		{Op: heisen.Receive, Thread: 2, Object: message},
		{Op: heisen.Send, Thread: 2, Object: message + 8},
		{Op: heisen.End, Thread: 2},
		{Op: heisen.Receive, Thread: 3, Object: message + 8},
		{Op: heisen.Fork, Thread: 3, Object: 4}, // has the slot of 2
		{Op: heisen.End, Thread: 4},
		{Op: heisen.Fork, Thread: 0, Object: 5}, // has it, too
		{Op: heisen.Receive, Thread: 5, Object: message + 8},
		{Op: heisen.Read, Thread: 5, Object: x}, // in order, through 2
	})
}

// checkDirected checks a trace of accesses to bytes.
func checkDirected(t *testing.T, trace []heisen.Record) {
	t.Helper()
	for i := range trace {
		trace[i].Len, trace[i].Site = 1, heisen.Site(i+1)
	}
	if err := checkTrace(t, trace); err != nil {
		t.Errorf("%v\n%s", err, show(trace))
	}
}

// lockTurns returns a trace of threads that take locks repeatedly and do little else. The variable
// of a lock is accessed under it, except near the end, where missing order shows. If wild is set,
// threads also release locks of others.
func lockTurns(rng *rand.Rand, wild bool) (trace []heisen.Record) {
	const threads, locks = 3, 2
	type hold struct {
		thread int
		shared bool
	}
	var holds [locks][]hold
	length := 10 + rng.IntN(50)
	id := 0
	add := func(code heisen.Op, o, n int) {
		trace = append(trace, heisen.Record{
			Op: code, Thread: heisen.Thread(id), Object: heisen.Object(o), Value: uint64(n) >> 3 << 3, Len: uint16(n & 7), Site: heisen.Site(len(trace) + 1),
		})
	}
	access := func(l int, write bool) {
		if write {
			add(heisen.Write, 8*l, 1)
		} else {
			add(heisen.Read, 8*l, 1)
		}
	}
	release := func(l, i int) {
		h := holds[l][i]
		holds[l] = slices.Delete(holds[l], i, i+1)
		if h.shared {
			add(heisen.ReleaseShared, 32+8*l, 1)
		} else {
			add(heisen.Release, 32+8*l, 1)
		}
	}
	for len(trace) < length {
		if rng.IntN(2) == 0 {
			id = rng.IntN(threads)
		}
		l := rng.IntN(locks) * rng.IntN(2)
		own := slices.IndexFunc(holds[l], func(h hold) bool { return h.thread == id })
		switch n := rng.IntN(24); {
		case own >= 0 && n < 12:
			if n < 8 {
				access(l, n < 4 && !holds[l][own].shared)
			}
			release(l, own)
		case n < 14:
			shared := rng.IntN(2) == 0
			if own >= 0 || slices.ContainsFunc(holds[l], func(h hold) bool { return !h.shared || !shared }) {
				break
			}
			holds[l] = append(holds[l], hold{id, shared})
			if shared {
				add(heisen.AcquireShared, 32+8*l, 1)
			} else {
				add(heisen.Acquire, 32+8*l, 1)
			}
			if n < 10 {
				access(l, n < 5 && !shared)
			}
			if n%2 == 0 {
				release(l, len(holds[l])-1)
			}
		case n < 17:
			switch rng.IntN(3) {
			case 0:
				add(heisen.Send, 48, 1)
			case 1:
				add(heisen.AtomicWrite, 56, 1)
			case 2:
				add(heisen.AtomicUpdate, 56, 1)
			}
		case n < 20:
			if rng.IntN(2) == 0 {
				add(heisen.Receive, 48, 1)
			} else {
				add(heisen.AtomicRead, 56, 1)
			}
		case n < 21 && wild && len(holds[l]) > 0:
			release(l, 0)
		case n < 22 && len(holds[l]) == 0: // the lock's memory is used for something else, then for a lock again
			add(heisen.Alloc, 32+8*l, 8)
		case wild || len(trace) > length-6:
			access(l, n == 23)
		}
	}
	return trace
}

// TestRefreshMovedEntry: while a thread looks for its read entry, between its loads of the head and
// of the entry, its own write entry may be moved there. The refresh must leave that a write of its
// epoch.
func TestRefreshMovedEntry(t *testing.T) {
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var word, message, alone Word
	var races Races
	var threads [3]Thread
	writer, reader, other := &threads[0], &threads[1], &threads[2]
	table.BeginEpoch(writer, 0)
	table.Fork(writer, reader, 1)
	table.Fork(writer, other, 2)
	read := func(th *Thread) { table.Access(th, &word.Cell, 0, 2, 1, Read, &races) }

	table.Access(writer, &word.Cell, 0, 1, 1, Write, &races)
	written := word.first.Load()
	synchronize(&table, writer, &message.Cell, 8, Send)
	for _, th := range []*Thread{reader, other} {
		synchronize(&table, th, &message.Cell, 8, Receive)
		read(th)
	}
	head := word.head.Load()
	synchronize(&table, reader, &alone.Cell, 16, Send)
	read(reader) // at the side where the write was
	if head == word.head.Load() || word.first.Load() != written {
		t.Fatal("the write was not moved")
	}
	if table.RefreshFound(writer, &word.Cell, &word.first, head, written, writer.Epoch|2) || word.first.Load() != written {
		t.Error("the write has become another one")
	}
	synchronize(&table, writer, &message.Cell, 8, Send)
	read(writer)
	for _, th := range []*Thread{reader, other} {
		read(th)
	}
	if races.Count > 0 {
		t.Errorf("false alarms: %v", races.At[:races.Count])
	}
}

// TestRefreshLockedCell: a cell may be locked just when a thread has refreshed its entry. The
// thread then records its access in another way and finds that entry. Its epoch has an access
// nevertheless and must be published.
func TestRefreshLockedCell(t *testing.T) {
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	var reader Thread
	var word, message Word
	var races Races
	table.BeginEpoch(&reader, 0)
	c := &word.Cell
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		for !done.Load() {
			c.Unlock(c.Lock())
		}
	})
	unnoticed := 0
	for range 1_000_000 {
		table.Access(&reader, c, 0, 1, 1, Read, &races)
		if word.first.Load() == reader.Epoch|1 && reader.lastAccess != reader.Epoch>>placeBits {
			unnoticed++
		}
		synchronize(&table, &reader, &message.Cell, 8, Send)
	}
	done.Store(true)
	wg.Wait()
	if unnoticed > 0 {
		t.Errorf("%d epochs have entries and count as empty", unnoticed)
	}
}
