package patch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/report"
)

// writeModule writes a module of one package in one file.
func writeModule(t *testing.T, source string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "p.go")
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.25\n", "p.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, file
}

// makePatch makes a patch for a package in one file. Comments of the form "// race: c.n" mark the accesses of one data race.
func makePatch(t *testing.T, source string) (result *patch.Result, dir string) {
	t.Helper()
	dir, file := writeModule(t, source)
	f := report.Finding{Kind: heisen.Race, Fingerprint: "0123456789abcdef"}
	for i, line := range strings.Split(source, "\n") {
		if _, expr, ok := strings.Cut(line, "// race: "); ok {
			f.Accesses = append(f.Accesses, report.Access{
				Op: "write", Variable: strings.TrimSpace(expr), Stack: []report.Frame{{Func: "p.f", File: file, Line: i + 1}},
			})
		}
	}
	result, err := patch.Make(context.Background(), dir, nil, []report.Finding{f})
	if err != nil {
		t.Fatal(err)
	}
	return result, dir
}

// TestRefused: a finding that no lock repairs safely is refused, and the place and the reason are said.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"held over a channel operation", `
type box struct { n int; c chan int }
func (b *box) f() { if b.n == 0 { <-b.c; b.n = 1 } } // race: b.n
`, "the lock would be held over a channel operation"},
		{"called back through the standard library", `
import ("fmt"; "sync")
type box struct { mu sync.Mutex; n int }
func (b *box) String() string { b.mu.Lock(); defer b.mu.Unlock(); return fmt.Sprint(b.n) }
func (b *box) g() { if b.n > 0 { b.n = 2; _ = fmt.Sprint(b) } } // race: b.n
`, "fmt.Sprint takes the lock, too"},
		{"read through the standard library", `
import ("fmt"; "sync")
type box struct { mu sync.Mutex; n int }
func (b *box) String() string { b.mu.Lock(); defer b.mu.Unlock(); return fmt.Sprint(b.n) }
func (b *box) g() { b.n += len(fmt.Sprint(b)) } // race: b.n
`, "in calls of functions that are not known"},
		{"held over a call that waits", `
import "time"
type box struct { n int }
func (b *box) pause(n int) int { time.Sleep(1); return n }
func (b *box) g() { b.n = b.pause(b.n) } // race: b.n
`, "the lock would be held over the call of b.pause, which may wait at p.go"},
		{"held over unknown code", `
type box struct { n int }
func (b *box) g(f func(int) int) { b.n = f(b.n) } // race: b.n
`, "the lock would be held over the call of f"},
		{"taken twice", `
type box struct { n int }
func (b *box) get() int { return b.n } // race: b.n
func (b *box) double() { if b.n > 0 { b.n = 2; b.get() } }
`, "b.get takes the lock, too"},
		{"callers hold the lock, and callees take it", `
import "sync"
type a struct { mu sync.Mutex; n int; b *b }
type b struct { mu sync.Mutex; n int }
func (x *a) up() { x.mu.Lock(); x.b.mu.Lock(); x.b.n++; x.b.mu.Unlock(); x.n++; x.mu.Unlock() }
func (y *b) down(x *a) { y.mu.Lock(); x.get(); y.mu.Unlock() }
func (x *a) get() (n int) { m.Lock(); defer m.Unlock(); n = x.n; y(); return n } // race: x.n
func y() { m.Lock(); m.Unlock() }
var m sync.Mutex
func (x *a) all() { x.n = other(x) }
func other(x *a) int { x.mu.Lock(); defer x.mu.Unlock(); x.get(); return 1 }
`, "takes the lock, too"},
		{"address taken", `
type box struct { n int }
func (b *box) f() *int { return &b.n }
func (b *box) g() { b.n++ } // race: b.n
`, "the address of b.n is taken"},
		{"map passed on", `
type box struct { m map[int]int }
func (b *box) f() map[int]int { return b.m }
func (b *box) g() { b.m[1]++ } // race: b.m
`, "the map b.m is passed on"},
		{"slice passed on", `
type box struct { s []int }
func (b *box) f() []int { return b.s }
func (b *box) g() { b.s[1]++ } // race: b.s[1]
`, "the slice b.s is passed on"},
		{"struct copied", `
type box struct { n int }
func (b *box) f() box { return *b }
func (b *box) g() { b.n++ } // race: b.n
`, "the whole struct is read or written"},
		{"reached through a pointer", `
func g(p *int) { *p++ } // race: *p
`, "the variable is reached through p"},
		{"a loop that waits", `
type box struct { n int }
func (b *box) wait() { for b.n == 0 {} } // race: b.n
func (b *box) end() { b.n = 1 }
`, "a loop that may wait for other goroutines"},
		{"check and act around a call that polls", `
import ("runtime"; "sync/atomic")
type box struct { n int; ready atomic.Bool }
func (b *box) await() { for !b.ready.Load() { runtime.Gosched() } }
func (b *box) g() { if b.n > 0 { b.await(); b.n-- } } // race: b.n
`, "the lock would be held over the call of b.await, which may wait at p.go:5"},
		{"check and act around a loop that polls a lock", `
import "sync"
type box struct { n int; other sync.Mutex }
func (b *box) g() { if b.n > 0 { for { if b.other.TryLock() { b.other.Unlock(); break } }; b.n-- } } // race: b.n
`, "the lock would be held over a loop that may wait for other goroutines"},
		{"check and act around recursion that polls", `
import "sync/atomic"
type box struct { n int; ready atomic.Bool }
func (b *box) await() { if !b.ready.Load() { b.await() } }
func (b *box) g() { if b.n > 0 { b.await(); b.n-- } } // race: b.n
`, "the lock would be held over the call of b.await"},
		{"check and act around a wait", `
import "time"
type box struct { n int }
func (b *box) g() { if b.n > 0 { time.Sleep(1); b.n-- } } // race: b.n
`, "the lock would be held over the call of time.Sleep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, dir := makePatch(t, "package p\n"+test.source)
			if len(result.Repaired) > 0 {
				var diff strings.Builder
				result.WriteDiff(&diff)
				t.Fatalf("repaired:\n%s", diff.String())
			}
			if len(result.Refused) != 1 || !strings.Contains(result.Refused[0].Reason, test.want) {
				t.Fatalf("got %v, want %q", result.Refused, test.want)
			}
			if r := result.Refused[0]; r.File != filepath.Join(dir, "p.go") || r.Line < 2 {
				t.Errorf("place %s:%d", r.File, r.Line)
			}
		})
	}
}

// TestOtherLock: where the mutex that other accesses hold could lead to a deadlock, a new mutex is taken, and that only for
// as long as nothing else is.
func TestOtherLock(t *testing.T) {
	for _, test := range []struct{ name, source string }{
		{"held while another goroutine is waited for", `
import "sync"
type box struct { mu sync.Mutex; n int; c chan int }
func (b *box) f() { b.mu.Lock(); b.n++; <-b.c; b.mu.Unlock() } // race: b.n
func (b *box) g() { b.n++; b.c <- 1 }
`},
		{"held while a flag is polled", `
import ("runtime"; "sync"; "sync/atomic")
type box struct { mu sync.Mutex; n int; done atomic.Bool }
func (b *box) f() { b.mu.Lock(); b.n++; for !b.done.Load() { runtime.Gosched() }; b.mu.Unlock() } // race: b.n
func (b *box) g() { b.n++; b.done.Store(true) }
`},
		{"held while a function polls", `
import ("sync"; "time")
type box struct { mu sync.Mutex; n int; done chan int }
func (b *box) await() { for len(b.done) == 0 { time.Sleep(1) } }
func (b *box) f() { b.mu.Lock(); b.n++; b.await(); b.mu.Unlock() } // race: b.n
func (b *box) g() { b.n++; b.done <- 1 }
`},
		{"of the same type", `
import "sync"
type box struct { mu sync.Mutex; n int }
func move(a, b *box) { a.mu.Lock(); a.n--; b.n++; a.mu.Unlock() } // race: a.n
`},
		{"in the other order", `
import "sync"
type box struct { mu sync.Mutex; n int }
var other sync.RWMutex
func (b *box) f() { b.mu.Lock(); other.Lock(); other.Unlock(); b.n++; b.mu.Unlock() } // race: b.n
func (b *box) g() { other.RLock(); b.n++; other.RUnlock() }
`},
		{"held by callers that cannot be told apart", `
import "sync"
type box struct { mu sync.Mutex; n int }
func (b *box) Add() { b.n++ } // race: b.n
func (b *box) Two() { b.mu.Lock(); b.Add(); b.n++; b.mu.Unlock() }
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := makePatch(t, "package p\n"+test.source)
			var diff strings.Builder
			if err := result.WriteDiff(&diff); err != nil {
				t.Fatal(err)
			}
			if len(result.Repaired) != 1 || !strings.Contains(diff.String(), "nMu.Unlock()") || strings.Contains(diff.String(), "+\tb.mu.") {
				t.Errorf("%v %v\n%s", result.Repaired, result.Refused, diff.String())
			}
		})
	}
}

// TestImpossible: what no lock repairs is refused without a look at the module, which may be large.
func TestImpossible(t *testing.T) {
	access := report.Access{Stack: []report.Frame{{Func: "main.f", File: "/nowhere/main.go", Line: 1}}}
	findings := []report.Finding{
		{Kind: heisen.Leak, Fingerprint: "1", Accesses: []report.Access{access}},
		{Kind: heisen.Race, Fingerprint: "2"},
		{Kind: heisen.Race, Fingerprint: "3", Accesses: []report.Access{access, {}}},
	}
	result, err := patch.Make(t.Context(), "/nowhere", nil, findings)
	if err != nil || len(result.Refused) != len(findings) || result.Changed() > 0 {
		t.Errorf("refused %v, %d files changed, error %v", result.Refused, result.Changed(), err)
	}
	findings = append(findings, report.Finding{Kind: heisen.Race, Fingerprint: "4", Accesses: []report.Access{access, access}})
	if _, err := patch.Make(t.Context(), t.TempDir(), nil, findings); err == nil {
		t.Error("a race is refused without a look at the module")
	}
}
