package build

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/mcm"
)

var replays = flag.Int("replays", 4, "how many seeds TestReplay tries for each program")

// replayed are programs whose output depends on the schedule.
var replayed = []string{"det-channels", "det-select", "det-maps", "det-timers", "det-pool", "det-group", "det-collections", "det-addresses", "det-emptied", "det-tries"}

// traceHash is a hash of all that was recorded, including addresses and call paths, but not the
// numbers that the receiver has given to places.
func (rec *recording) traceHash() string {
	type place struct {
		site heisen.Site
		ctx  heisen.Context
	}
	places := map[place]string{}
	h := sha256.New()
	for _, r := range rec.events {
		at := place{r.Site, r.Context}
		if places[at] == "" {
			places[at] = fmt.Sprint(rec.syms.Stack(at.site, at.ctx), len(rec.syms.Locks(at.ctx)), rec.syms.Task(r.Thread, at.ctx))
		}
		fmt.Fprintln(h, r.Op, r.Flags, r.Thread, r.Object, r.Value, r.Len, places[at])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// outcome is everything about a run that must be equal in another run with the same schedule.
func (rec *recording) outcome() string {
	e := rec.execution
	var influences []string
	for _, in := range e.Influences {
		influences = append(influences, fmt.Sprint(in.Count, " of ", in.Kind))
	}
	return fmt.Sprintf("status %d, influences %q, %d steps, choices %x, virtual %v, trace of %d events %s, output\n%s%s",
		rec.status, influences, e.Steps, e.Hash, e.Virtual, len(rec.events), rec.traceHash(), rec.stdout, rec.stderr)
}

// TestReplay: the same program with the same seed does, prints and records the same. Another seed
// gives another order. With -replays=100 the log has the result for 100 seeds and all programs.
func TestReplay(t *testing.T) {
	replay(t, program(t), uint64(*replays))
}

func replay(t *testing.T, exe string, seeds uint64) {
	same, all := 0, 0
	for _, name := range replayed {
		outputs := map[string]bool{}
		for seed := range seeds {
			r := run{exe: exe, args: []string{name}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}}
			first, again := record(t, r), record(t, r)
			all++
			if want, got := first.outcome(), again.outcome(); got != want {
				t.Errorf("%s with seed %d:\n%s", name, seed, cmp.Diff(want, got))
				continue
			}
			same++
			if first.status != 0 || first.err != nil || !first.execution.Replayable() {
				t.Errorf("%s with seed %d: status %d, error %v, %+v", name, seed, first.status, first.err, first.execution.Influences)
			}
			outputs[first.stdout] = true
		}
		if len(outputs) == 1 && seeds > 1 {
			t.Errorf("%s prints the same with all seeds: %v", name, outputs)
		}
	}
	t.Logf("%d of %d", same, all)
}

// TestReplayUnrecorded: what is recorded does not change what the program does.
func TestReplayUnrecorded(t *testing.T) {
	for _, name := range replayed {
		var want string
		for _, mode := range []recorder.Mode{recorder.Everything, recorder.FindingsOnly, recorder.Races, recorder.Unrepeated} {
			rec := record(t, run{exe: program(t), args: []string{name}, mode: mode, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: 1}}})
			rec.events = nil
			if got := rec.outcome(); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s in mode %d:\n%s\nnot\n%s", name, mode, got, want)
			}
		}
	}
}

// TestTries: each way to try to lock fails in some executions.
func TestTries(t *testing.T) {
	var missing [3]bool
	for i := range missing {
		missing[i] = true
	}
	for seed := range uint64(10) {
		rec := record(t, run{exe: program(t), args: []string{"det-tries"}, mode: recorder.FindingsOnly, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}})
		var failed [3]int
		if _, err := fmt.Sscanf(rec.stdout, "[%d %d %d]", &failed[0], &failed[1], &failed[2]); err != nil {
			t.Fatalf("%q: %v", rec.stdout, err)
		}
		for i, n := range failed {
			missing[i] = missing[i] && n == 0
		}
	}
	if missing != [3]bool{} {
		t.Errorf("no Mutex.TryLock, RWMutex.TryLock or RWMutex.TryRLock has failed: %v", missing)
	}
}

// TestReplayElsewhere: what else is in the environment, and so in the heap, changes neither the choices nor what the
// program prints.
func TestReplayElsewhere(t *testing.T) {
	for _, name := range []string{"det-addresses", "det-emptied", "det-pool"} {
		for seed := range uint64(*replays) {
			var want string
			for i, size := range []int{0, 3000, 100_000} {
				rec := record(t, run{exe: program(t), args: []string{name}, mode: recorder.FindingsOnly,
					env: []string{"ELSEWHERE=" + strings.Repeat("x", size)}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}})
				if got := rec.outcome(); i == 0 {
					want = got
				} else if got != want {
					t.Errorf("%s with seed %d and %d more bytes in the environment:\n%s", name, seed, size, cmp.Diff(want, got))
				}
			}
		}
	}
}

// TestScheduledVerdicts: programs have the same verdicts in deterministic runs, by the detector that
// runs inside of them, too, and no race is predicted in programs without races. Goroutines that are
// left behind go on to their ends.
func TestScheduledVerdicts(t *testing.T) {
	list, err := exec.Command(program(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(strings.Fields(string(list)), 2) {
		racy, name := pair[0] == "race", pair[1]
		t.Run(pair[0]+"/"+name, func(t *testing.T) {
			t.Parallel()
			found, foundInside := false, false
			for seed := range uint64(2) {
				rec := record(t, run{exe: program(t), args: []string{name}, mode: recorder.EverythingAndRaces,
					schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}, ToEnd: true}})
				if rec.err != nil || !rec.finished || rec.status != 0 {
					t.Errorf("error %v, finished %v, status %d: %s", rec.err, rec.finished, rec.status, rec.stderr)
				}
				for _, f := range rec.races {
					found = true
					if !racy {
						t.Errorf("false alarm\n%s", rec.describe(f))
					}
				}
				for _, f := range rec.found {
					foundInside = true
					if !racy {
						t.Errorf("false alarm inside\n%s", rec.describe(f))
					}
				}
				// A goroutine that copies a lock while it holds the lock races with those that try
				// to acquire it in between.
				if !racy && name != "lock-copied-while-held" {
					for _, f := range rec.predict(t) {
						t.Errorf("false prediction\n%s", rec.describe(f))
					}
				}
			}
			if racy && (!found || !foundInside) {
				t.Errorf("race found: %v, inside: %v", found, foundInside)
			}
		})
	}
}

// predict returns the races that a recording predicts.
func (rec *recording) predict(t *testing.T) (races []heisen.Finding) {
	t.Helper()
	d, err := mcm.NewDetector(mcm.WithSymbols(rec.syms), mcm.WithSink(func(f heisen.Finding) {
		if f.Kind == heisen.Race {
			races = append(races, f)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords(rec.events)
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
	return races
}

// TestScheduledEnds: however a deterministic run ends, the end is reported.
func TestScheduledEnds(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		says    string
		stuck   recorder.StuckReason
		reasons []string // of the goroutines that are stuck
	}{
		{"det-dead-channel", 2, "all goroutines are asleep - deadlock!", recorder.Deadlock, []string{"chan receive"}},
		{"det-dead-group", 2, "all goroutines are asleep - deadlock!", recorder.Deadlock, []string{"sync.WaitGroup.Wait"}},
		{"det-dead-select", 2, "all goroutines are asleep - deadlock!", recorder.Deadlock, []string{"select (no cases)", "select (no cases)"}},
		{"det-dead-rwmutex", 2, "all goroutines are asleep - deadlock!", recorder.Deadlock, []string{"sync.RWMutex.Lock"}},
		{"det-dead-cond", 2, "all goroutines are asleep - deadlock!", recorder.Deadlock, []string{"sync.Cond.Wait"}},
		{"det-goexit", 2, "no goroutines (main called runtime.Goexit) - deadlock!", recorder.Deadlock, nil},
		{"det-ticker", 2, "heisen: the program has reached the bound on its time", recorder.OutOfTime, []string{"select (no cases)", "chan receive"}},
		{"det-leak", 0, "", 0, nil},
		{"det-panic", 2, "panic: for the test", 0, nil},
		{"det-exit", 3, "", 0, nil},
		{"det-spin", 0, "", 0, nil},
		{"det-spin-atomic", 0, "", 0, nil},
		{"det-busy", 0, "", 0, nil},
		{"fatal-log", 1, "for the test", 0, nil},
		{"nil-dereference", 2, "nil pointer dereference", 0, nil},
		{"throw", 2, "fatal error: sync: unlock of unlocked mutex", 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := record(t, run{exe: program(t), args: []string{test.name}, schedule: &recorder.Schedule{}})
			e := rec.execution
			if rec.err != nil || rec.status != test.status || !strings.Contains(rec.stderr, test.says) || !e.Ended || e.Steps == 0 {
				t.Errorf("error %v, status %d, %+v: %s", rec.err, rec.status, e, rec.stderr)
			}
			var stuck recorder.StuckReason
			var reasons []string
			if e.Stuck != nil {
				stuck = e.Stuck.Why
				for _, g := range e.Stuck.Goroutines {
					reasons = append(reasons, g.Reason)
					if frames := rec.syms.Site(g.Site).Frames; len(frames) == 0 || filepath.Base(frames[0].File) != "scheduled.go" {
						t.Errorf("goroutine %d is stuck at %v", g.Thread, frames)
					}
				}
			}
			if stuck != test.stuck || !slices.Equal(reasons, test.reasons) {
				t.Errorf("stuck for reason %d: %q", stuck, reasons)
			}
		})
	}
}

// TestBounds: a program that does not end is ended by the bound on its steps.
func TestBounds(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"det-ticker"}, schedule: &recorder.Schedule{MaxSteps: 1000}})
	if e := rec.execution; e.Stuck == nil || e.Stuck.Why != recorder.OutOfSteps || e.Steps != 1000 || rec.status != 2 {
		t.Errorf("status %d, %+v", rec.status, e)
	}
}

// TestBoundOfTime: a program that does not end is ended by the bound on its real time, and in the same
// way if it is repeated with the number of steps until then.
func TestBoundOfTime(t *testing.T) {
	schedule := recorder.Schedule{MaxVirtual: 100 * 365 * 24 * time.Hour, MaxTime: 50 * time.Millisecond}
	rec := record(t, run{exe: program(t), args: []string{"det-ticker"}, schedule: &schedule})
	e := rec.execution
	if e.Stuck == nil || e.Stuck.Why != recorder.OutOfSteps || e.Steps == 0 || rec.status != 2 {
		t.Fatalf("status %d, %+v", rec.status, e)
	}
	schedule.MaxTime, schedule.MaxSteps = 0, e.Steps
	again := record(t, run{exe: program(t), args: []string{"det-ticker"}, schedule: &schedule}).execution
	if again.Stuck == nil || again.Stuck.Why != recorder.OutOfSteps || again.Steps != e.Steps || again.Hash != e.Hash || again.Virtual != e.Virtual {
		t.Errorf("%+v, want %+v", again, e)
	}
}

// TestLockOrder: some schedules lead to the deadlock and others do not; the report has both locks.
func TestLockOrder(t *testing.T) {
	dead, alive := 0, 0
	for seed := uint64(0); dead == 0 || alive == 0; seed++ {
		if seed == 100 {
			t.Fatalf("%d deadlocks in 100 runs", dead)
		}
		rec := record(t, run{exe: program(t), args: []string{"det-ab-ba"}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}})
		switch stuck := rec.execution.Stuck; {
		case stuck == nil && rec.status == 0:
			alive++
		case stuck == nil || rec.status != 2 || len(stuck.Goroutines) != 2:
			t.Fatalf("status %d, %+v", rec.status, stuck)
		default:
			dead++
			a, b := stuck.Goroutines[0], stuck.Goroutines[1]
			if a.Reason != "sync.Mutex.Lock" || b.Reason != a.Reason || a.Object == b.Object || a.Object == 0 || b.Object == 0 {
				t.Errorf("%+v and %+v", a, b)
			}
		}
	}
}

// TestOutside: influences from outside are reported, and programs that depend on them continue.
func TestOutside(t *testing.T) {
	for _, test := range []struct {
		name, says string
		by         recorder.InfluenceKind
	}{
		{"out-http", "hello /", recorder.Network},
		{"out-timeout", "true", recorder.Network},
		{"out-exec", "out<nil> out<nil> signal: killed", recorder.Syscall},
		{"out-file", "true <nil>", recorder.Input},
		{"out-blocking", "1 <nil>", recorder.Syscall},
		{"out-signal", "user defined signal 1", recorder.Signal},
		{"out-thread", "1", recorder.Thread},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				rec := record(t, run{exe: program(t), args: []string{test.name}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}})
				e := rec.execution
				if rec.err != nil || rec.status != 0 || !strings.Contains(rec.stdout, test.says) {
					t.Errorf("error %v, status %d: %s%s", rec.err, rec.status, rec.stdout, rec.stderr)
				}
				if !slices.ContainsFunc(e.Influences, func(in recorder.Influence) bool { return in.Kind == test.by && in.Count > 0 }) {
					t.Errorf("influences %+v", e.Influences)
				}
				if e.Replayable() != (test.by == recorder.Input) {
					t.Errorf("replayable %v with %+v", e.Replayable(), e.Influences)
				}
			}
		})
	}
}

// target is the target at a named line.
func target(t *testing.T, name string, mode recorder.TargetMode, roles strategies.Roles) recorder.Target {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(prog, "scheduled.go"))
	if err != nil {
		t.Fatal(err)
	}
	line := linesOf(t, "scheduled.go")[name]
	if line == 0 {
		t.Fatalf("no line is called %s", name)
	}
	return recorder.Target{File: sourceName(file), Line: line, Mode: mode, Roles: roles}
}

// sourceName returns the name that a source file has in programs.
func sourceName(file string) string {
	if *prebuilt != "" { // on a system without volumes
		file = filepath.ToSlash(strings.TrimPrefix(file, filepath.VolumeName(file)))
	}
	return file
}

// TestMeetings: two goroutines are brought to the two places of a race, and continue in either
// order.
func TestMeetings(t *testing.T) {
	for _, name := range []string{"race", "map"} {
		firsts := map[heisen.Op]int{}
		for seed := range uint64(10) {
			rec := record(t, run{exe: program(t), args: []string{"at-" + name}, mode: recorder.FindingsOnly, schedule: &recorder.Schedule{
				Strategy: strategies.Config{Strategy: strategies.RaceDirected, Seed: seed},
				Targets: []recorder.Target{
					target(t, name+"-write", recorder.OnWrite, strategies.First), target(t, name+"-read", recorder.OnRead, strategies.Second),
				},
			}})
			if len(rec.meetings) == 0 || !rec.execution.Reached {
				t.Fatalf("%s with seed %d: no meeting: error %v, %+v", name, seed, rec.err, rec.execution)
			}
			m := rec.meetings[0]
			if m.Kind != strategies.Race || len(m.Accesses) != 2 || m.Accesses[0].Thread == m.Accesses[1].Thread || m.Accesses[0].Object != m.Accesses[1].Object {
				t.Fatalf("meeting %+v", m)
			}
			for _, a := range m.Accesses {
				frames := rec.syms.Stack(a.Site, a.Context)
				want := map[heisen.Op]string{heisen.Read: name + "-read", heisen.Write: name + "-write"}[a.Op]
				if len(frames) == 0 || frames[0].Line != linesOf(t, "scheduled.go")[want] {
					t.Errorf("%v at %+v", a.Op, frames)
				}
			}
			firsts[m.Accesses[0].Op]++
		}
		if firsts[heisen.Read] == 0 || firsts[heisen.Write] == 0 {
			t.Errorf("%s: first went %v", name, firsts)
		}
	}
}

// TestDirectedDeadlock: goroutines are brought to the places where each waits for the other's lock.
func TestDirectedDeadlock(t *testing.T) {
	for seed := range uint64(5) {
		rec := record(t, run{exe: program(t), args: []string{"at-locks"}, mode: recorder.FindingsOnly, schedule: &recorder.Schedule{
			Strategy: strategies.Config{Strategy: strategies.DeadlockDirected, Seed: seed},
			Targets:  []recorder.Target{target(t, "lock-a", recorder.OnLock, strategies.Inner), target(t, "lock-b", recorder.OnLock, strategies.Inner)},
		}})
		if stuck := rec.execution.Stuck; stuck == nil || stuck.Why != recorder.Deadlock {
			t.Errorf("seed %d: %+v", seed, rec.execution)
		}
	}
}

// TestChoices: the logged choices suffice to repeat a run.
func TestChoices(t *testing.T) {
	for _, name := range []string{"det-channels", "det-pool", "det-timers"} {
		for _, strategy := range []strategies.Strategy{strategies.RandomWalk, strategies.PCT} {
			r := run{exe: program(t), args: []string{name}, schedule: &recorder.Schedule{
				Strategy: strategies.Config{Strategy: strategy, Seed: 7, Depth: 3, Steps: 500}, Log: true,
			}}
			first := record(t, r)
			if len(first.execution.Choices) == 0 || first.execution.Lost != 0 {
				t.Fatalf("%s: %+v", name, first.execution)
			}
			r.schedule = &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Replay, Seed: 7, Choices: first.execution.Choices}}
			again := record(t, r)
			if want, got := first.outcome(), again.outcome(); got != want || again.execution.Diverged != 0 {
				t.Errorf("%s with strategy %d:\n%s\nbut replayed, with %d choices that could not be made:\n%s", name, strategy, want, again.execution.Diverged, got)
			}
		}
	}
}

// TestStopsAtCopies stops goroutines wherever the compiler reports accesses to structs full of
// pointers, where its stack maps are wrong, while the collector runs all the time.
func TestStopsAtCopies(t *testing.T) {
	stopAtCopies(t, program(t))
}

func stopAtCopies(t *testing.T, exe string) {
	first, last := target(t, "first-struct", recorder.OnRead|recorder.OnWrite, strategies.First), target(t, "last-struct", recorder.OnRead, strategies.First)
	var targets []recorder.Target
	for at := first; at.Line <= last.Line; at.Line++ {
		targets = append(targets, at)
	}
	for seed := range uint64(3) {
		rec := record(t, run{exe: exe, args: []string{"at-structs"}, mode: recorder.FindingsOnly,
			env:      []string{"GODEBUG=clobberfree=1"},
			schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}, Targets: targets}})
		if rec.err != nil || rec.status != 0 || rec.execution.Steps < 2000 {
			t.Errorf("error %v, status %d, %d steps: %s", rec.err, rec.status, rec.execution.Steps, rec.stderr)
		}
	}
}

// TestScheduledCgo: calls of C are reported, and deadlocks are found in programs that are linked
// with C, too.
func TestScheduledCgo(t *testing.T) {
	t.Setenv("CGO_ENABLED", "1")
	needCompiler(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module calls\n\ngo 1.25\n",
		"main.go": `package main

/*
#include <unistd.h>
static int twice(int x) { return 2*x; }
static void nap(int ms) { usleep(ms*1000); }
extern int goBack(int);
static int back(int x) { return goBack(x); }
*/
import "C"

import (
	"fmt"
	"sync"
)

//export goBack
func goBack(x C.int) C.int {
	c := make(chan int)
	go func() { c <- int(x) + 1 }()
	return C.int(<-c)
}

func main() {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			fmt.Println(i, C.twice(C.int(i)), C.back(C.int(i)))
			C.nap(C.int(30 * i))
		})
	}
	wg.Wait()
	<-make(chan int)
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "calls")
	if err := b.Build(t.Context(), dir, exe, nil, "."); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		rec := record(t, run{exe: exe, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}})
		e := rec.execution
		for _, line := range []string{"0 0 1\n", "1 2 2\n", "2 4 3\n", "3 6 4\n"} {
			if !strings.Contains(rec.stdout, line) {
				t.Errorf("no %q in %q", line, rec.stdout)
			}
		}
		if rec.err != nil || rec.status != 2 || e.Stuck == nil || e.Stuck.Why != recorder.Deadlock || len(e.Stuck.Goroutines) != 1 || e.Replayable() {
			t.Errorf("error %v, status %d, %+v: %s", rec.err, rec.status, e, rec.stderr)
		}
		if !slices.ContainsFunc(e.Influences, func(in recorder.Influence) bool { return in.Kind == recorder.Cgo && in.Count == 12 }) {
			t.Errorf("influences %+v", e.Influences)
		}
	}
}

// TestScheduledTests runs tests, with package testing's own concurrency.
func TestScheduledTests(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module tests\n\ngo 1.25\n",
		"x_test.go": `package tests

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestParallel(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { fmt.Println("clean", i) })
			for range 3 {
				time.Sleep(time.Minute)
				fmt.Println("parallel", i)
			}
		})
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for i := range 3 {
			go func() { time.Sleep(time.Second); fmt.Println("bubble", i) }()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		fmt.Println(time.Since(start))
	})
}

func TestFails(t *testing.T) {
	c := make(chan int)
	go func() { c <- 1 }()
	go func() { c <- 2 }()
	if <-c == 2 {
		t.Fatal("two")
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	exe := testBinary(t, dir)
	outputs, statuses := map[string]bool{}, map[int]bool{}
	for seed := range uint64(8) {
		r := run{exe: exe, args: []string{"-test.v", "-test.timeout=0"}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}}
		first, again := record(t, r), record(t, r)
		if want, got := first.outcome(), again.outcome(); got != want {
			t.Errorf("seed %d:\n%s", seed, cmp.Diff(want, got))
		}
		if want := "(180"; !strings.Contains(first.stdout, want) { // seconds of each subtest
			t.Errorf("no %s in\n%s", want, first.stdout)
		}
		outputs[first.stdout], statuses[first.status] = true, true
	}
	if len(outputs) < 2 || len(statuses) != 2 {
		t.Errorf("statuses %v, and %d outputs", statuses, len(outputs))
	}
}
