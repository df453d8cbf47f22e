package selftest

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
)

var changed = flag.Bool("changed", false, "also try copies of GOROOT with changes, for each of which the standard library is compiled")

// TestRun: a release that heisen was tested with passes.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	b, err := build.New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), b); err != nil {
		t.Error(err)
	}
}

// TestEnsure: the self-test runs once for an installation.
func TestEnsure(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	b, err := build.New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for range 2 {
		if err := Ensure(t.Context(), b, func() { runs++ }); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 {
		t.Errorf("it has run %d times", runs)
	}
}

// change replaces text in a file of GOROOT/src.
type change struct{ file, old, new string }

// copied makes GOROOT a copy of the present one, with changes.
func copied(t *testing.T, changes ...change) {
	t.Helper()
	toolchain, err := build.FindToolchain(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "go")
	if out, err := exec.Command("cp", "-rs", toolchain.Root+"/.", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range changes {
		name := filepath.Join(root, "src", c.file)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.old) {
			t.Fatalf("%s has no %q", c.file, c.old)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOROOT", root)
	t.Setenv("PATH", filepath.Join(root, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestHarmless: changes in patched files, most of them in patched declarations, that do not concern the recorder.
func TestHarmless(t *testing.T) {
	if !*changed {
		t.Skip("-changed is not set")
	}
	copied(t,
		change{"runtime/proc.go", "func goschedImpl(gp *g, preempted bool) {\n", "// It is another comment.\n\nfunc goschedImpl(gp *g, preempted bool) {\n\t// A remark.\n"},
		change{"runtime/proc.go", "func goexit1() {\n", "func goexit1() {\n\tif debug.schedtrace < 0 {\n\t\tprint(\"negative\\n\")\n\t}\n"},
		change{"runtime/chan.go", "func closechan(c *hchan) {\n", "func closechanUnused() bool { return false }\n\nfunc closechan(c *hchan) {\n\t_ = closechanUnused()\n"},
		change{"runtime/select.go", "\torder1 := (*[1 << 17]uint16)(unsafe.Pointer(order0))\n", "\n\torder1 := (*[1 << 17]uint16)(unsafe.Pointer(order0)) // moved\n"},
		change{"runtime/time.go", "func timeSleep(ns int64) {\n", "func timeSleep(ns int64) {\n\tif ns == -1 {\n\t\treturn\n\t}\n"},
		change{"runtime/sema.go", "func notifyListWait(l *notifyList, t uint32) {\n", "func notifyListWait(l *notifyList, t uint32) {\n\tconst unused = 1\n"},
		change{"runtime/mgc.go", "func gcSweep(mode gcMode) bool {\n", "func gcSweep(mode gcMode) bool {\n\tif mode > 1000 {\n\t\tthrow(\"mode\")\n\t}\n"},
		change{"internal/sync/mutex.go", "func (m *Mutex) TryLock() bool {\n\told := m.state\n", "func (m *Mutex) TryLock() bool {\n\tvar old int32\n\told = m.state\n"},
		change{"sync/waitgroup.go", "func (wg *WaitGroup) Add(delta int) {\n", "func (wg *WaitGroup) Add(delta int) {\n\tif delta == -1<<31 {\n\t\tpanic(\"sync: too low\")\n\t}\n"},
		change{"testing/testing.go", "func tRunner(t *T, fn func(t *T)) {\n", "func tRunner(t *T, fn func(t *T)) {\n\t_ = t.name\n"},
	)
	b, err := build.New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), b); err != nil {
		t.Error(err)
	}
}

// TestHarmful: each of these changes, in a declaration that is patched, makes the recorder wrong. Either the patches do not
// match, or the self-test fails.
func TestHarmful(t *testing.T) {
	if !*changed {
		t.Skip("-changed is not set")
	}
	for name, test := range map[string]struct {
		changes []change
		matches bool // the self-test notices
	}{
		"a mutex is locked elsewhere": {[]change{{"internal/sync/mutex.go", "func (m *Mutex) Lock() {\n",
			"func (m *Mutex) fast() bool { return atomic.CompareAndSwapInt32(&m.state, 0, mutexLocked) }\n\nfunc (m *Mutex) Lock() {\n\tif m.fast() {\n\t\treturn\n\t}\n"}}, true},
		"select has another order": {[]change{{"runtime/select.go", "\tpollorder = pollorder[:norder]\n",
			"\tpollorder = pollorder[:norder]\n\tif norder > 1 && cputicks()>>4&1 == 0 {\n\t\tpollorder[0], pollorder[1] = pollorder[1], pollorder[0]\n\t}\n"}}, true},
		"a channel is annotated elsewhere": {[]change{{"runtime/chan.go", "racenotify(c, c.sendx, nil)", "notifySend(c)"},
			{"runtime/chan.go", "func closechan(", "func notifySend(c *hchan) { racenotify(c, c.sendx, nil) }\n\nfunc closechan("}}, false},
		"the end of a Once is stored elsewhere": {[]change{{"sync/once.go", "defer o.done.Store(true)", "defer func() { done := &o.done; done.Store(true) }()"}}, false},
		"timers fire elsewhere": {[]change{{"runtime/time.go", "\tf(arg, seq, delay)\n", "\tfireTimer(f, arg, seq, delay)\n"},
			{"runtime/time.go", "func timeSleep(ns", "func fireTimer(f func(any, uintptr, int64), arg any, seq uintptr, delay int64) { f(arg, seq, delay) }\n\nfunc timeSleep(ns"}}, false},
		"no annotation of a WaitGroup": {[]change{{"sync/waitgroup.go", "race.ReleaseMerge(unsafe.Pointer(wg))", "_ = race.Enabled"}}, true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			copied(t, test.changes...)
			b, err := build.New(t.Context(), "", "")
			if err == nil {
				err = Run(t.Context(), b)
			}
			var failed *Error
			switch {
			case err == nil:
				t.Error("nothing noticed")
			case test.matches && !errors.As(err, &failed), !test.matches && !errors.Is(err, build.ErrMismatch):
				t.Errorf("unexpected: %v", err)
			default:
				t.Log(err)
			}
		})
	}
}
