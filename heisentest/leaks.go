package heisentest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/goroutines"
)

// A LeakOption says which goroutines are no leaks.
type LeakOption func(*leakConfig)

type leakConfig struct {
	ignored []func(*goroutines.Group) bool
}

// IgnoreTopFunction ignores goroutines that wait in the function with the given full name, such as
// "example.org/m.(*Server).serve". It is the innermost one outside of the runtime and package sync.
func IgnoreTopFunction(name string) LeakOption {
	return func(c *leakConfig) {
		c.ignored = append(c.ignored, func(g *goroutines.Group) bool {
			callers := g.Callers()
			return len(callers) > 0 && callers[0].Function == name
		})
	}
}

// IgnoreAnyFunction ignores goroutines with the function with the given full name anywhere on their stack.
func IgnoreAnyFunction(name string) LeakOption {
	return func(c *leakConfig) {
		c.ignored = append(c.ignored, func(g *goroutines.Group) bool {
			return slices.ContainsFunc(g.Stack(), func(f runtime.Frame) bool { return f.Function == name })
		})
	}
}

// label is the key of the label of goroutines that a test has started.
const label = "heisentest"

// settling is how long NoLeaks waits at most for goroutines of the test that run or wait for others.
const settling = 100 * time.Millisecond

// NoLeaks fails the test at its end if goroutines that it has started wait for ever. Call it first in the
// test, and not by defer: the goroutines started from then on, also by its subtests, are known by a label of
// package runtime/pprof. Those of other tests do not count, nor do goroutines that set labels of their own.
func NoLeaks(t testing.TB, opts ...LeakOption) {
	t.Helper()
	if !canProfile(t) {
		return
	}
	id := fmt.Sprintf("%s %x", t.Name(), rand.Uint64()) // an address may be that of an earlier test
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, id)))
	t.Cleanup(func() {
		t.Helper()
		pprof.SetGoroutineLabels(context.Background())
		own := func(g *goroutines.Group) bool { return g.Labels[label] == id }
		report(t, settled(own, opts))
	})
}

// settled returns the leaks among the goroutines for which own is true, once each of them has ended or is
// leaked, or after a while.
func settled(own func(*goroutines.Group) bool, opts []LeakOption) []goroutines.Group {
	for wait := time.Millisecond; ; wait *= 2 {
		leaks := only(profile(goroutines.Leaked), own)
		if wait > settling || count(leaks) == count(only(profile(goroutines.All), own)) {
			return remaining(leaks, opts)
		}
		time.Sleep(wait)
	}
}

// VerifyNone fails the test if any goroutine of the process waits for ever, also one of an earlier test:
//
//	defer heisentest.VerifyNone(t)
func VerifyNone(t testing.TB, opts ...LeakOption) {
	t.Helper()
	if canProfile(t) {
		report(t, remaining(profile(goroutines.Leaked), opts))
	}
}

// VerifyTestMain runs the tests of a package and fails if goroutines wait for ever afterwards. It does not
// return.
//
//	func TestMain(m *testing.M) { heisentest.VerifyTestMain(m) }
func VerifyTestMain(m interface{ Run() int }, opts ...LeakOption) {
	os.Exit(verifyTestMain(m, os.Stderr, opts))
}

func verifyTestMain(m interface{ Run() int }, w io.Writer, opts []LeakOption) (status int) {
	status = m.Run()
	if status != 0 {
		return status
	}
	if pprof.Lookup(goroutines.Leaked) == nil {
		if testing.Verbose() {
			fmt.Fprintln(w, noProfile)
		}
		return 0
	}
	if leaks := remaining(profile(goroutines.Leaked), opts); len(leaks) > 0 {
		fmt.Fprint(w, describe(leaks))
		return 1
	}
	return 0
}

const noProfile = "heisentest: leaks are not looked for: this release of Go has no profile goroutineleak (Go 1.27 has it, and Go 1.26 with GOEXPERIMENT=goroutineleakprofile)"

func canProfile(t testing.TB) bool {
	t.Helper()
	if pprof.Lookup(goroutines.Leaked) == nil {
		t.Log(noProfile)
		return false
	}
	return true
}

func report(t testing.TB, leaks []goroutines.Group) {
	t.Helper()
	if len(leaks) > 0 {
		t.Error(describe(leaks))
	}
}

// profile returns the goroutines of a profile, none if this release does not have it.
func profile(name string) []goroutines.Group {
	all, _ := goroutines.Profile(name)
	return all
}

func only(all []goroutines.Group, keep func(*goroutines.Group) bool) (kept []goroutines.Group) {
	for _, g := range all {
		if keep(&g) {
			kept = append(kept, g)
		}
	}
	return kept
}

func remaining(leaks []goroutines.Group, opts []LeakOption) []goroutines.Group {
	var c leakConfig
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	return only(leaks, func(g *goroutines.Group) bool {
		for _, ignored := range c.ignored {
			if ignored(g) {
				return false
			}
		}
		return true
	})
}

func count(all []goroutines.Group) (n int) {
	for _, g := range all {
		n += g.Count
	}
	return n
}

// describe returns the text of a failure.
func describe(leaks []goroutines.Group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "heisentest: %d goroutine(s) wait for ever:\n", count(leaks))
	for _, g := range leaks {
		fmt.Fprintf(&b, "%d in\n", g.Count)
		for _, f := range g.Stack() {
			fmt.Fprintf(&b, "  %s\n      %s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}
