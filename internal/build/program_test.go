package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// TestVerdicts runs the programs with a race and those without. The detector must report a race in
// the former, at places in the program itself, and none in the latter.
func TestVerdicts(t *testing.T) {
	verdicts(t, program(t))
}

func verdicts(t *testing.T, exe string) {
	list, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	if len(names) < 100 {
		t.Fatalf("only %d programs", len(names)/2)
	}
	for pair := range slices.Chunk(names, 2) {
		racy, name := pair[0] == "race", pair[1]
		t.Run(pair[0]+"/"+name, func(t *testing.T) {
			t.Parallel()
			if !testing.Short() {
				checkVerdict(t, exe, name, racy, recorder.Marked).checkMarks(t)
			}
			checkVerdict(t, exe, name, racy, recorder.EverythingAndRaces).checkFound(t)
			checkVerdict(t, exe, name, racy, recorder.Races)
		})
	}
}

// checkVerdict records a program in a mode and checks the findings.
func checkVerdict(t *testing.T, exe, name string, racy bool, mode recorder.Mode) *recording {
	t.Helper()
	rec := record(t, run{exe: exe, args: []string{name}, mode: mode, answer: 5})
	if rec.err != nil || !rec.finished || rec.programs != 1 {
		t.Fatalf("error %v, finished %v, %d programs", rec.err, rec.finished, rec.programs)
	}
	if rec.status != 5 {
		t.Errorf("status %d: %s", rec.status, rec.stderr)
	}
	for _, f := range rec.races {
		if !racy {
			t.Errorf("false alarm\n%s", rec.describe(f))
		}
		for _, a := range f.Accesses {
			frames := rec.syms.Site(a.Site).Frames
			if len(frames) == 0 || !strings.HasPrefix(frames[0].Func, "main.") {
				t.Errorf("a race outside of the program\n%s", rec.describe(f))
			}
		}
	}
	if racy && len(rec.races) == 0 {
		t.Error("no race found")
	}
	return rec
}

// TestUnrecorded: without a socket the program behaves as usual.
func TestUnrecorded(t *testing.T) {
	out, err := exec.Command(program(t), "long-copy").CombinedOutput()
	if err != nil || string(out) != "299999\n" {
		t.Errorf("%q, error %v", out, err)
	}
	cmd := exec.Command(program(t), "return")
	path := filepath.Join(os.TempDir(), "none", "gone")
	cmd.Env = append(os.Environ(), "HEISEN_SOCKET="+path)
	out, err = cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "heisen: cannot reach the analyzer at "+path+": there is no ") {
		t.Errorf("%q, error %v", out, err)
	}
}

func TestGoroutines(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"goroutines"}})
	forks := rec.at(t, "go", heisen.Fork)
	if len(forks) != 1 {
		t.Fatalf("%d forks", len(forks))
	}
	child := forks[0].Object.Thread()
	info := rec.syms.Thread(child)
	if !info.Forked || info.Parent != 0 || info.Site != forks[0].Site || !strings.HasPrefix(info.Name, "goroutine ") {
		t.Errorf("the goroutine is known as %+v", info)
	}
	if name := rec.syms.Thread(0).Name; name != "main goroutine" {
		t.Errorf("thread 0 is called %q", name)
	}
	var ops []heisen.Op
	for _, r := range rec.events {
		if r.Thread == child {
			ops = append(ops, r.Op)
		}
	}
	if len(ops) < 5 || ops[0] != heisen.Begin || ops[len(ops)-1] != heisen.End {
		t.Errorf("the goroutine does %v", ops)
	}
	if got := rec.at(t, "child", heisen.Write); len(got) != 1 || got[0].Thread != child {
		t.Errorf("its accesses are %+v", got)
	}
}

func TestLocks(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"locks"}})
	for _, test := range []struct {
		at   string
		op   heisen.Op
		held string
	}{
		{"lock", heisen.Acquire, ""},
		{"rlock", heisen.AcquireShared, "lock"},
		{"both-held", heisen.Write, "lock, rlock (shared)"},
		{"unlock", heisen.Release, "lock, rlock (shared)"},
		{"one-held", heisen.Write, "rlock (shared)"},
		{"none-held", heisen.Write, ""},
		{"wlock", heisen.Acquire, ""},
		{"w-held", heisen.Write, "wlock"},
		{"wunlock", heisen.Release, "wlock"},
		{"deferred-lock", heisen.Acquire, ""},
		{"deferred-held", heisen.Write, "deferred-lock"},
		{"after-deferred", heisen.Write, ""},
		{"try", heisen.Acquire, ""},
		{"try-held", heisen.Write, "try"},
		{"try-rlock", heisen.AcquireShared, ""},
		{"try-wlock", heisen.Acquire, ""},
	} {
		events := rec.at(t, test.at, test.op)
		if len(events) != 1 {
			t.Errorf("%s: %d events", test.at, len(events))
			continue
		}
		acquires := test.op == heisen.Acquire || test.op == heisen.AcquireShared
		if try := strings.HasPrefix(test.at, "try"); events[0].Flags&heisen.NoWait != 0 != (try && acquires) {
			t.Errorf("%s: flags %#x", test.at, events[0].Flags)
		}
		if held := rec.locks(t, events[0]); held != test.held {
			t.Errorf("%s: holding %q, not %q", test.at, held, test.held)
		}
	}
	if lock, unlock := rec.at(t, "lock", heisen.Acquire), rec.at(t, "unlock", heisen.Release); lock[0].Object != unlock[0].Object {
		t.Error("another lock is released than was acquired")
	}
}

// TestChance: pools and input and output order goroutines by chance; channels do not.
func TestChance(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"chance"}})
	for at, want := range map[string]heisen.Flags{"pool-get": heisen.Chance, "pipe-read": heisen.Chance, "channel-receive": 0} {
		events := rec.at(t, at, heisen.Receive)
		if len(events) == 0 {
			t.Errorf("%s: no event", at)
		}
		for _, r := range events {
			if r.Flags != want {
				t.Errorf("%s: flags %#x, not %#x", at, r.Flags, want)
			}
		}
	}
	// Each new pool is appended to a list under a lock that package sync has ignored, so a recording
	// cannot order these accesses.
	if got := rec.at(t, "new-pool", heisen.Read, heisen.Write); len(got) != 0 {
		t.Errorf("new-pool: accesses %+v", got)
	}
}

func TestAtomics(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"atomics"}})
	all := []heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}
	for at, want := range map[string]heisen.Op{
		"load": heisen.AtomicRead, "store": heisen.AtomicWrite, "add": heisen.AtomicUpdate,
		"cas": heisen.AtomicUpdate, "failed-cas": heisen.AtomicRead, "swap": heisen.AtomicUpdate,
		"function": heisen.AtomicRead,
	} {
		if got := rec.at(t, at, all...); len(got) != 1 || got[0].Op != want {
			t.Errorf("%s: events %+v, want one %v", at, got, want)
		}
	}
}

// TestStacks looks at call stacks after returns and after panics, which leave
// functions without returning.
func TestStacks(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"stacks"}})
	for at, want := range map[string][]string{
		"inner": {
			"inner < call-from-outer < call-outer",
			"inner < call-from-outer < call-panicking",
			"inner < main.inner < call-from-outer < call-panicking",
			"inner < main.inner < main.inner < call-from-outer < call-panicking",
			"inner < call-from-outer < call-repeated",
			"inner < main.inner < call-from-outer < call-repeated",
			"inner < call-from-outer < call-repeated",
			"inner < main.inner < call-from-outer < call-repeated",
			"inner < call-from-outer < call-repeated",
			"inner < main.inner < call-from-outer < call-repeated",
			"inner < call-inner",
		},
		"after-outer": {"after-outer"},
		// A deferred call stands on top of the functions that panicked.
		"in-recover":  {"in-recover < runtime.gopanic < main.inner < main.inner < call-from-outer < call-panicking"},
		"after-panic": {"after-panic"},
	} {
		var stacks []string
		for _, r := range rec.at(t, at, heisen.Write) {
			stacks = append(stacks, rec.stack(t, r))
		}
		if d := cmp.Diff(want, stacks); d != "" {
			t.Errorf("%s (-want +got):\n%s", at, d)
		}
	}
}

// TestDeepRecursion goes deeper than the recorder follows, and comes back.
func TestDeepRecursion(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"deep"}})
	if rec.err != nil || rec.status != 0 {
		t.Fatalf("error %v, status %d: %s", rec.err, rec.status, rec.stderr)
	}
	deepest, after := rec.at(t, "deepest", heisen.Write), rec.at(t, "after-deep", heisen.Write)
	if len(deepest) != 1 || len(after) != 1 {
		t.Fatalf("%d and %d events", len(deepest), len(after))
	}
	if n := len(rec.syms.Calls(deepest[0].Context)); n < 1000 {
		t.Errorf("%d calls are known at the deepest place", n)
	}
	if s := rec.stack(t, after[0]); strings.Contains(s, "main.deep") {
		t.Errorf("afterwards the stack is %s", s)
	}
}

func TestCopy(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"long-copy"}})
	for _, op := range []heisen.Op{heisen.Read, heisen.Write} {
		total, next := uint64(0), heisen.Object(0)
		for _, r := range rec.at(t, "long-copy", op) {
			if next != 0 && r.Object != next {
				t.Errorf("%v of %d bytes at %#x, not at %#x", op, r.Size(), uint64(r.Object), uint64(next))
			}
			next = r.Object + heisen.Object(r.Size())
			total += r.Size()
		}
		if total != 299_999 {
			t.Errorf("%v of %d bytes", op, total)
		}
	}
}

// TestManyGoroutines: each of ten thousand is forked, begins and ends.
func TestManyGoroutines(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"many"}})
	if rec.err != nil {
		t.Fatal(rec.err)
	}
	const n = 10_000
	counts := map[heisen.Op]int{}
	threads := map[heisen.Thread]bool{}
	for _, r := range rec.events {
		if r.Op == heisen.Fork || r.Op == heisen.Begin || r.Op == heisen.End {
			counts[r.Op]++
		}
		threads[r.Thread] = true
	}
	if counts[heisen.Fork] < n || counts[heisen.Begin] < n+1 || counts[heisen.Begin] != len(threads) {
		t.Errorf("counts %v of %d threads", counts, len(threads))
	}
	if counts[heisen.End] < n-100 { // the last may still be about to end
		t.Errorf("%d have ended", counts[heisen.End])
	}
	if got := len(rec.at(t, "many", heisen.Write)); got != n {
		t.Errorf("%d writes", got)
	}
	if len(rec.races) == 0 {
		t.Error("no race among them")
	}
}

// TestEnds: however a program ends, what it did before is recorded. Its exit status is its own, or,
// if that is 0, the one in the answer.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name     string
		status   int
		stderr   string
		finished bool
	}{
		{"return", 66, "", true},
		{"exit-0", 66, "", true},
		{"exit-3", 3, "", true},
		{"panic", 2, "panic: for the test", true},
		{"fatal-log", 1, "for the test", true},
		{"deadlock", 2, "all goroutines are asleep - deadlock!", true},
		{"throw", 2, "fatal error: sync: unlock of unlocked mutex", true},
		{"nil-dereference", 2, "nil pointer dereference", true},
		{"abort", -1, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := record(t, run{exe: program(t), args: []string{test.name}, answer: 66})
			if rec.err != nil || rec.finished != test.finished {
				t.Errorf("error %v, finished %v", rec.err, rec.finished)
			}
			if rec.status != test.status {
				t.Errorf("status %d, not %d", rec.status, test.status)
			}
			if !strings.Contains(rec.stderr, test.stderr) || test.stderr == "" && rec.stderr != "" {
				t.Errorf("it says %q", rec.stderr)
			}
			if got := rec.at(t, test.name, heisen.Write); len(got) != 1 {
				t.Errorf("%d writes among %d events", len(got), len(rec.events))
			}
		})
	}
}

// TestExitAmidEvents ends programs whose many threads are in the middle of events. Everything
// before is recorded.
func TestExitAmidEvents(t *testing.T) {
	for i := range tier.Pick(1, 1, 2, 5) {
		rec := record(t, run{exe: program(t), args: []string{"exit-amid-events"}, env: []string{"GOMAXPROCS=8"}})
		if rec.err != nil || !rec.finished || rec.status != 0 {
			t.Errorf("run %d: error %v, finished %v, status %d: %s", i, rec.err, rec.finished, rec.status, rec.stderr)
		}
		if got := len(rec.at(t, "exit-amid-events", heisen.Write)); got != 1 {
			t.Errorf("run %d: %d writes among %d events", i, got, len(rec.events))
		}
	}
}

// TestKilled kills a program while it sends: what was received is delivered.
func TestKilled(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"forever"}, whilst: func(cmd *exec.Cmd, out *syncer) {
		out.waitFor("ready")
		cmd.Process.Signal(syscall.SIGKILL)
	}})
	var lost *recorder.LostError
	if rec.err != nil && !errors.As(rec.err, &lost) {
		t.Error(rec.err)
	}
	killed := -1
	if runtime.GOOS == "windows" { // no signal ends a program
		killed = 1
	}
	if rec.finished || rec.status != killed {
		t.Errorf("finished %v, status %d", rec.finished, rec.status)
	}
	if len(rec.at(t, "forever", heisen.Write)) == 0 {
		t.Errorf("nothing was recorded: %d events, %d sites, error %v, %q", len(rec.events), rec.syms.NumSites(), rec.err, rec.stderr)
	}
}

// TestIdle: a program that has become idle has sent what it did.
func TestIdle(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"idle"}, whilst: func(cmd *exec.Cmd, out *syncer) {
		out.waitFor("ready")
		time.Sleep(time.Second) // the monitor thread wakes every 10 ms
		cmd.Process.Signal(syscall.SIGKILL)
	}})
	if rec.err != nil || len(rec.at(t, "idle", heisen.Write)) != 1 {
		t.Errorf("error %v, %d writes", rec.err, len(rec.at(t, "idle", heisen.Write)))
	}
}

// TestChild: a program that the program starts is recorded separately and has its own status.
func TestChild(t *testing.T) {
	rec := record(t, run{exe: program(t), args: []string{"parent"}, answer: 7})
	if rec.programs != 2 || rec.status != 7 || rec.stdout != "exit status 7\n" {
		t.Errorf("%d programs, status %d, %q", rec.programs, rec.status, rec.stdout)
	}
	if len(rec.at(t, "parent", heisen.Write)) != 1 || len(rec.at(t, "return", heisen.Write)) != 0 {
		t.Error("the recordings are mixed up")
	}
}

// TestSchedulers runs programs under unusual settings of the runtime.
func TestSchedulers(t *testing.T) {
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=64", "GOGC=1", "GODEBUG=gccheckmark=1", "GODEBUG=asyncpreemptoff=1", "GODEBUG=clobberfree=1"} {
		for _, name := range []string{"mutex", "reused-memory", "sync-map", "finalizer"} {
			t.Run(fmt.Sprint(env, "/", name), func(t *testing.T) {
				t.Parallel()
				rec := record(t, run{exe: program(t), args: []string{name}, env: []string{env}})
				if rec.err != nil || rec.status != 0 {
					t.Errorf("error %v, status %d: %s", rec.err, rec.status, rec.stderr)
				}
				for _, f := range rec.races {
					t.Errorf("false alarm\n%s", rec.describe(f))
				}
			})
		}
	}
}

// TestOtherReleases does the same with the other supported releases of Go. It is skipped if their
// toolchains are not available, except in continuous integration.
func TestOtherReleases(t *testing.T) {
	tier.Need(t, tier.Nightly)
	for _, toolchain := range []string{"go1.26.0", "go1.27.4"} {
		if releaseOf(toolchain) == releaseOf(installation(t).Version) {
			continue
		}
		t.Run(toolchain, func(t *testing.T) {
			t.Setenv("GOTOOLCHAIN", toolchain)
			if out, err := exec.Command("go", "version").CombinedOutput(); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatalf("toolchain %s: %v\n%s", toolchain, err, out)
				}
				t.Skipf("toolchain %s cannot be had: %s", toolchain, out)
			}
			exe := filepath.Join(t.TempDir(), "prog")
			if err := buildProgram(t.Context(), exe); err != nil {
				t.Fatal(err)
			}
			verdicts(t, exe)
			if got := (alone{exe: exe, args: []string{"write-write"}}).run(t); got.status != 66 || numReports(got.stderr) != 1 {
				t.Errorf("without an analyzer: status %d: %s", got.status, got.stderr)
			}
			keepsRecording(t, exe, 1024)
			replay(t, exe, 2)
			stopAtCopies(t, exe)
			multitude(t, exe, "40000", recorder.Races)
		})
	}
}

// TestCgo does the same with a program that uses C.
func TestCgo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the standard library once more")
	}
	t.Setenv("CGO_ENABLED", "1")
	needCompiler(t)
	exe := filepath.Join(t.TempDir(), "prog")
	if err := buildProgram(t.Context(), exe); err != nil {
		t.Fatal(err)
	}
	verdicts(t, exe)
	keepsRecording(t, exe, 1024)
}

// needCompiler skips a test where there is no C compiler.
func needCompiler(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(strings.Fields(string(out))[0]); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
}

// TestCrossBuild builds the program, which needs Linux, for the platforms on which it cannot run here. TestLinks has those
// with other systems.
func TestCrossBuild(t *testing.T) {
	tier.Need(t, tier.Nightly)
	for _, platform := range PortNames(Emulated) {
		goos, goarch, _ := strings.Cut(platform, "/")
		if here := installation(t); goos != "linux" || here.GOOS == goos && here.GOARCH == goarch {
			continue
		}
		t.Run(platform, func(t *testing.T) {
			t.Setenv("GOOS", goos)
			t.Setenv("GOARCH", goarch)
			exe := filepath.Join(t.TempDir(), "prog")
			if err := buildProgram(t.Context(), exe); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(exe); err != nil || info.Size() < 1<<20 {
				t.Errorf("%v, error %v", info, err)
			}
		})
	}
}

// TestBuildErrors: the error is what the compiler printed.
func TestBuildErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module broken\n\ngo 1.25\n",
		"main.go": "package main\n\nfunc main() { undefined() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	err = b.Build(t.Context(), dir, filepath.Join(dir, "out"), nil, ".")
	var buildError *Error
	if !errors.As(err, &buildError) || !strings.Contains(buildError.Output, "main.go:3:15: undefined: undefined") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Build(ctx, dir, filepath.Join(dir, "out"), nil, "."); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
