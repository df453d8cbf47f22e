package heisentest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/testaid/leakprofile"
)

// recorded is a test that records what is done to it.
type recorded struct {
	testing.TB
	name     string
	errors   []string
	logs     []string
	cleanups []func()
}

func (r *recorded) Helper()          {}
func (r *recorded) Name() string     { return r.name }
func (r *recorded) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorded) Error(args ...any) {
	r.errors = append(r.errors, fmt.Sprint(args...))
}
func (r *recorded) Log(args ...any) { r.logs = append(r.logs, fmt.Sprint(args...)) }

// run runs a test on a goroutine of its own, and its cleanups, and returns its errors.
func run(t *testing.T, name string, test func(r *recorded)) string {
	r := &recorded{TB: t, name: name}
	done := make(chan bool)
	go func() {
		defer close(done)
		test(r)
		for i := len(r.cleanups) - 1; i >= 0; i-- {
			r.cleanups[i]()
		}
	}()
	<-done
	return strings.Join(r.errors, "\n")
}

// leak starts a goroutine that waits for ever in a function with a name.
func leak() {
	c := make(chan int)
	go waitFor(c)
}

func waitFor(c chan int) { <-c }

const waiting = "github.com/heisen-go/heisen/heisentest.waitFor"

func TestNoLeaksReportsOwn(t *testing.T) {
	leakprofile.Need(t)
	release := make(chan bool)
	defer close(release)
	for name, c := range map[string]struct {
		test  func(r *recorded)
		count int
	}{
		"none":          {func(*recorded) {}, 0},
		"one":           {func(*recorded) { leak() }, 1},
		"three":         {func(*recorded) { leak(); leak(); leak() }, 3},
		"of a child":    {func(*recorded) { go func() { go leak() }() }, 1},
		"nil channel":   {func(*recorded) { go waitFor(nil) }, 1},
		"ended":         {func(*recorded) { c := make(chan int); go waitFor(c); c <- 1 }, 0},
		"ends soon":     {func(*recorded) { go time.Sleep(20 * time.Millisecond) }, 0},
		"can be woken":  {func(*recorded) { go func() { <-release }() }, 0},
		"buffered":      {func(*recorded) { c := make(chan int, 1); go waitFor(c); c <- 1 }, 0},
		"of a subtest":  {func(r *recorded) { run(t, r.name+"/sub", func(*recorded) { leak() }) }, 1},
		"sub tells own": {func(r *recorded) { run(t, r.name+"/sub", func(sub *recorded) { NoLeaks(sub); leak() }) }, 0},
	} {
		got := run(t, name, func(r *recorded) {
			NoLeaks(r)
			c.test(r)
		})
		if want := fmt.Sprintf("heisentest: %d goroutine(s) wait for ever:\n", c.count); c.count > 0 && !strings.HasPrefix(got, want) || c.count == 0 && got != "" {
			t.Errorf("%s: %q, want %d leaks", name, got, c.count)
		}
		if c.count > 0 && !strings.Contains(got, waiting+"\n") {
			t.Errorf("%s: the place is missing in %q", name, got)
		}
	}
}

// What an earlier test, one at the same time, or the same test before has left is not this test's.
func TestNoLeaksOfOthers(t *testing.T) {
	leakprofile.Need(t)
	leak()
	for range 2 {
		got := run(t, "A", func(a *recorded) {
			NoLeaks(a)
			if got := run(t, "B", func(b *recorded) {
				NoLeaks(b)
				leak()
			}); !strings.HasPrefix(got, "heisentest: 1 goroutine(s)") {
				t.Errorf("B: %q", got)
			}
		})
		if got != "" {
			t.Errorf("A, which has left nothing: %q", got)
		}
	}
}

func TestVerifyNone(t *testing.T) {
	leakprofile.Need(t)
	leak()
	if got := run(t, "A", func(r *recorded) { VerifyNone(r) }); !strings.Contains(got, waiting) {
		t.Errorf("a leak of another test: %q", got)
	}
	if got := run(t, "A", func(r *recorded) { VerifyNone(r, IgnoreTopFunction(waiting), IgnoreAnyFunction(waiting), nil) }); strings.Contains(got, waiting+"\n") {
		t.Errorf("an ignored leak: %q", got)
	}
}

func TestIgnore(t *testing.T) {
	leakprofile.Need(t)
	const caller = "github.com/heisen-go/heisen/heisentest.calls"
	for _, c := range []struct {
		opts  []LeakOption
		leaks bool
	}{
		{nil, true},
		{[]LeakOption{IgnoreTopFunction(waiting)}, false},
		{[]LeakOption{IgnoreTopFunction(caller)}, true},
		{[]LeakOption{IgnoreAnyFunction(caller)}, false},
		{[]LeakOption{IgnoreAnyFunction("calls")}, true},
	} {
		got := run(t, "A", func(r *recorded) {
			NoLeaks(r, c.opts...)
			go calls(make(chan int))
		})
		if leaks := got != ""; leaks != c.leaks {
			t.Errorf("%q, want leaks: %v", got, c.leaks)
		}
	}
}

//go:noinline
func calls(c chan int) {
	waitFor(c)
	close(c) // never: the function stays on the stack
}

type tests struct {
	status int
	leaks  bool
}

func (m tests) Run() int {
	if m.leaks {
		leak()
		time.Sleep(10 * time.Millisecond)
	}
	return m.status
}

func TestVerifyTestMain(t *testing.T) {
	var out bytes.Buffer
	if got := verifyTestMain(tests{3, true}, &out, nil); got != 3 || out.Len() > 0 {
		t.Errorf("tests that fail: status %d, %s", got, &out)
	}
	if leakprofile.Missing() {
		if got := verifyTestMain(tests{0, true}, &out, nil); got != 0 || testing.Verbose() && out.String() != noProfile+"\n" {
			t.Errorf("without the profile: status %d, %s", got, &out)
		}
		return
	}
	if got := verifyTestMain(tests{0, true}, &out, nil); got != 1 || !strings.Contains(out.String(), waiting) {
		t.Errorf("tests that leak: status %d, %s", got, &out)
	}
}

func TestWithoutProfile(t *testing.T) {
	if !leakprofile.Missing() {
		t.Skip("this release has it")
	}
	r := &recorded{TB: t, name: "A"}
	NoLeaks(r)
	VerifyNone(r)
	leak()
	for _, f := range r.cleanups {
		f()
	}
	if len(r.errors) > 0 || strings.Join(r.logs, ";") != noProfile+";"+noProfile {
		t.Errorf("errors %q, log %q", r.errors, r.logs)
	}
}

// TestReleases runs the tests that need the profile with releases that have it.
func TestReleases(t *testing.T) { leakprofile.Rerun(t, "Leaks|Verify|Ignore") }
