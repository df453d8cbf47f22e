package recorder

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/vclock"
)

// event is an event in terms that don't depend on the numbers a stream gives.
type event struct {
	g     int
	op    heisen.Op
	obj   uint64
	size  uint64
	pc    uint64
	calls string // as pcs, innermost first
	locks string // as holds in order of acquisition
	stamp int    // of synchronization events, from 1
	epoch int    // barriers before
}

type hold struct {
	lock   uint64
	shared bool
	pc     uint64
}

// model follows calls and locks in the obvious way.
type model struct {
	calls map[int][]uint64
	locks map[int][]hold
}

func newModel() *model {
	return &model{calls: map[int][]uint64{}, locks: map[int][]hold{}}
}

func (m *model) context(g int) (calls, locks string) {
	out := slices.Clone(m.calls[g])
	slices.Reverse(out)
	return fmt.Sprintf("%x", out), fmt.Sprint(m.locks[g])
}

func (m *model) acquire(g int, h hold) { m.locks[g] = append(m.locks[g], h) }

func (m *model) release(g int, lock uint64, shared bool) {
	holders := append([]int{g}, slices.Sorted(maps.Keys(m.locks))...)
	for _, h := range holders {
		for i, held := range slices.Backward(m.locks[h]) {
			if held.lock == lock && held.shared == shared {
				m.locks[h] = slices.Delete(m.locks[h], i, i+1)
				return
			}
		}
	}
}

// expect returns what each goroutine of an execution does, in its order, and the
// execution as a detector would have seen it as it happened.
func expect(steps []step) (per map[int][]event, order []heisen.Record) {
	per = map[int][]event{}
	m := newModel()
	begun := map[int]bool{}
	epoch, stamp := 0, 0
	add := func(g int, e event) {
		e.calls, e.locks = m.context(g)
		if e.op == heisen.Begin {
			e.calls = "[]" // what it did before there was something to record
		}
		e.g, e.epoch = g, epoch
		per[g] = append(per[g], e)
		r := heisen.Record{Op: e.op, Thread: heisen.Thread(g), Object: heisen.Object(e.obj), Site: heisen.Site(e.pc)}
		if !e.op.IsAccess() {
			r.Value = e.size
			order = append(order, r)
			return
		}
		// A Record cannot say more than 64 KiB.
		for left := e.size; ; {
			r.Len = uint16(min(left, 1<<15))
			order = append(order, r)
			r.Object += heisen.Object(r.Len)
			if left -= uint64(r.Len); left == 0 {
				break
			}
		}
	}
	for _, s := range steps {
		if s.op == 0 {
			epoch++
			continue
		}
		g := s.g
		switch s.op {
		case opCall:
			m.calls[g] = append(m.calls[g], testText+uint64(s.pc))
			continue
		case opLeave:
			m.calls[g] = m.calls[g][:len(m.calls[g])-int(s.obj)]
			continue
		}
		if !begun[g] {
			if s.op == wire.OpEnd {
				continue
			}
			begun[g] = true
			add(g, event{op: heisen.Begin, size: goid(g)})
		}
		e := event{op: eventOps[s.op], obj: s.obj, size: s.size}
		if s.pc != 0 {
			e.pc = testText + uint64(s.pc)
		}
		if recordWords[s.op] == 3 {
			stamp++
			e.stamp = stamp
		}
		switch s.op {
		case wire.OpCollected:
			add(g, event{op: heisen.Receive, obj: uint64(Collector), stamp: e.stamp})
		case wire.OpStep:
			before := e
			before.op = heisen.Observe
			add(g, before)
			add(g, e)
		case wire.OpEnd:
			add(g, event{op: heisen.Send, obj: uint64(Collector), stamp: e.stamp})
			add(g, e)
		default:
			add(g, e)
		}
		switch s.op {
		case wire.OpAcquire, wire.OpTryAcquire, wire.OpAcquireShared, wire.OpTryAcquireShared:
			m.acquire(g, hold{s.obj, e.op == heisen.AcquireShared, e.pc})
		case wire.OpRelease, wire.OpReleaseShared:
			m.release(g, s.obj, s.op == wire.OpReleaseShared)
		}
	}
	return per, order
}

// TestModel records random executions and compares the merged stream with what
// happened.
func TestModel(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			n := max(randomtrials.Count(20_000/shape.steps), 10)
			races := 0
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), 11))
				steps := randomExecution(rng, shape)
				rec := record(rng, shape, steps)
				found, err := checkModel(t, shape, steps, rec)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				races += found
			}
			if races == 0 {
				t.Error("no execution had a race, so the comparison says little")
			}
		})
	}
}

// checkModel reads the recording of an execution, compares it with what happened,
// and returns how many races there were.
func checkModel(t *testing.T, shape shape, steps []step, rec []byte) (races int, err error) {
	want, order := expect(steps)
	s, out, err := readAll(t, rec)
	if err != nil {
		return 0, err
	}
	if !s.Finished() || s.PID() != testPID {
		return 0, fmt.Errorf("finished %v, process %d", s.Finished(), s.PID())
	}
	if err := checkForks(s.Symbols(), out); err != nil {
		return 0, err
	}
	got := observed(s.Symbols(), out)
	if err := checkLocks(got); err != nil {
		return 0, err
	}
	if err := checkOrder(want, got); err != nil {
		return 0, err
	}
	if err := checkGoroutines(shape, want, got); err != nil {
		return 0, err
	}

	merged := slices.Clone(out)
	for i := range merged {
		merged[i].Site = heisen.Site(s.Symbols().Site(out[i].Site).PC)
		merged[i].Context = 0
	}
	happened, verdict := racyPairs(order), racyPairs(merged)
	if shape.collected {
		// What a goroutine did after a collection may be merged before it, and
		// then counts as ordered: races can be missed, never made up.
		for pair := range happened {
			if !verdict[pair] {
				delete(happened, pair)
			}
		}
	}
	if d := cmp.Diff(happened, verdict); d != "" {
		return 0, fmt.Errorf("races (-happened +merged):\n%s", d)
	}
	return len(verdict), nil
}

// observed returns a stream's events in the model's terms: the pieces of a long access joined, and
// without the events that all goroutines have in a collection.
func observed(syms *heisen.Symbols, out []heisen.Record) (events []event) {
	for i, r := range out {
		e := event{g: int(r.Thread), op: r.Op, obj: uint64(r.Object), size: r.Value, pc: syms.Site(r.Site).PC}
		if r.Op.IsAccess() {
			e.size = uint64(r.Len)
		}
		e.calls, e.locks = renderContext(syms, r.Context)
		if r.Op == heisen.Send && r.Object == Collector &&
			(i+1 == len(out) || out[i+1].Op != heisen.End || out[i+1].Thread != r.Thread) {
			continue
		}
		if n := len(events); n > 0 {
			last := &events[n-1]
			if last.g == e.g && last.op == e.op && (e.op == heisen.Read || e.op == heisen.Write) &&
				last.pc == e.pc && last.obj+last.size == e.obj {
				last.size += e.size
				continue
			}
		}
		events = append(events, e)
	}
	return events
}

// checkForks checks that threads begin once, first, and after their fork, and
// that their forks are known.
func checkForks(syms *heisen.Symbols, out []heisen.Record) error {
	forked := map[heisen.Thread]bool{}
	begun := map[heisen.Thread]bool{}
	for i, r := range out {
		if begun[r.Thread] == (r.Op == heisen.Begin) {
			return fmt.Errorf("event %d of thread %d is %v, begun is %v", i, r.Thread, r.Op, begun[r.Thread])
		}
		switch r.Op {
		case heisen.Begin:
			begun[r.Thread] = true
			if info := syms.Thread(r.Thread); info.Forked != forked[r.Thread] {
				return fmt.Errorf("event %d: thread %d begins, forked is %v", i, r.Thread, forked[r.Thread])
			}
		case heisen.Fork:
			child := r.Object.Thread()
			if begun[child] {
				return fmt.Errorf("event %d: thread %d begins before its fork", i, child)
			}
			forked[child] = true
			info := syms.Thread(child)
			if info.Parent != r.Thread || info.Site != r.Site || info.Context != r.Context {
				return fmt.Errorf("event %d: the fork of %d is known as %+v", i, child, info)
			}
		}
	}
	return nil
}

// checkLocks checks the locks held at every event against a model that runs along
// the stream.
func checkLocks(got []event) error {
	m := newModel()
	for i, e := range got {
		if _, locks := m.context(e.g); e.locks != locks {
			return fmt.Errorf("event %d: locks %s, not %s", i, e.locks, locks)
		}
		switch e.op {
		case heisen.Acquire, heisen.AcquireShared:
			m.acquire(e.g, hold{e.obj, e.op == heisen.AcquireShared, e.pc})
		case heisen.Release, heisen.ReleaseShared:
			m.release(e.g, e.obj, e.op == heisen.ReleaseShared)
		}
	}
	return nil
}

// checkOrder checks that synchronization comes in the order of its stamps and
// that nothing crosses a barrier.
func checkOrder(want map[int][]event, got []event) error {
	next := map[int]int{}
	stamp, epoch := 0, 0
	for i, e := range got {
		if next[e.g] == len(want[e.g]) {
			return fmt.Errorf("event %d: goroutine %d did not do that much", i, e.g)
		}
		w := want[e.g][next[e.g]]
		next[e.g]++
		if w.stamp != 0 {
			if w.stamp < stamp {
				return fmt.Errorf("event %d: stamp %d after %d", i, w.stamp, stamp)
			}
			stamp = w.stamp
		}
		if w.epoch < epoch {
			return fmt.Errorf("event %d: it happened before barrier %d, and comes after it", i, epoch)
		}
		epoch = w.epoch
	}
	return nil
}

// checkGoroutines compares what each goroutine did, in its order and in its contexts; the holder of
// a lock that others release depends on the order of the merge.
func checkGoroutines(shape shape, want map[int][]event, got []event) error {
	per := map[int][]event{}
	for _, e := range got {
		per[e.g] = append(per[e.g], e)
	}
	ignore := cmpopts.IgnoreFields(event{}, "stamp", "epoch")
	if shape.foreign {
		ignore = cmpopts.IgnoreFields(event{}, "stamp", "epoch", "locks")
	}
	if d := cmp.Diff(want, per, cmp.AllowUnexported(event{}), ignore); d != "" {
		return fmt.Errorf("goroutines (-want +got):\n%s", d)
	}
	return nil
}

// renderContext writes a context as the model does.
func renderContext(syms *heisen.Symbols, ctx heisen.Context) (calls, locks string) {
	var pcs []uint64
	for _, site := range syms.Calls(ctx) {
		pcs = append(pcs, syms.Site(site).PC)
	}
	var holds []hold
	for _, h := range syms.Locks(ctx) {
		holds = append(holds, hold{uint64(h.Lock), h.Shared, syms.Site(h.Site).PC})
	}
	return fmt.Sprintf("%x", pcs), fmt.Sprint(holds)
}

// racyPairs returns the pairs of sites that race, in no order.
func racyPairs(events []heisen.Record) map[[2]heisen.Site]bool {
	pairs := map[[2]heisen.Site]bool{}
	d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		a, b := f.Accesses[0].Site, f.Accesses[1].Site
		pairs[[2]heisen.Site{min(a, b), max(a, b)}] = true
	})))
	for i := range events {
		d.Handle(events[i].Event())
	}
	d.Flush()
	return pairs
}
