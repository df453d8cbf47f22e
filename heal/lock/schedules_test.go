package lock

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// TestSchedules runs random small programs under all interleavings of their operations, and compares after each
// operation which goroutines are blocked, how the locks are held, and what the operations reported, with the model.
// No program has a deadlock of its own, so all goroutines must come to their ends.
func TestSchedules(t *testing.T) {
	programs := tier.Pick(30, 30, 200)
	runs, blocked, lost := 0, 0, 0
	run := func(name string, program [][]modelOp) {
		schedules(program, nil, func(schedule []int) {
			runs++
			b, l, err := runSchedule(program, schedule)
			if err != nil {
				t.Fatalf("%s: program %v, schedule %v: %v", name, program, schedule, err)
			}
			blocked += b
			lost += l
		})
	}
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var program [][]modelOp
		if seed%2 == 0 {
			program = [][]modelOp{randomOps(r, 4), randomOps(r, 4)}
		} else {
			program = [][]modelOp{randomOps(r, 2), randomOps(r, 2), randomOps(r, 1)}
		}
		run(fmt.Sprint("seed ", seed), program)
	}
	acquire := func(mode Mode, site int) modelOp { return modelOp{"acquire", 0, mode, site} }
	do := func(kind string) modelOp { return modelOp{kind: kind} }
	// A function that was called is left while it is paused, as by a panic, and its caller goes on.
	left := []modelOp{acquire(Shared, 1), do("call"), acquire(Update, 1), do("pause"), do("return"), do("resume"), do("release")}
	run("left in a pause", [][]modelOp{left, left})
	run("left in a pause", [][]modelOp{left, {acquire(Exclusive, 1), do("release")}, {acquire(Shared, 1), do("release")}})
	upgrade := []modelOp{acquire(Shared, 1), acquire(Exclusive, 2), do("release")}
	run("upgrades", [][]modelOp{upgrade, upgrade, upgrade})
	t.Logf("%d schedules; an operation blocked %d times, and %d reported that a lock was not kept", runs, blocked, lost)
	if blocked == 0 || lost == 0 {
		t.Error("nothing blocked, or nothing was lost")
	}
}

// randomOps returns n operations of a thread, and those that end what they have begun. Lock 1 is used only in a
// call, so all threads acquire lock 0 first.
func randomOps(r *rand.Rand, n int) (ops []modelOp) {
	in := false     // a call
	resumed := true // or nothing was paused
	for range n {
		lock := 0
		if in {
			lock = r.IntN(2)
		}
		mode := Mode(1 + r.IntN(3))
		switch r.IntN(8) {
		case 0, 1, 2:
			ops = append(ops, modelOp{"acquire", lock, mode, r.IntN(3)})
		case 3:
			ops = append(ops, modelOp{"hold", lock, mode, r.IntN(2)})
		case 4:
			ops = append(ops, modelOp{"degrade", 0, mode - 1, r.IntN(3)})
		case 5:
			ops = append(ops, modelOp{kind: "unhold", n: r.IntN(2)})
		case 6:
			kind := []string{"resume", "resume", "release"}[r.IntN(3)]
			ops = append(ops, modelOp{kind: "pause"}, modelOp{kind: kind})
			resumed = kind == "resume"
		case 7:
			ops = append(ops, modelOp{kind: map[bool]string{false: "call", true: "return"}[in]})
			in = !in
		}
	}
	if in {
		ops = append(ops, modelOp{kind: "return"})
	}
	if !resumed { // what the outer function holds
		ops = append(ops, modelOp{kind: "resume"})
	}
	return append(ops, modelOp{kind: "release"})
}

// schedules calls f for all schedules of a program.
func schedules(program [][]modelOp, prefix []int, f func([]int)) {
	m := newModel(program)
	for _, i := range prefix {
		m.begin(i)
	}
	last := true
	for i := range program {
		if m.enabled(i) {
			last = false
			schedules(program, append(prefix[:len(prefix):len(prefix)], i), f)
		}
	}
	if last {
		f(prefix)
	}
}

// realThread runs the operations of a thread on real locks.
type realThread struct {
	ops   []modelOp
	calls []*Held
	begin chan struct{}
	done  atomic.Int32 // operations
	kept  bool         // what the last operation reported
}

func (t *realThread) run(locks *[2]Lock, running *atomic.Int32) {
	for _, op := range t.ops {
		<-t.begin
		t.kept = true
		h := t.calls[len(t.calls)-1]
		switch op.kind {
		case "acquire":
			t.kept = h.Acquire(&locks[op.lock], op.mode, op.n)
		case "hold":
			t.kept = h.Hold(&locks[op.lock], op.mode, op.n)
		case "degrade":
			h.Degrade(op.n, op.mode)
		case "unhold":
			h.Unhold(op.n)
		case "release":
			h.Release()
		case "call":
			inner := h.Inner()
			t.calls = append(t.calls, &inner)
		case "return":
			h.Release()
			t.calls = t.calls[:len(t.calls)-1]
		case "pause":
			h.Pause()
		case "resume":
			t.kept = h.Resume()
		}
		t.done.Add(1)
		running.Add(-1)
	}
}

// runSchedule runs a program on real locks and in the model. It returns how often an operation blocked, and how
// many reported that something was not kept.
func runSchedule(program [][]modelOp, schedule []int) (blocked, lost int, err error) {
	m := newModel(program)
	var locks [2]Lock
	var running atomic.Int32
	threads := make([]*realThread, len(program))
	for i, ops := range program {
		threads[i] = &realThread{ops: ops, calls: []*Held{new(Held)}, begin: make(chan struct{})}
		go threads[i].run(&locks, &running)
	}
	for step, i := range schedule {
		running.Add(1)
		threads[i].begin <- struct{}{}
		for !quiet(&locks, &running) {
			runtime.Gosched()
		}
		m.begin(i)
		if m.threads[i].blocked {
			blocked++
		}
		if err := compare(m, threads, &locks); err != nil {
			return 0, 0, fmt.Errorf("after step %d: %w", step, err)
		}
		if !m.threads[i].kept {
			lost++
		}
	}
	for i, t := range m.threads {
		if t.next < len(t.ops) {
			return 0, 0, fmt.Errorf("thread %d is blocked at the end", i)
		}
	}
	for i := range locks {
		q := locks[i].open()
		if s := locks[i].state.Load(); s&^opened != 0 || q.paused != 0 {
			return 0, 0, fmt.Errorf("lock %d is held at the end: %x, paused %x", i, s, q.paused)
		}
	}
	return blocked, lost, nil
}

// quiet reports whether all goroutines that run an operation wait for a lock.
func quiet(locks *[2]Lock, running *atomic.Int32) bool {
	var asleep int32
	for i := range locks {
		q := locks[i].open()
		defer q.mu.Unlock()
		for w := q.first; w != nil; w = w.next {
			asleep++
		}
	}
	return running.Load() == asleep
}

// compare compares the threads and locks with the model.
func compare(m *model, threads []*realThread, locks *[2]Lock) error {
	var want [2]uint32
	for i, t := range m.threads {
		if got := int(threads[i].done.Load()); got != t.next {
			return fmt.Errorf("thread %d has done %d operations, want %d", i, got, t.next)
		}
		if !t.blocked && threads[i].kept != t.kept {
			return fmt.Errorf("thread %d reported %v, want %v", i, threads[i].kept, t.kept)
		}
		for j := range want {
			want[j] += units[t.has(j)]
		}
	}
	for j := range want {
		if got := locks[j].state.Load() &^ (waiting | opened); got != want[j] {
			return fmt.Errorf("lock %d is held as %x says, want %x", j, got, want[j])
		}
	}
	return nil
}
