package heisentest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A LeakOption says which goroutines are no leaks.
type LeakOption func(*leakConfig)

type leakConfig struct{ ignored []func(*goroutines) bool }

// IgnoreTopFunction ignores goroutines that wait in the function with the given full name, such as
// "example.org/m.(*Server).serve". It is the innermost one outside of the runtime and package sync.
func IgnoreTopFunction(name string) LeakOption {
	return func(c *leakConfig) {
		c.ignored = append(c.ignored, func(g *goroutines) bool { return g.top() == name })
	}
}

// IgnoreAnyFunction ignores goroutines with the function with the given full name anywhere on their stack.
func IgnoreAnyFunction(name string) LeakOption {
	return func(c *leakConfig) {
		c.ignored = append(c.ignored, func(g *goroutines) bool {
			for _, f := range g.frames {
				if f.function == name {
					return true
				}
			}
			return false
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
		own := func(g *goroutines) bool { return g.labels[label] == id }
		report(t, settled(own, opts))
	})
}

// settled returns the leaks among the goroutines for which own is true, once each of them has ended or is
// leaked, or after a while.
func settled(own func(*goroutines) bool, opts []LeakOption) []goroutines {
	for wait := time.Millisecond; ; wait *= 2 {
		leaks := only(profile("goroutineleak"), own)
		if wait > settling || count(leaks) == count(only(profile("goroutine"), own)) {
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
		report(t, remaining(profile("goroutineleak"), opts))
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
	if pprof.Lookup("goroutineleak") == nil {
		if testing.Verbose() {
			fmt.Fprintln(w, noProfile)
		}
		return 0
	}
	if leaks := remaining(profile("goroutineleak"), opts); len(leaks) > 0 {
		fmt.Fprint(w, describe(leaks))
		return 1
	}
	return 0
}

const noProfile = "heisentest: leaks are not looked for: this release of Go has no profile goroutineleak (Go 1.27 has it, and Go 1.26 with GOEXPERIMENT=goroutineleakprofile)"

func canProfile(t testing.TB) bool {
	t.Helper()
	if pprof.Lookup("goroutineleak") == nil {
		t.Log(noProfile)
		return false
	}
	return true
}

func report(t testing.TB, leaks []goroutines) {
	t.Helper()
	if len(leaks) > 0 {
		t.Error(describe(leaks))
	}
}

// goroutines are some that have the same stack and labels.
type goroutines struct {
	count  int
	labels map[string]string
	frames []frame
}

type frame struct{ function, place string }

// top returns the function that waits.
func (g *goroutines) top() string {
	for _, f := range g.frames {
		if !strings.HasPrefix(f.function, "runtime.") && !strings.HasPrefix(f.function, "sync.") && !strings.HasPrefix(f.function, "internal/") {
			return f.function
		}
	}
	return ""
}

// profile returns the goroutines of a profile of package runtime/pprof.
func profile(name string) []goroutines {
	var text bytes.Buffer
	if p := pprof.Lookup(name); p == nil || p.WriteTo(&text, 1) != nil {
		return nil
	}
	return parse(text.String())
}

// parse reads a profile of goroutines as text.
func parse(text string) (all []goroutines) {
	for group := range strings.SplitSeq(text, "\n\n") {
		var g goroutines
		for line := range strings.Lines(group) {
			line = strings.TrimSuffix(line, "\n")
			if number, _, ok := strings.Cut(line, " @"); ok && g.count == 0 {
				g.count, _ = strconv.Atoi(number)
			} else if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				_ = json.Unmarshal([]byte(labels), &g.labels)
			} else if fields := strings.Split(line, "\t"); len(fields) == 4 && fields[0] == "#" {
				function, _, _ := cutLast(fields[2], "+0x")
				g.frames = append(g.frames, frame{function, fields[3]})
			}
		}
		if g.count > 0 {
			all = append(all, g)
		}
	}
	return all
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func only(all []goroutines, keep func(*goroutines) bool) (kept []goroutines) {
	for _, g := range all {
		if keep(&g) {
			kept = append(kept, g)
		}
	}
	return kept
}

func remaining(leaks []goroutines, opts []LeakOption) []goroutines {
	var c leakConfig
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	return only(leaks, func(g *goroutines) bool {
		for _, ignored := range c.ignored {
			if ignored(g) {
				return false
			}
		}
		return true
	})
}

func count(all []goroutines) (n int) {
	for _, g := range all {
		n += g.count
	}
	return n
}

// describe returns the text of a failure.
func describe(leaks []goroutines) string {
	var b strings.Builder
	fmt.Fprintf(&b, "heisentest: %d goroutine(s) wait for ever:\n", count(leaks))
	for _, g := range leaks {
		fmt.Fprintf(&b, "%d in\n", g.count)
		for _, f := range g.frames {
			fmt.Fprintf(&b, "  %s\n      %s\n", f.function, f.place)
		}
	}
	return b.String()
}
