package fasttrack

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
)

// TestReclaim is TestFirstRaces where threads that nobody waits for come and go, and slots are
// reclaimed all the time.
func TestReclaim(t *testing.T) {
	for seed := range uint64(randomtrials.Count(1_000)) {
		trace := shortLives(rand.New(rand.NewPCG(seed, 17)))
		if err := checkReclaimed(t, trace); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
		}
	}
}

// TestFewSlots has fewer slots than are needed. Races may be missed, and none is invented.
func TestFewSlots(t *testing.T) {
	missed, shared, forgotten := 0, uint64(0), uint64(0)
	for seed := range uint64(randomtrials.Count(2_000)) {
		trace := shortLives(rand.New(rand.NewPCG(seed, 18)))
		var used *program
		err := checkProgram(t, trace, func(p *program) {
			used = p
			p.table.slotLimit = 4 + uint32(seed%5)
			p.between = func() {
				if p.table.SlotsLow() >= SlotsFew {
					p.reclaim()
				}
			}
		})
		var less *missedError
		if errors.As(err, &less) {
			missed++
		} else if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
		}
		shared += used.table.SlotSharers.Load()
		forgotten += used.table.ForgottenEpochs.Load()
		if err != nil && used.table.SlotSharers.Load() == 0 && used.table.ForgottenEpochs.Load() == 0 {
			t.Fatalf("seed %d: a race was missed and that is not said\n%s", seed, show(trace))
		}
	}
	if missed == 0 || shared == 0 || forgotten == 0 {
		t.Errorf("%d traces with missed races, %d threads shared slots, %d epochs were forgotten: slots were enough", missed, shared, forgotten)
	}
}

// shortLives returns a trace of threads that fork others, pass messages, take locks and end, while
// nobody waits for their end. Accesses to most words are ordered.
func shortLives(rng *rand.Rand) (trace []heisen.Record) {
	const threads, most, objects, words = 5, 120, 6, 12
	type times [most]int
	type last struct{ thread, time int }
	var know [most]times
	var left, shared [objects]times
	var wrote, read [words]last
	live, begun := []int{0}, 1
	rare := 4 << rng.IntN(6)        // one in so many accesses need not be ordered
	sites := 4 << (rng.IntN(2) * 6) // few, or one for each event
	know[0][0] = 1
	add := func(id int, op heisen.Op, at, n int) {
		trace = append(trace, heisen.Record{Op: op, Thread: heisen.Thread(id), Object: heisen.Object(at), Len: uint16(n & 7), Value: uint64(n) >> 3 << 3, Site: heisen.Site(len(trace) % sites)})
	}
	join := func(a *times, b *times) {
		for i := range a {
			a[i] = max(a[i], b[i])
		}
	}
	access := func(id int) {
		at, write := rng.IntN(words), rng.IntN(3) == 0
		covers := func(l last) bool { return know[id][l.thread] >= l.time }
		if !(covers(wrote[at]) && (!write || covers(read[at]))) && rng.IntN(rare) != 0 {
			return
		}
		first, n := 4*at, 1+rng.IntN(4) // two in a word of 8 bytes
		switch op := heisen.Read; {
		case write:
			wrote[at] = last{id, know[id][id]}
			if op = heisen.Write; rng.IntN(4) == 0 {
				op, n = heisen.AtomicRead+heisen.Op(rng.IntN(3)), 1
			}
			add(id, op, first, n)
		default:
			read[at] = last{id, know[id][id]}
			add(id, op, first, n)
		}
	}
	for len(trace) < 250 {
		id := live[rng.IntN(len(live))]
		switch n := rng.IntN(16); {
		case n < 3 && begun < most && len(live) < threads:
			add(id, heisen.Fork, begun, 0)
			know[begun] = know[id]
			know[begun][begun] = 1
			know[id][id]++
			live = append(live, begun)
			begun++
		case n < 5 && len(live) > 1:
			i := rng.IntN(len(live))
			add(live[i], heisen.End, 0, 0)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		case n < 10:
			access(id)
		default:
			object := rng.IntN(objects)
			at := 64 + 8*object
			takes, leaves := heisen.Receive, heisen.Send
			switch object {
			case 0, 1:
				takes, leaves = heisen.Acquire, heisen.Release
			case 2:
				takes, leaves = heisen.AcquireShared, heisen.ReleaseShared
				if rng.IntN(3) == 0 {
					takes, leaves = heisen.Acquire, heisen.Release
				}
			case 3:
				op := heisen.AtomicRead + heisen.Op(rng.IntN(3))
				if op != heisen.AtomicWrite {
					join(&know[id], &left[object])
				}
				add(id, op, at, 1)
				if op == heisen.AtomicWrite {
					left[object] = times{}
				}
				if op != heisen.AtomicRead {
					join(&left[object], &know[id])
					know[id][id]++
				}
				continue
			}
			if takes != heisen.Receive || rng.IntN(3) != 0 {
				join(&know[id], &left[object])
				if takes == heisen.Acquire {
					join(&know[id], &shared[object])
				}
				add(id, takes, at, 1)
			}
			access(id)
			add(id, leaves, at, 1)
			if leaves == heisen.ReleaseShared {
				join(&shared[object], &know[id])
			} else {
				join(&left[object], &know[id])
			}
			know[id][id]++
		}
	}
	return trace
}

// TestSlotsSuffice has many threads that nobody waits for use a few slots. Each leaves accesses
// behind that may still race, and all take some locks. The races that there are, with the first and
// with the last threads, are found; each has the right thread.
func TestSlotsSuffice(t *testing.T) {
	const threads, slots, locks, words = 20_000, 64, 8, 512
	const private, racy = 8 * locks, 8 * (locks + words) // words
	p := newProgram(t)
	p.table.slotLimit = slots
	type race struct {
		at    heisen.Object
		first heisen.Thread
		later int
	}
	var races []race
	p.found = func(later int, at heisen.Object, op heisen.Op, id heisen.Thread, place uint64) {
		races = append(races, race{at, id, later})
	}
	reclaimed := 0
	rng := rand.New(rand.NewPCG(3, 4))
	do := func(id int, op heisen.Op, at int) {
		p.run([]heisen.Record{{Op: op, Thread: heisen.Thread(id), Object: heisen.Object(at), Len: 1, Site: 1}})
	}
	p.thread(0)
	for id := 1; id <= threads; id++ {
		do(0, heisen.Fork, id)
		for range 3 {
			lock := rng.IntN(locks)
			do(id, heisen.Acquire, 8*lock)
			do(id, heisen.Write, 8*lock+1)
			do(id, heisen.Release, 8*lock)
		}
		p.table.Clear(p.cell(uint64(private+8*(id%words))), bytesMask) // the memory of an earlier one
		do(id, heisen.Write, private+8*(id%words))
		do(id, heisen.Read, racy+16)
		switch id {
		case 1:
			do(id, heisen.Write, racy)
		case threads - 1:
			do(id, heisen.Write, racy+8)
		case threads:
			do(id, heisen.Write, racy)
			do(id, heisen.Write, racy+8)
			do(id, heisen.Write, racy+16)
		}
		do(id, heisen.End, 0)
		if p.table.SlotsLow() >= SlotsFew {
			p.reclaim()
			reclaimed++
			if n := p.table.ended.count; n > slots/2 {
				t.Fatalf("%d slots were kept", n)
			}
		}
	}
	if p.table.SlotSharers.Load() != 0 || p.table.ForgottenEpochs.Load() != 0 {
		t.Errorf("%d threads shared slots, %d epochs were forgotten", p.table.SlotSharers.Load(), p.table.ForgottenEpochs.Load())
	}
	if reclaimed < threads/slots || reclaimed > 8*threads/slots {
		t.Errorf("%d reclamations", reclaimed)
	}
	found := map[heisen.Object]heisen.Thread{}
	for _, r := range races {
		if r.at != racy+16 {
			found[r.at] = r.first
		}
	}
	if len(found) != 2 || found[racy] != 1 || found[racy+8] != threads-1 {
		t.Errorf("races %v, by the first thread that takes part in them", found)
	}
	if len(races) < 3 {
		t.Errorf("no race with the readers")
	}
}

// TestReclaimSharers: threads that share slots get slots of their own when there are some again,
// and the shared ones are as new when nobody has them.
func TestReclaimSharers(t *testing.T) {
	p := newProgram(t)
	p.table.slotLimit = 32
	p.addOthers(32)
	var late [4]*Thread
	for i := range late {
		late[i] = new(Thread)
		p.table.Fork(p.others[0], late[i], uint32(100+i))
	}
	p.others = append(p.others, late[:]...)
	if p.table.SlotSharers.Load() != 4 || !late[0].sharesSlot {
		t.Fatal("no slot was shared")
	}
	for _, th := range p.others[1:30] {
		p.table.End(th)
	}
	p.reclaim()
	for _, th := range late {
		synchronize(&p.table, th, p.cell(0), 0, Send)
		if th.sharesSlot {
			t.Error("a thread still shares a slot")
		}
	}
	p.reclaim()
	if !p.table.oneBlock() || p.table.slots.Load() > 32 {
		t.Error("shared slots are still in use")
	}
}

// TestReclaimUsedUp: a slot without any time left is reclaimed, too.
func TestReclaimUsedUp(t *testing.T) {
	p := newProgram(t)
	th := p.thread(0)
	var races Races
	p.table.Access(th, p.cell(8), 8, 1, 1, Write, &races)
	h := &p.table.perSlot[0]
	h.time.Store(maxTime - 1)
	th.Epoch = (maxTime - 1) << placeBits
	synchronize(&p.table, th, p.cell(0), 0, Send)
	if s := slotIndex(th.Epoch); s != 1 {
		t.Fatalf("the thread has slot %d", s)
	}
	p.table.Clear(p.cell(0), bytesMask)
	p.reclaim() // the only thread has learned all
	if p.table.ended.free != 1 || h.time.Load() != 0 {
		t.Error("the slot was not reclaimed")
	}
	child := new(Thread)
	p.table.Fork(th, child, 1)
	if s := slotIndex(child.Epoch); s != 0 || child.time() != 1 {
		t.Errorf("the next thread has slot %d, time %d", s, child.time())
	}
	p.table.Access(child, p.cell(8), 8, 1, 1, Write, &races)
	if races.Count != 0 {
		t.Error("false alarm")
	}
}

// TestReclaimParallel has threads on all processors that fork others and go on, while slots are
// reclaimed now and then. Accesses under locks are ordered.
func TestReclaimParallel(t *testing.T) {
	const workers, rounds, locked = 8, 2000, 4
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	table.slotLimit = 64
	var cells [2*locked + 1]Word
	var locks [locked]sync.Mutex
	var world sync.RWMutex // held for writing while the world is stopped
	var wrong, racy, reclaimed atomic.Uint32
	var listed sync.Mutex
	live := map[*Thread]bool{}
	begin := func(parent *Thread, id uint32) *Thread {
		listed.Lock()
		defer listed.Unlock()
		th := new(Thread)
		table.Fork(parent, th, id)
		live[th] = true
		return th
	}
	end := func(th *Thread) {
		listed.Lock()
		defer listed.Unlock()
		table.End(th)
		delete(live, th)
	}
	reclaim := func() {
		world.Lock()
		defer world.Unlock()
		if table.SlotsLow() == SlotsPlenty {
			return
		}
		reclaimed.Add(1)
		table.Reclaim(func(yield func(*Thread) bool) {
			for th := range live {
				yield(th)
			}
		}, func(yield func(*Cell) bool) {
			for i := range cells {
				yield(&cells[i].Cell)
			}
		})
	}
	step := func(f func()) {
		world.RLock()
		defer world.RUnlock()
		f()
	}
	access := func(th *Thread, i int, kind uint32, found *atomic.Uint32) {
		var races Races
		table.Access(th, &cells[i].Cell, uint64(8*i), 1, 1, kind, &races)
		found.Add(races.Count)
	}
	work := func(th *Thread, i int) {
		var races Races
		locks[i].Lock()
		defer locks[i].Unlock()
		step(func() { operate(&table, th, &cells[i].Cell, uint64(8*i), Acquire, &races) })
		step(func() { access(th, locked+i, Read, &wrong) })
		step(func() { access(th, locked+i, Write, &wrong) })
		step(func() { operate(&table, th, &cells[i].Cell, uint64(8*i), Release, &races) })
		wrong.Add(races.Count)
	}
	var first *Thread
	step(func() { first = begin(nil, 0) })
	var wg sync.WaitGroup
	for id := range workers {
		var th *Thread
		step(func() { th = begin(first, uint32(id)+1) })
		wg.Go(func() {
			for round := range rounds {
				work(th, (round+id)%locked)
				var child *Thread
				step(func() { child = begin(th, uint32(1000+round*workers+id)) })
				work(child, round%locked)
				step(func() { access(child, 2*locked, Read, &racy) })
				step(func() { end(child) })
				if table.SlotsLow() != SlotsPlenty {
					reclaim()
				}
			}
			step(func() { access(th, 2*locked, Write, &racy) })
		})
	}
	wg.Wait()
	if wrong.Load() != 0 {
		t.Errorf("%d false alarms", wrong.Load())
	}
	if racy.Load() == 0 {
		t.Error("no race was found")
	}
	if table.Exhausted() || table.SlotSharers.Load() > 0 || table.ForgottenEpochs.Load() > 0 {
		t.Errorf("exhausted: %v, %d threads shared slots, %d epochs were forgotten", table.Exhausted(), table.SlotSharers.Load(), table.ForgottenEpochs.Load())
	}
	if reclaimed.Load() < 10 {
		t.Errorf("%d reclamations", reclaimed.Load())
	}
}
