package fasttrack

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// event runs one event of a byte.
func (p *program) event(id heisen.Thread, op heisen.Op, at heisen.Object) {
	p.run([]heisen.Record{{Op: op, Thread: id, Object: at, Len: 1, Site: 1}})
}

// TestTails: children that nobody waits for access a word of their own after their last release.
// They need one slot, until there is no room for tails. Each of the accesses races with later ones,
// of the parent and of a later child, whether or not slots are reclaimed in between.
func TestTails(t *testing.T) {
	const lock, words, later = 0, 64, maxTails + 10
	for _, others := range []int{0, inlineSlots, blockSlots * (1 + nodeBlocks)} {
		for _, reclaimed := range []bool{false, true} {
			t.Run(fmt.Sprintf("others=%d,reclaimed=%v", others, reclaimed), func(t *testing.T) {
				p := newProgram(t)
				p.addOthers(others)
				races := map[heisen.Object]heisen.Thread{}
				p.found = func(_ int, at heisen.Object, _ heisen.Op, id heisen.Thread, _ uint64) { races[at] = id }
				child := func(id heisen.Thread, accesses ...heisen.Object) {
					p.event(0, heisen.Fork, heisen.Object(id))
					p.event(id, heisen.Acquire, lock)
					p.event(id, heisen.Write, lock+8)
					p.event(id, heisen.Release, lock)
					for _, at := range accesses {
						p.event(id, heisen.Write, at)
					}
					p.event(id, heisen.End, 0)
					p.event(0, heisen.Acquire, lock) // all but the tail
					p.event(0, heisen.Release, lock)
				}
				used := p.table.slots.Load()
				for id := heisen.Thread(1); id <= maxTails; id++ {
					child(id, words+8*heisen.Object(id))
				}
				if n := p.table.slots.Load() - used; n != 2 { // the parent's and the children's
					t.Errorf("%d slots for %d children", n, maxTails)
				}
				child(maxTails+1, words+8*(maxTails+1))
				child(maxTails+2, words+8*(maxTails+2))
				if n := p.table.slots.Load() - used; n != 3 {
					t.Errorf("%d slots when one has no room for tails", n)
				}
				if reclaimed {
					p.reclaim()
				}
				if len(races) != 0 {
					t.Fatalf("false alarms: %v", races)
				}
				for id := heisen.Thread(1); id <= maxTails+2; id++ {
					at := words + 8*heisen.Object(id)
					if id%2 == 0 {
						p.event(0, heisen.Write, at)
					} else {
						child(later+id, at)
					}
					if races[at] != id {
						t.Errorf("the race with the tail of thread %d was not found, but one with that of thread %d", id, races[at])
					}
				}
				if len(races) != maxTails+2 {
					t.Errorf("%d races", len(races))
				}
			})
		}
	}
}

// TestCollectedTails: a finalizer is ordered after tails before the last collection, and so is who
// learns from it; nobody else is, and nobody is ordered after later tails.
func TestCollectedTails(t *testing.T) {
	const lock, word, done = 0, 64, 128
	for _, reclaimed := range []int{0, 1, 2, 3} { // bits: after the first tail was noted, after the collection
		p := newProgram(t)
		races := 0
		p.found = func(int, heisen.Object, heisen.Op, heisen.Thread, uint64) { races++ }
		expect := func(what string, n int) {
			t.Helper()
			if races != n {
				t.Errorf("reclaimed %d: %s: %d races, want %d", reclaimed, what, races, n)
			}
			races = 0
		}
		child := func(id heisen.Thread, at heisen.Object) {
			p.event(0, heisen.Fork, heisen.Object(id))
			p.event(id, heisen.Write, at)
			p.event(id, heisen.End, 0)
		}
		finalizer, friend := heisen.Thread(100), heisen.Thread(101)
		p.thread(finalizer)
		p.thread(friend)
		child(1, word)
		child(2, word+8) // in the slot of child 1
		child(3, word+16)
		if p.table.ended.tails != 2 {
			t.Fatalf("%d tails", p.table.ended.tails)
		}
		p.table.Collect()
		if reclaimed&2 != 0 {
			p.reclaim()
		}
		child(4, word+24)
		child(5, word+32)
		if reclaimed&1 != 0 {
			p.reclaim()
		}
		p.table.AcquireCollected(p.thread(finalizer))
		p.event(finalizer, heisen.Write, word)
		p.event(finalizer, heisen.Read, word+8)
		p.event(finalizer, heisen.Read, word+16)
		expect("finalizer and tails before the collection", 0)
		p.event(finalizer, heisen.Read, word+24)
		p.event(finalizer, heisen.Read, word+32)
		expect("finalizer and tails after it", 2)
		p.event(0, heisen.Write, word+8)
		expect("parent", 2) // with the child and the finalizer
		p.event(finalizer, heisen.Send, done)
		p.event(friend, heisen.Receive, done)
		p.event(friend, heisen.Write, word+16)
		expect("who has learned from the finalizer", 0)
		p.event(friend, heisen.Write, word+24)
		expect("the same, and a tail after the collection", 1)
	}
}

// TestLapEnds: the accesses of threads whose times pass the ends of laps, where slots have tails and
// are reclaimed, are those of one thread as before.
func TestLapEnds(t *testing.T) {
	tails := uint32(0)
	for seed := range uint64(randomtrials.Count(1_000)) {
		rng := rand.New(rand.NewPCG(seed, 19))
		trace := shortLives(rng)
		rare := []int{3, 20, 1 << 30}[rng.IntN(3)]
		var used *program
		if err := checkProgram(t, trace, func(p *program) {
			used = p
			for s := range p.table.perSlot[:256] {
				p.table.perSlot[s].time.Store(1<<lapBits - 1 - rng.Uint32N(12))
			}
			p.addOthers([]int{0, inlineSlots - 3, blockSlots - 5}[rng.IntN(3)])
			p.between = func() {
				if rng.IntN(rare) == 0 {
					p.reclaim()
				}
			}
		}); err != nil {
			t.Fatalf("seed %d, slots reclaimed once in %d events: %v\n%s", seed, rare, err, show(trace))
		}
		tails += used.table.ended.tails
	}
	if tails == 0 {
		t.Error("there were no tails")
	}
}

// TestManyReleases: one thread passes through several laps and meets its own accesses and those of
// another.
func TestManyReleases(t *testing.T) {
	const word, lock = 64, 0
	p := newProgram(t)
	races := 0
	p.found = func(int, heisen.Object, heisen.Op, heisen.Thread, uint64) { races++ }
	p.thread(2)
	p.event(1, heisen.Write, word)
	p.event(1, heisen.Write, word+8)
	for range 3 << lapBits {
		p.event(1, heisen.Write, word+16)
		p.event(1, heisen.Send, lock)
	}
	p.event(1, heisen.Write, word)
	if time := p.threads[1].time(); time>>lapBits != 3 || races != 0 {
		t.Fatalf("time %d, %d races with itself", time, races)
	}
	p.event(2, heisen.Receive, lock)
	p.event(2, heisen.Write, word+8)
	p.event(2, heisen.Write, word+16)
	if races != 0 {
		t.Errorf("%d races with what was released", races)
	}
	p.event(2, heisen.Write, word)
	if races != 1 {
		t.Errorf("%d races with what was not released", races)
	}
}

// TestEndAfterCollection: what a thread did before a collection, after which it does nothing but end,
// is no tail.
func TestEndAfterCollection(t *testing.T) {
	const word = 64
	p := newProgram(t)
	races := 0
	p.found = func(int, heisen.Object, heisen.Op, heisen.Thread, uint64) { races++ }
	finalizer := heisen.Thread(100)
	p.thread(finalizer)
	p.event(0, heisen.Fork, 1)
	p.event(1, heisen.Write, word)
	slot := slotIndex(p.threads[1].Epoch)
	p.table.Collect()
	p.table.End(p.threads[1])
	p.event(0, heisen.Fork, 2)
	p.event(2, heisen.Write, word+8)
	if slotIndex(p.threads[2].Epoch) == slot {
		t.Error("the slot was handed on")
	}
	p.table.AcquireCollected(p.thread(finalizer))
	p.event(finalizer, heisen.Write, word)
	if races != 0 {
		t.Errorf("%d races of the finalizer with what came before the collection", races)
	}
	p.event(0, heisen.Write, word)
	if races != 1 {
		t.Errorf("%d races of the parent with the finalizer, want 1", races)
	}
}

// TestCollectedOrphans: a finalizer is ordered after what ended threads did before the collection,
// also if a reclamation before it has made orphans of these accesses, and so is who learns from it.
// Nobody else is.
func TestCollectedOrphans(t *testing.T) {
	const word, done = 0, 64
	for _, again := range []bool{false, true} { // another reclamation after the collection
		p := newProgram(t)
		races := 0
		p.found = func(_ int, _ heisen.Object, _ heisen.Op, other heisen.Thread, _ uint64) {
			if races++; other != 1 {
				t.Errorf("a race with thread %d", other)
			}
		}
		finalizer, friend := heisen.Thread(100), heisen.Thread(101)
		p.thread(finalizer)
		p.thread(friend)
		for at := range heisen.Object(4) {
			p.event(0, heisen.Fork, 1)
			p.event(1, heisen.Write, word+8*at)
			p.event(1, heisen.End, 0)
		}
		p.reclaim()
		p.table.Collect()
		if again {
			p.reclaim()
		}
		p.table.AcquireCollected(p.thread(finalizer))
		p.event(finalizer, heisen.Write, word)
		p.event(finalizer, heisen.Send, done)
		p.event(friend, heisen.Receive, done)
		p.event(friend, heisen.Write, word+8)
		if races != 0 {
			t.Errorf("reclaimed again %v: %d races of what is ordered", again, races)
		}
		p.event(0, heisen.Write, word+16)
		if races != 1 {
			t.Errorf("reclaimed again %v: %d races of the parent, want 1", again, races)
		}
		p.event(0, heisen.Fork, 2)
		p.event(2, heisen.Write, word+24)
		if races != 2 {
			t.Errorf("reclaimed again %v: %d races of another child, want 1 more", again, races)
		}
	}
}
