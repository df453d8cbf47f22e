package fasttrack

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/vclock"
)

// program feeds a table with the events of a trace.
type program struct {
	table   Table
	cells   map[uint64]*[16]Word // by word / 16
	scale   uint32               // multiplies thread numbers
	threads map[heisen.Thread]*Thread
	held    map[hold]int
	found   func(later int, at heisen.Object, op heisen.Op, thread heisen.Thread, place uint64)
	places  map[[2]uint32]uint64 // by site and context
	known   [][2]uint32          // by place
	others  []*Thread            // which do nothing
	between func()               // is called after each event
	wrong   string               // what a reclamation has left behind
	ended   []uint32             // the slots that are reclaimed; see reclaim
}

// hold is a lock that a thread holds.
type hold struct {
	thread heisen.Thread
	lock   heisen.Object
	shared bool
}

func newProgram(t testing.TB) *program {
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	testFreeCache = new(freeCache) // as in programs
	return &program{scale: 1, cells: map[uint64]*[16]Word{}, threads: map[heisen.Thread]*Thread{}, held: map[hold]int{}, places: map[[2]uint32]uint64{}, known: make([][2]uint32, 1)}
}

func (p *program) thread(id heisen.Thread) *Thread {
	th := p.threads[id]
	if th == nil {
		th = new(Thread)
		p.threads[id] = th
	}
	if p.table.Stale(th) {
		p.table.BeginEpoch(th, uint32(id)*p.scale)
	}
	return th
}

func (p *program) cell(at uint64) *Cell {
	words := p.cells[at/128]
	if words == nil {
		words = new([16]Word)
		p.cells[at/128] = words
	}
	return &words[at/8%16].Cell
}

func (p *program) place(r *heisen.Record) uint64 {
	at := [2]uint32{uint32(r.Site), uint32(r.Context)}
	place := p.places[at]
	if place == 0 {
		place = uint64(len(p.known))
		p.places[at] = place
		p.known = append(p.known, at)
	}
	return place
}

// access is an access to memory: whole words in one call, the rest word by word.
func (p *program) access(i int, r *heisen.Record, kind uint32) {
	th := p.thread(r.Thread)
	for at, end := uint64(r.Object), uint64(r.Object)+r.Size(); at < end; {
		if whole := (min(at&^127+128, end) - at) / 8; at&7 == 0 && whole > 0 && kind <= Write {
			at += 8 * uint64(p.table.AccessPlainWords(th, p.cell(at), uintptr(whole), th.Epoch|p.place(r), kind == Write))
			if at == end {
				break
			}
		}
		next := min(at&^7+8, end)
		p.word(i, r, at, next, kind)
		at = next
	}
}

// word is an access to the bytes from at to end, which are in one word.
func (p *program) word(i int, r *heisen.Record, at, end uint64, kind uint32) {
	th, c := p.thread(r.Thread), p.cell(at)
	var races Races
	mask := uint32(1)<<(end-at) - 1
	mask <<= at & 7
	if same, _, _, _ := c.Lookup(th, uint64(mask), kind == Write); kind <= Write && !same {
		if end-at == 1 && c.SameEpochByte(th, uintptr(at), kind == Write) {
			panic("SameEpochByte holds and Lookup finds no entry")
		}
		if mask == bytesMask && c.SameEpochWord(th, kind == Write) {
			panic("SameEpochWord holds and Lookup finds no entry")
		}
	}
	p.table.Access(th, c, at&^7, p.place(r), mask, kind, &races)
	p.report(i, &races)
}

// atomic is an atomic operation on a byte.
func (p *program) atomic(i int, r *heisen.Record, kind uint32) {
	var races Races
	th, c, do := p.thread(r.Thread), p.cell(uint64(r.Object)), func() {}
	if kind == AtomicRead {
		p.table.Load(th, c, uint64(r.Object), p.place(r), do, &races)
	} else {
		p.table.Atomic(th, c, uint64(r.Object), p.place(r), kind, do, &races)
	}
	p.report(i, &races)
}

// unknown stands for a thread whose number the table no longer knows.
const unknown heisen.Thread = 1<<32 - 1

func (p *program) report(i int, races *Races) {
	for _, race := range races.At[:races.Count] {
		id, known := p.table.Owner(race.Entry)
		if id /= p.scale; !known {
			id = uint32(unknown)
		}
		op := [...]heisen.Op{heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[race.Kind]
		for b := race.Bytes; b != 0; b &= b - 1 {
			at := race.Addr + uint64(bits.TrailingZeros32(b))
			p.found(i, heisen.Object(at), op, heisen.Thread(id), race.Entry&placeMask)
		}
	}
}

// sync performs an operation on the object of r.
func (p *program) sync(r *heisen.Record, op uint32) {
	synchronize(&p.table, p.thread(r.Thread), p.cell(uint64(r.Object)), uint64(r.Object), op)
}

// synchronize tries SyncInPlace, then Sync, as the host does.
func synchronize(t *Table, th *Thread, c *Cell, addr uint64, op uint32) {
	head := c.Lock()
	if !t.SyncInPlace(th, head, addr, op) {
		head = t.Sync(th, head, addr, op)
	}
	c.Unlock(head)
}

// run performs the events in order.
func (p *program) run(trace []heisen.Record) {
	if p.between != nil {
		p.beginAll(trace)
	}
	for i := range trace {
		if i > 0 && p.between != nil {
			p.between()
		}
		r := &trace[i]
		lock := func(op uint32) {
			before, owned := op <= Receive, true
			switch h := (hold{r.Thread, r.Object, op == AcquireShared || op == ReleaseShared}); {
			case op <= AcquireShared:
				p.held[h]++
			case op > ReleaseShared:
			case p.held[h] == 0:
				p.table.UnownedRelease()
				owned = false
			default:
				p.held[h]--
			}
			if th, c := p.thread(r.Thread), p.cell(uint64(r.Object)); op <= AcquireShared && p.table.Reacquire(th, c, uint64(r.Object), op) ||
				op == Release && owned && p.table.ReleaseAgain(th, c, uint64(r.Object)) {
				return
			}
			if before {
				p.sync(r, op)
			}
			if r.Flags&heisen.LockWord != 0 {
				var races Races
				p.table.LockWord(p.thread(r.Thread), p.cell(uint64(r.Object)), uint64(r.Object), p.place(r), &races)
				p.report(i, &races)
			}
			if !before {
				p.sync(r, op)
			}
		}
		switch r.Op {
		case heisen.Read:
			p.access(i, r, Read)
		case heisen.Write:
			p.access(i, r, Write)
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
			kind := AtomicRead + uint32(r.Op-heisen.AtomicRead)
			if r.Size() == 1 {
				p.atomic(i, r, kind)
				break
			}
			switch kind {
			case AtomicRead:
				p.sync(r, Receive)
				p.access(i, r, kind)
			case AtomicWrite:
				p.access(i, r, kind)
				p.sync(r, Store)
			case AtomicUpdate:
				p.sync(r, Receive)
				p.access(i, r, kind)
				p.sync(r, Send)
			}
		case heisen.Acquire:
			lock(Acquire)
		case heisen.AcquireShared:
			lock(AcquireShared)
		case heisen.Receive:
			lock(Receive)
		case heisen.Release:
			lock(Release)
		case heisen.ReleaseShared:
			lock(ReleaseShared)
		case heisen.Send:
			lock(Send)
		case heisen.Fork:
			child := new(Thread)
			p.table.Fork(p.thread(r.Thread), child, uint32(r.Object)*p.scale)
			p.threads[r.Object.Thread()] = child
		case heisen.End:
			p.table.End(p.thread(r.Thread))
			delete(p.threads, r.Thread)
		case heisen.Alloc, heisen.Free:
			for at, end := uint64(r.Object), uint64(r.Object)+r.Value; at < end; {
				next := min(at&^7+8, end)
				p.table.Clear(p.cell(at), (1<<(next-at)-1)<<(at&7))
				at = next
			}
		}
	}
}

// withoutJoins returns the trace with messages instead of joins, which programs don't have. No
// thread continues after its end, and none begins twice.
func withoutJoins(trace []heisen.Record) (rest []heisen.Record) {
	const messages = 1 << 50
	seen, ended := map[heisen.Thread]bool{}, map[heisen.Thread]bool{}
	for _, r := range trace {
		if ended[r.Thread] {
			continue
		}
		seen[r.Thread] = true
		switch r.Op {
		case heisen.Fork:
			if seen[r.Object.Thread()] {
				continue
			}
			seen[r.Object.Thread()] = true
		case heisen.Join:
			if !ended[r.Object.Thread()] {
				continue
			}
			r.Op, r.Object = heisen.Receive, messages+8*r.Object
		case heisen.End:
			ended[r.Thread] = true
			send := r
			send.Op, send.Object = heisen.Send, messages+8*heisen.Object(r.Thread)
			rest = append(rest, send)
		}
		rest = append(rest, r)
	}
	return rest
}

// TestFirstRaces compares a table with the reference detector: it reports only true races, and the
// first race of every byte.
func TestFirstRaces(t *testing.T) {
	kinds := []struct {
		name string
		workload.Small
	}{
		{"words", workload.Small{Threads: 4, Events: 40, Vars: 3, Syncs: 3, LockWords: true}},
		{"ranges", workload.Small{Threads: 4, Events: 40, Vars: 3, Syncs: 3, Ranges: true, LockWords: true}},
		{"lives", workload.Small{Threads: 4, Events: 50, Vars: 3, Syncs: 3, Ranges: true, Lives: true, LockWords: true}},
		{"same sites", workload.Small{Threads: 3, Events: 50, Vars: 2, Syncs: 2, Lives: true, Sites: 3}},
		{"many threads", workload.Small{Threads: 12, Events: 60, Vars: 2, Syncs: 2}},
		{"crowds", workload.Small{Threads: 30, Events: 300, Vars: 2, Syncs: 2}},
		{"wild", workload.Small{Threads: 5, Events: 50, Vars: 3, Syncs: 2, Ranges: true, Lives: true, Wild: true, LockWords: true}},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(300) {
				trace := withoutJoins(workload.Random(rand.New(rand.NewPCG(seed, 11)), kind.Small))
				if err := checkSeeded(t, seed, trace); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
				}
			}
		})
	}
}

// TestSharedSlots: threads that share slots may hide races but cause no false ones.
func TestSharedSlots(t *testing.T) {
	missed := 0
	for seed := range uint64(300) {
		trace := withoutJoins(workload.Random(rand.New(rand.NewPCG(seed, 12)),
			workload.Small{Threads: 12, Events: 100, Vars: 3, Syncs: 3, Ranges: seed%2 == 0, Lives: true, LockWords: true}))
		err := checkProgram(t, trace, func(p *program) {
			for range ownedSlots - 4 {
				p.table.Fork(nil, new(Thread), 0)
			}
			p.scale = sharedSlots / 2 // two shared slots are in use
		})
		var less *missedError
		if errors.As(err, &less) {
			missed++
		} else if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
		}
	}
	if missed == 0 {
		t.Error("nothing was missed: no slot was shared")
	}
}

// missedError has the first races that were not found.
type missedError struct{ diff string }

func (e *missedError) Error() string { return "first race by byte (-reference +table):\n" + e.diff }

// addOthers adds threads that do nothing.
func (p *program) addOthers(n int) {
	for range n {
		th := new(Thread)
		p.table.Fork(nil, th, 0)
		p.others = append(p.others, th)
	}
}

// checkTrace checks a trace with clocks of all lengths, and where slots are reclaimed.
func checkTrace(t testing.TB, trace []heisen.Record) error {
	if err := checkClocks(t, trace); err != nil {
		return err
	}
	return checkReclaimed(t, trace)
}

// checkClocks checks a trace with clocks of one block, with some that grow on the way, and with long
// ones.
func checkClocks(t testing.TB, trace []heisen.Record) error {
	longer := []int{inlineSlots - 5, blockSlots - 5}
	for _, others := range []int{0, longer[len(trace)%2], blockSlots} {
		if err := checkBeside(t, trace, others); err != nil {
			return err
		}
	}
	return nil
}

// checkBeside checks a trace in a program that has other threads, too.
func checkBeside(t testing.TB, trace []heisen.Record, others int) error {
	if err := checkProgram(t, trace, func(p *program) { p.addOthers(others) }); err != nil {
		return fmt.Errorf("%d other threads: %w", others, err)
	}
	return nil
}

// checkSeeded checks a random trace: in one of eight cases with clocks of all lengths, and where slots are reclaimed, and
// otherwise, since that takes long, with clocks of one length.
func checkSeeded(t testing.TB, seed uint64, trace []heisen.Record) error {
	if seed%8 == 0 {
		return checkTrace(t, trace)
	}
	lengths := []int{0, inlineSlots - 5, blockSlots - 5, blockSlots}
	return checkBeside(t, trace, lengths[seed%8%4])
}

// checkRandom checks n random traces, those of a stream of random numbers.
func checkRandom(t *testing.T, n int, stream uint64, random func(*rand.Rand) []heisen.Record) {
	t.Helper()
	for seed := range uint64(randomtrials.Count(n)) {
		trace := random(rand.New(rand.NewPCG(seed, stream)))
		if err := checkSeeded(t, seed, trace); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, show(trace))
		}
	}
}

// checkProgram checks a trace after before has changed the program.
func checkProgram(t testing.TB, trace []heisen.Record, before func(*program)) error {
	type half struct {
		op    heisen.Op
		id    heisen.Thread
		place [2]uint32
		later int
	}
	meet := map[half]uint64{} // bytes
	var first, got [64]int
	note := func(at *[64]int, bytes uint64, later int) {
		for ; bytes != 0; bytes &= bytes - 1 {
			if b := bits.TrailingZeros64(bytes); at[b] == 0 || later+1 < at[b] {
				at[b] = later + 1
			}
		}
	}
	_, err := heisen.Run(context.Background(), heisen.Slice(trace), must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		a, b := f.Accesses[0], f.Accesses[1]
		bytes := span(a.Object, a.Size) & span(b.Object, b.Size)
		for _, r := range trace[a.Index:b.Index] {
			if r.Op == heisen.Alloc || r.Op == heisen.Free {
				bytes &^= span(r.Object, r.Value)
			}
		}
		meet[half{a.Op, a.Thread, [2]uint32{uint32(a.Site), uint32(a.Context)}, int(b.Index) - 1}] |= bytes
		note(&first, bytes, int(b.Index)-1)
	}))))
	if err != nil {
		return err
	}
	p := newProgram(t)
	p.found = func(later int, at heisen.Object, op heisen.Op, id heisen.Thread, place uint64) {
		h := half{op, id, p.known[place], later}
		// The thread has shared its slot, or is one of several at the same place that Reclaim does
		// not distinguish.
		if id == unknown || meet[h]>>at&1 == 0 && p.between != nil && shared(trace, h.place) {
			for known, bytes := range meet {
				if known.op == op && known.place == h.place && known.later == later && bytes>>at&1 != 0 {
					h = known
				}
			}
		}
		if meet[h]>>at&1 == 0 && err == nil {
			err = fmt.Errorf("not a race of the reference: %+v at %d", h, at)
		}
		note(&got, 1<<at, later)
	}
	before(p)
	p.run(trace)
	if p.table.Exhausted() {
		return errors.New("no memory")
	}
	if p.wrong != "" {
		return errors.New(p.wrong)
	}
	if err == nil && first != got {
		err = &missedError{cmp.Diff(first, got)}
	}
	return err
}

func span(o heisen.Object, n uint64) uint64 {
	if o >= 64 {
		return 0
	}
	if n >= 64 {
		return ^uint64(0) << o
	}
	return (1<<n - 1) << o
}

func show(trace []heisen.Record) (s string) {
	for i, r := range trace {
		s += fmt.Sprintf("%4d  thread %d  %v %d+%d flags %d site %d ctx %d\n", i+1, r.Thread, r.Op, r.Object, uint64(r.Len)+r.Value, r.Flags, r.Site, r.Context)
	}
	return s
}

// TestLimitMemory: with smaller arenas, memory runs out sooner, and says so.
func TestLimitMemory(t *testing.T) {
	ReserveMemory()
	table := new(Table)
	table.LimitMemory(16, 10)
	for range maxExtensions>>16 - 1 {
		if table.newExtension() == 0 {
			t.Fatal("memory runs out too soon")
		}
	}
	if table.Exhausted() || table.newExtension() != 0 || !table.Exhausted() {
		t.Error("an extension beyond the limit")
	}
	table = new(Table)
	table.LimitMemory(16, 10)
	sets := 0
	for table.newOverflow(4) != 0 {
		sets++
	}
	if most := maxOverflowEntries >> 16 >> 4; sets < most/2 || sets > most || !table.Exhausted() {
		t.Errorf("%d sets of 16 overflow entries of %d", sets, most)
	}
	for name, limit := range map[string]struct {
		new  func(*Table) uint32
		most int
	}{
		"vectors": {(*Table).newVector, maxVectors >> 10},
		"blocks":  {(*Table).newBlock, maxBlocks >> 10},
		"nodes":   {func(t *Table) uint32 { return t.alloc(nodes, maxNodes>>t.memory.fewer) }, maxNodes >> 10},
	} {
		table, made := new(Table), 0
		table.LimitMemory(16, 10)
		for limit.new(table) != 0 {
			made++
		}
		if made != limit.most-1 || !table.Exhausted() {
			t.Errorf("%d %s of %d", made, name, limit.most)
		}
	}
}
