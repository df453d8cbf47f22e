package vclock_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/vclock"
)

// family is a random program in which threads start threads, to some depth, and
// wait for them by Join, by a message, or not at all.
type family struct {
	rng     *rand.Rand
	out     []heisen.Record
	running []*member
	next    heisen.Thread
	limit   heisen.Thread
}

type member struct {
	id       heisen.Thread
	steps    int // still to take
	children []heisen.Thread
}

func (f *family) add(t heisen.Thread, op heisen.Op, o heisen.Object) {
	f.out = append(f.out, heisen.Record{Thread: t, Op: op, Object: o, Site: heisen.Site(len(f.out) + 1)})
}

// done is the message that a thread sends when it has nothing more to do.
func done(t heisen.Thread) heisen.Object { return 1<<30 + 64*heisen.Object(t) }

func randomFamily(seed uint64, threads int) []heisen.Record {
	f := &family{rng: rand.New(rand.NewPCG(seed, 11)), next: 1, limit: heisen.Thread(threads)}
	f.running = []*member{{id: 0, steps: 1 << 30}}
	for f.next < f.limit || len(f.running) > 1 {
		i := f.rng.IntN(len(f.running))
		m := f.running[i]
		if m.steps--; m.steps > 0 {
			f.step(m)
			continue
		}
		// Most threads wait for their children before they end.
		if f.wait(m); len(m.children) > 0 && f.rng.IntN(8) > 0 {
			continue
		}
		// Sometimes a thread does something after its last message.
		if f.rng.IntN(8) > 0 {
			f.add(m.id, heisen.Send, done(m.id))
		}
		if f.rng.IntN(8) == 0 {
			f.access(m.id)
		}
		f.add(m.id, heisen.End, heisen.Object(m.id))
		f.running[i] = f.running[len(f.running)-1]
		f.running = f.running[:len(f.running)-1]
	}
	return f.out
}

func (f *family) access(t heisen.Thread) {
	op := heisen.Read
	if f.rng.IntN(3) == 0 {
		op = heisen.Write
	}
	f.add(t, op, heisen.Object(8*(1+f.rng.IntN(40))))
}

func (f *family) step(m *member) {
	switch n := f.rng.IntN(12); {
	case n < 3 && f.next < f.limit && len(f.running) < 30:
		f.add(m.id, heisen.Fork, heisen.Object(f.next))
		m.children = append(m.children, f.next)
		f.running = append(f.running, &member{id: f.next, steps: 1 + f.rng.IntN(30)})
		f.next++
	case n < 6:
		f.wait(m)
	case n < 9:
		lock := heisen.Object(1<<20 + 64*f.rng.IntN(5))
		f.add(m.id, heisen.Acquire, lock)
		f.access(m.id)
		f.add(m.id, heisen.Release, lock)
	default:
		f.access(m.id)
	}
}

// wait waits for the children of m that have ended.
func (f *family) wait(m *member) {
	var running []heisen.Thread
	for _, child := range m.children {
		switch {
		case f.isRunning(child):
			running = append(running, child)
		case f.rng.IntN(2) == 0:
			f.add(m.id, heisen.Receive, done(child))
		default:
			f.add(m.id, heisen.Join, heisen.Object(child))
		}
	}
	m.children = running
}

func (f *family) isRunning(t heisen.Thread) bool {
	for _, m := range f.running {
		if m.id == t {
			return true
		}
	}
	return false
}

// plainRaces finds the races of a family's trace with a clock entry for every
// thread, and nothing shared or reused. The result is the pairs of positions.
func plainRaces(trace []heisen.Record, threads int) map[[2]uint64]bool {
	type point struct {
		index, time uint64
		thread      heisen.Thread
		op          heisen.Op
	}
	clocks := make([][]uint64, threads)
	for i := range clocks {
		clocks[i] = make([]uint64, threads)
		clocks[i][i] = 1
	}
	objects := map[heisen.Object][]uint64{}
	history := map[heisen.Object][]point{}
	join := func(a, b []uint64) {
		for i := range b {
			a[i] = max(a[i], b[i])
		}
	}
	races := map[[2]uint64]bool{}
	for i, r := range trace {
		c := clocks[r.Thread]
		switch r.Op {
		case heisen.Read, heisen.Write:
			for _, p := range history[r.Object] {
				if p.thread != r.Thread && p.op.Conflicts(r.Op) && p.time > c[p.thread] {
					races[[2]uint64{p.index, uint64(i + 1)}] = true
				}
			}
			history[r.Object] = append(history[r.Object], point{uint64(i + 1), c[r.Thread], r.Thread, r.Op})
		case heisen.Fork:
			join(clocks[r.Object], c)
			c[r.Thread]++
		case heisen.Join:
			join(c, clocks[r.Object])
		case heisen.Acquire, heisen.Receive:
			join(c, objects[r.Object])
		case heisen.Release, heisen.Send:
			if objects[r.Object] == nil {
				objects[r.Object] = make([]uint64, threads)
			}
			join(objects[r.Object], c)
			c[r.Thread]++
		}
	}
	return races
}

// TestSlotReuseChangesNothing compares a detector that hands slots on with one
// that does not.
func TestSlotReuseChangesNothing(t *testing.T) {
	const threads = 600
	for seed := range uint64(20) {
		trace := randomFamily(seed, threads)
		want := plainRaces(trace, threads)
		found, err := findingsOf(trace, reference)
		if err != nil {
			t.Fatal(err)
		}
		got := map[[2]uint64]bool{}
		for _, f := range found {
			got[[2]uint64{f.Accesses[0].Index, f.Accesses[1].Index}] = true
			if f.Accesses[0].Thread != trace[f.Accesses[0].Index-1].Thread {
				t.Fatalf("seed %d: wrong thread in %+v", seed, f)
			}
		}
		if len(want) == 0 {
			t.Fatalf("seed %d: no races at all", seed)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-without reuse +with reuse):\n%s", seed, diff)
		}
		d := must.Make(vclock.NewFastTrack())
		d.HandleRecords(trace)
		if d.Slots() >= threads*9/10 {
			t.Errorf("seed %d: %d slots for %d threads", seed, d.Slots(), threads)
		}
	}
}

// sealed is the number of slots that a compaction may seal in the tests below.
const sealed = 8

// TestMillionGoroutines starts a million goroutines, of which at most fifty run
// at a time, and waits for each fifty with a WaitGroup.
func TestMillionGoroutines(t *testing.T) {
	const goroutines, width = 1_000_000, 50
	races := 0
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
	var batch []heisen.Record
	add := func(t heisen.Thread, op heisen.Op, o heisen.Object) {
		batch = append(batch, heisen.Record{Thread: t, Op: op, Object: o})
	}
	const wg, mu, shared, own = 0x1000, 0x2000, 0x3000, 0x4000
	for first := heisen.Thread(1); first <= goroutines; first += width {
		batch = batch[:0]
		for g := first; g < first+width; g++ {
			add(0, heisen.Fork, heisen.Object(g))
		}
		for g := first; g < first+width; g++ {
			add(g, heisen.Begin, heisen.Object(g))
			add(g, heisen.Acquire, mu)
			add(g, heisen.Write, shared)
			add(g, heisen.Release, mu)
			add(g, heisen.Write, own+8*heisen.Object(g-first))
			add(g, heisen.Send, wg)
			add(g, heisen.End, heisen.Object(g))
		}
		add(0, heisen.Receive, wg)
		add(0, heisen.Read, shared)
		d.HandleRecords(batch)
	}
	if err := d.Flush(); err != nil || races != 0 {
		t.Errorf("%d races, error %v", races, err)
	}
	if d.Slots() > width+1+sealed {
		t.Errorf("%d slots", d.Slots())
	}
}

// TestSemaphore bounds the goroutines by a semaphore, and waits for them only
// once, at the end: what each publishes last is seen by nobody until then, but
// its accesses are, and its slot must be free for the next.
func TestSemaphore(t *testing.T) {
	const goroutines, width = 100_000, 50
	races := 0
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
	var batch []heisen.Record
	add := func(t heisen.Thread, op heisen.Op, o heisen.Object) {
		batch = append(batch, heisen.Record{Thread: t, Op: op, Object: o})
	}
	const wg, semaphore, own = 0x1000, 0x2000, 0x4000
	for g := heisen.Thread(1); g <= goroutines; g++ {
		batch = batch[:0]
		place := 8 * heisen.Object(g%width)
		add(0, heisen.Receive, semaphore+place)
		add(0, heisen.Send, semaphore+place)
		add(0, heisen.Fork, heisen.Object(g))
		add(g, heisen.Write, own+place)
		add(g, heisen.Receive, semaphore+place)
		add(g, heisen.Send, semaphore+place)
		add(g, heisen.Send, wg)
		add(g, heisen.End, heisen.Object(g))
		d.HandleRecords(batch)
	}
	d.HandleRecords([]heisen.Record{{Thread: 0, Op: heisen.Receive, Object: wg}, {Thread: 0, Op: heisen.Read, Object: own, Len: 8 * width}})
	if err := d.Flush(); err != nil || races != 0 {
		t.Errorf("%d races, error %v", races, err)
	}
	if d.Slots() > 2*width+sealed {
		t.Errorf("%d slots", d.Slots())
	}
}

// TestLateJoin joins a thread whose slot and clock are gone: what it did must
// not race, and the loss of precision must be told.
func TestLateJoin(t *testing.T) {
	const late = 5000
	races := 0
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
	feed := func(t heisen.Thread, op heisen.Op, o heisen.Object) {
		d.Handle((&heisen.Record{Thread: t, Op: op, Object: o}).Event())
	}
	feed(0, heisen.Fork, 1)
	feed(0, heisen.Fork, late)
	feed(late, heisen.Write, 64)
	feed(late, heisen.Send, 128)
	feed(late, heisen.End, late)
	feed(0, heisen.Receive, 128)
	feed(0, heisen.Fork, late+1) // takes the slot over
	if d.Slots() != 3 {
		t.Fatalf("%d slots", d.Slots())
	}
	feed(1, heisen.Join, late)
	feed(1, heisen.Write, 64)
	if races != 0 {
		t.Error("a joined thread races")
	}
	feed(1, heisen.Write, 64)
	feed(0, heisen.Write, 64)
	if races != 1 {
		t.Errorf("%d races after the join, want 1", races)
	}
	if err := d.Flush(); !errors.Is(err, vclock.ErrEndedThread) {
		t.Errorf("error %v", err)
	}
}

// TestEndedThreadGoesOn checks that an ended thread that has further events is ordered after its own
// past, even if another thread has its slot.
func TestEndedThreadGoesOn(t *testing.T) {
	for _, id := range []heisen.Thread{1, 5000} {
		races := 0
		d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
		feed := func(t heisen.Thread, op heisen.Op, o heisen.Object) {
			d.Handle((&heisen.Record{Thread: t, Op: op, Object: o}).Event())
		}
		feed(0, heisen.Fork, heisen.Object(id))
		feed(id, heisen.Write, 64)
		feed(0, heisen.Join, heisen.Object(id))
		feed(0, heisen.Fork, 2)
		feed(id, heisen.Write, 64)
		if races != 0 {
			t.Errorf("thread %d races with itself", id)
		}
		feed(0, heisen.Write, 64)
		if races != 1 {
			t.Errorf("thread %d: %d races, want 1", id, races)
		}
	}
}

func TestTooManyThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a million threads")
	}
	races := 0
	d := must.Make(vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { races++ })))
	for id := range heisen.Thread(vclock.MaxSlots + 10) {
		d.Handle((&heisen.Record{Thread: id, Op: heisen.Begin}).Event())
	}
	d.Handle((&heisen.Record{Thread: 1 << 31, Op: heisen.Write, Object: 8}).Event())
	if err := d.Flush(); !errors.Is(err, vclock.ErrTooManyThreads) || races != 0 {
		t.Errorf("error %v, %d races", err, races)
	}
}

// FuzzDetectors feeds arbitrary records: no detector may panic, and FastTrack
// finds something exactly if the reference does.
func FuzzDetectors(f *testing.F) {
	f.Add([]byte{byte(heisen.Fork), 0, 1, 0, byte(heisen.Write), 0, 8, 0, byte(heisen.Write), 1, 8, 0})
	f.Add([]byte{byte(heisen.AtomicWrite), 3, 8, 8, byte(heisen.Free), 0, 0, 255, byte(heisen.Read), 1, 9, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		var trace []heisen.Record
		for ; len(data) >= 4; data = data[4:] {
			r := heisen.Record{Op: heisen.Op(data[0]), Thread: heisen.Thread(data[1]), Object: heisen.Object(data[2])}
			r.Len, r.Value = uint16(data[3]), uint64(data[3])
			if data[3] > 250 { // far corners
				r.Object = ^r.Object
				r.Thread = ^r.Thread
				r.Value = ^uint64(0)
			}
			trace = append(trace, r)
		}
		hb, err1 := findingsOf(trace, reference)
		ft, err2 := findingsOf(trace, fastTrack)
		if (len(hb) > 0) != (len(ft) > 0) {
			t.Fatalf("reference %d findings, %v; FastTrack %d, %v", len(hb), err1, len(ft), err2)
		}
	})
}
