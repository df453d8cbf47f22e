package fasttrack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// TestReaders is TestFirstRaces and TestReclaim for tables that many short-lived threads read, with
// writes that are ordered after all of these reads, after some, or after none.
func TestReaders(t *testing.T) {
	made, moved := uint32(0), uint32(0)
	for seed := range uint64(randomtrials.Count(3_000)) {
		trace := crowdOfReaders(rand.New(rand.NewPCG(seed, 19)))
		others := []int{0, blockSlots - 5, blockSlots}[seed%3]
		var used *program
		err := checkProgram(t, trace, func(p *program) {
			used = p
			p.addOthers(others)
			p.table.gatherAlways = seed%4 < 3
			if seed%2 == 0 {
				return
			}
			rng := rand.New(rand.NewPCG(seed, 20))
			p.between = func() {
				if rng.IntN(60) == 0 {
					before := p.table.readers.made.Load()
					p.reclaim()
					moved += min(before, p.table.readers.made.Load())
				}
			}
		})
		if err != nil {
			t.Fatalf("seed %d, %d other threads: %v\n%s", seed, others, err, show(trace))
		}
		made += used.table.readers.made.Load()
	}
	if made == 0 || moved == 0 {
		t.Errorf("%d sets of readers were in use at the end, and %d were moved", made, moved)
	}
}

// readersProgram is a program in which thread 0 has written a table and started others.
func readersProgram(t *testing.T, threads int) (p *program, do func(id int, op heisen.Op, at, n int), raced map[heisen.Object][]heisen.Thread) {
	p, raced = newProgram(t), map[heisen.Object][]heisen.Thread{}
	p.table.gatherAlways = true
	p.found = func(_ int, at heisen.Object, _ heisen.Op, id heisen.Thread, _ uint64) {
		raced[at] = append(raced[at], id)
	}
	do = func(id int, op heisen.Op, at, n int) {
		p.run([]heisen.Record{{Op: op, Thread: heisen.Thread(id), Object: heisen.Object(at), Len: uint16(n), Site: 1}})
	}
	do(0, heisen.Write, 0, 64)
	for id := 1; id <= threads; id++ {
		do(0, heisen.Fork, id, 0)
	}
	return p, do, raced
}

// TestReadersOfOtherBytes: who reads a byte of a word that has a set of readers has not read the others.
func TestReadersOfOtherBytes(t *testing.T) {
	_, do, raced := readersProgram(t, 21)
	for id := 1; id <= 20; id++ {
		do(id, heisen.Read, 0, 8)
		do(id, heisen.Send, 64, 1)
	}
	do(21, heisen.Read, 0, 1)
	do(0, heisen.Receive, 64, 1)
	if do(0, heisen.Write, 4, 4); len(raced) != 0 {
		t.Errorf("false alarms: %v", raced)
	}
	if do(0, heisen.Write, 0, 1); !slices.Contains(raced[0], 21) {
		t.Error("a race was missed")
	}
}

// TestMoveReaders: a reclamation moves sets that have readers in common, and keeps apart what belongs
// to a set and what does not.
func TestMoveReaders(t *testing.T) {
	p, do, raced := readersProgram(t, 24)
	for _, id := range []int{23, 24} { // nobody learns of these
		do(id, heisen.Read, 16, 8)
		do(id, heisen.End, 0, 0)
	}
	for id := 1; id <= 20; id++ {
		do(id, heisen.Read, 0, 24)
	}
	do(21, heisen.Read, 0, 8)
	do(22, heisen.Read, 8, 8)
	if p.table.readers.made.Load() == 0 {
		t.Fatal("there are no sets of readers")
	}
	p.reclaim()
	for id := 1; id <= 22; id++ {
		if id != 3 {
			do(id, heisen.Send, 64, 1)
		}
	}
	do(0, heisen.Receive, 64, 1)
	do(0, heisen.Write, 0, 16)
	for _, at := range []heisen.Object{0, 8} {
		if !slices.Equal(raced[at], []heisen.Thread{3}) {
			t.Errorf("races at %d with %v", at, raced[at])
		}
	}
	do(3, heisen.Send, 64, 1)
	do(0, heisen.Receive, 64, 1)
	if do(0, heisen.Write, 16, 8); !slices.Contains(raced[16], 23) || !slices.Contains(raced[16], 24) {
		t.Errorf("races with %v", raced[16])
	}
}

// TestKnownReaders: what a processor knows of sets is void after a reclamation, which uses their numbers again.
func TestKnownReaders(t *testing.T) {
	p, do, _ := readersProgram(t, 21)
	for id := 1; id <= 20; id++ {
		do(id, heisen.Read, 0, 8)
	}
	const word = 0xFF
	th, c, place := p.thread(21), p.cell(0), p.place(&heisen.Record{Site: 1})
	knows := func() bool {
		entry, head := th.Epoch|place, c.head.Load()
		at := p.table.readersFor(th, c, head, entry, word)
		if at == nil {
			t.Fatal("there is no set of readers")
		}
		set := readersOf(at.Load())
		step, _ := testFreeCache.readers.step(set, entry)
		*step = readerStep{entry, set, set}
		_, done := p.table.addKnownReader(th, c, head, place, word)
		return done
	}
	if !knows() {
		t.Error("a set with a further reader is not known")
	}
	if p.reclaim(); knows() {
		t.Error("a set of before a reclamation is known")
	}
}

// TestPruneReaders: what is dropped from a set is ordered before a reader that stays.
func TestPruneReaders(t *testing.T) {
	p := newProgram(t)
	th := p.thread(0)
	rng := rand.New(rand.NewPCG(1, 21))
	dropped := 0
	for range randomtrials.Count(2_000) {
		set := uint32(0)
		before := map[uint64]bool{}
		for range 40 {
			slot, time := 1+rng.IntN(3)*readerSlots+rng.IntN(4), 1+rng.IntN(2)<<lapBits+rng.IntN(5)
			n := uint64(slot)<<(timeBits+placeBits) | uint64(time)<<placeBits | uint64(1+rng.IntN(2))
			before[n] = true
			set = p.table.newReader(&testFreeCache.readers, set, n, minReaders)
		}
		kept, left := p.table.pruneReaders(th, &testFreeCache.readers, set)
		after, last := map[uint64]bool{}, map[uint64]uint64{} // by slot and lap
		count := uint32(0)
		for i := kept; i != 0; i = readerAt(i).rest {
			n := readerAt(i).entry
			after[n] = true
			last[slotOf(n)] = max(last[slotOf(n)], n>>placeBits)
			count++
		}
		if count != readerAt(kept).count || left < minReaders {
			t.Fatalf("a set of %d readers has %d, and %d more before the next search", count, readerAt(kept).count, left)
		}
		for n := range before {
			if !after[n] {
				dropped++
				if last[slotOf(n)] < n>>placeBits {
					t.Fatalf("%#x was dropped, and no later reader of the slot and lap stays", n)
				}
			}
		}
		for n := range after {
			if !before[n] {
				t.Fatalf("%#x was not in the set", n)
			}
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}

// crowdOfReaders returns a trace of threads that read words of a table, tell some of the others, and
// end. Now and then one writes.
func crowdOfReaders(rng *rand.Rand) (trace []heisen.Record) {
	const bytes, objects = 64, 4
	sites := 1 + rng.IntN(3)
	add := func(id int, op heisen.Op, at, n int) {
		trace = append(trace, heisen.Record{Op: op, Thread: heisen.Thread(id), Object: heisen.Object(at), Len: uint16(n), Site: heisen.Site(len(trace) % sites)})
	}
	words := func() (at, n int) {
		at = 8 * rng.IntN(bytes/8)
		return at, 8 * (1 + rng.IntN((bytes-at)/8))
	}
	rare := 20 << rng.IntN(5)               // one in so many accesses is a write by a reader
	silent := []int{2, 10, 40}[rng.IntN(3)] // one in so many readers tells nobody
	if silent > 2 {
		rare = 1 << 30 // nothing races before the end
	}
	live, begun := []int{0}, 1
	if rng.IntN(8) == 0 { // it does not know of the first write
		add(0, heisen.Fork, begun, 0)
		live = append(live, begun)
		begun++
	}
	add(0, heisen.Write, 0, bytes)
	for range 10 {
		add(0, heisen.Fork, begun, 0)
		live = append(live, begun)
		begun++
	}
	for len(trace) < 400 {
		i := rng.IntN(len(live))
		switch id := live[i]; {
		case id == 1 && len(trace) < 250:
		case rng.IntN(4) == 0 && len(live) < 24:
			add(id, heisen.Fork, begun, 0)
			live = append(live, begun)
			begun++
		case id == 0 && rng.IntN(2) == 0:
			add(0, heisen.Receive, bytes+8*rng.IntN(objects), 1)
		case id != 0 && rng.IntN(4) == 0:
			if rng.IntN(silent) != 0 {
				add(id, heisen.Send, bytes+8*rng.IntN(objects), 1)
			}
			if rng.IntN(silent) == 0 {
				at, n := words()
				add(id, heisen.Read, at, n)
			}
			add(id, heisen.End, 0, 0)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		case rng.IntN(rare) == 0:
			at, n := words()
			op := heisen.Write
			if rng.IntN(4) == 0 {
				op, n = heisen.AtomicRead+heisen.Op(rng.IntN(3)), 1
			}
			add(id, op, at, n)
		default:
			at, n := words()
			if rng.IntN(4) == 0 {
				at, n = at+rng.IntN(8), 1
			}
			add(id, heisen.Read, at, n)
		}
	}
	for _, id := range live {
		if id != 0 {
			add(id, heisen.Send, bytes, 1)
			add(id, heisen.End, 0, 0)
		}
	}
	add(0, heisen.Fork, begun, 0)
	for object := range objects {
		add(0, heisen.Receive, bytes+8*object, 1)
	}
	if rng.IntN(2) == 0 {
		add(0, heisen.AtomicWrite, rng.IntN(bytes), 1)
		add(begun, heisen.Read, 0, bytes)
	}
	add(0, heisen.Write, 0, bytes)
	return trace
}
