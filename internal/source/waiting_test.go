package source

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestLocksOfALine: of several locks on a line, the operation tells which one it may be.
func TestLocksOfALine(t *testing.T) {
	const text = `package p

func f() {
	func() { a.RLock(); b.Lock(); b.Unlock(); a.RUnlock() }()
	func() { a.Lock(); b.Lock() }()
	func() { r.Lock(); b.TryRLock() }()
	func() { cond.Wait() }()
	func() { cond.Wait(); mu.Lock(); mu.Unlock() }()
	func() { once() }()
	func() { s.value(); s.mu.Lock() }()
	func() { plain() }()
	func() { wg.Add(1); x++ }()
	func() { wg.Wait() }()
	func() { wg.Wait(); x = 1 }()
}

var once = sync.OnceFunc(nil)

var s struct {
	value func() int
	mu    sync.Mutex
}

func plain() {}
`
	c := newTestCache(t)
	addFile(c, "a.go", []byte(text))
	for _, test := range []struct {
		line     int
		op       heisen.Op
		variable string
	}{
		{4, heisen.AcquireShared, "a"},
		{4, heisen.Acquire, "b"},
		{4, heisen.Release, "b"},
		{4, heisen.ReleaseShared, "a"},
		{5, heisen.Acquire, ""},
		{5, heisen.AcquireShared, ""}, // Lock of a RLocker
		{6, heisen.AcquireShared, "b"},
		{6, heisen.Acquire, "r"},
		{7, heisen.Release, "cond.L"},
		{7, heisen.Acquire, "cond.L"},
		{8, heisen.Acquire, "mu"},
		{9, heisen.Acquire, "once"},
		{9, heisen.AtomicRead, "once"},
		{10, heisen.Acquire, "s.mu"},
		{10, heisen.AtomicRead, "s.value"},
		{11, heisen.Acquire, ""},
		{12, heisen.Write, "x"},
		{13, heisen.Write, "wg"}, // so that misuse is a race
		{14, heisen.Write, "x"},
	} {
		e := c.last.at(heisen.Frame{Func: "p.f.func1", File: "a.go", Line: test.line}, roleOf(test.op), 0)
		if got := e.Variable(); got != test.variable {
			t.Errorf("%v: %q, want %q\n%s", test.op, got, test.variable, strings.Split(text, "\n")[test.line-1])
		}
	}
}

// TestStopping: what would stop a goroutine is none of the channels of timers.
func TestStopping(t *testing.T) {
	const text = `package p

import "time"

type clock struct{ C chan int }

func f(quit chan int, c clock) {
	select { case <-tick.C: case <-ctx.Done(): }
	select { case <-time.After(1): case <-quit: }
	ticks, stop := time.Tick(1), make(chan int)
	select { case <-ticks: case <-stop: }
	var timeout = time.After(1)
	select { case <-timeout: case <-c.C: }
	select { case <-ticks: case <-quit: case <-stop: }
	for range time.NewTicker(1).C {}
	time.Sleep(1)
	<-quit
	also := ticks
	select { case <-also: case <-quit: }
}
`
	c := newTestCache(t)
	addFile(c, "a.go", []byte(text))
	for line, want := range map[int][]string{
		8: {"ctx.Done()"}, 9: {"quit"}, 11: {"stop"}, 13: {"c.C"}, 14: {"quit", "stop"}, 15: nil, 16: nil,
		17: nil, // it waits for that, and not for a timer
		19: {"also", "quit"},
	} {
		e := c.last.at(heisen.Frame{Func: "p.f", File: "a.go", Line: line}, messages|stopping, 0)
		choice := Choose([]*Excerpt{e})[0]
		if choice.Variable != "" {
			choice.Alternatives = []string{choice.Variable}
		}
		if !slices.Equal(choice.Alternatives, want) {
			t.Errorf("line %d: %q, want %q", line, choice.Alternatives, want)
		}
	}
}

// TestWaiting: where a line has several operations, a goroutine waits in the one of its kind.
func TestWaiting(t *testing.T) {
	const text = `package p

func f(a, b chan int, wg interface{ Wait() }, t struct{ C unknown.Chan }) {
	go func() { a <- 1; <-b }()
	go func() { wg.Wait(); close(a) }()
	go func() { <-a; close(b) }()
	select {
	case v := <-a:
		_ = v
	case b <- 2:
	case <-t.C:
	}
	select {
	default:
	}
	select {}
	for range t.C {
	}
	<-ctx.Done()
	go func() { wg.Done() }()
	once.Do(nil)
	go func() { mu.Lock(); once.Do(nil) }()
}
`
	c := newTestCache(t)
	addFile(c, "a.go", []byte(text))
	find := func(line int, function string, op heisen.Op, waits bool) Choice {
		frame := heisen.Frame{Func: function, File: "a.go", Line: line}
		r := roleOf(op)
		if waits {
			r = waitingRole(op)
		}
		e := c.last.at(frame, r, 0)
		return Choice{Variable: e.Variable(), Statement: e.Statement}
	}
	const literal = "p.f.func1"
	for _, test := range []struct {
		line      int
		function  string
		op        heisen.Op
		waits     bool
		variable  string
		statement string
	}{
		{4, literal, heisen.Send, true, "a", ""},
		{4, literal, heisen.Receive, true, "b", ""},
		{4, literal, heisen.Send, false, "", ""}, // the one operation may be part of the other
		{5, literal, heisen.Receive, true, "wg", ""},
		{6, literal, heisen.Receive, true, "a", ""},
		{7, "p.f", heisen.Receive, true, "", "select { case v := <-a: case b <- 2: case <-t.C: }"},
		{13, "p.f", heisen.Receive, true, "", "select { default: }"},
		{16, "p.f", heisen.Receive, true, "", "select {}"},
		{17, "p.f", heisen.Receive, true, "t.C", "for range t.C"},
		{17, "p.f", heisen.Receive, false, "t.C", "for range t.C"},
		{19, "p.f", heisen.Receive, true, "ctx.Done()", "<-ctx.Done()"},
		{20, literal, heisen.Send, false, "wg", ""},
		{21, "p.f", heisen.Acquire, false, "once", "once.Do(nil)"},
		{21, "p.f", heisen.AtomicRead, false, "once", "once.Do(nil)"},
		{22, literal, heisen.Acquire, false, "mu", "mu.Lock()"}, // more likely than a lock in once
	} {
		got := find(test.line, test.function, test.op, test.waits)
		if got.Variable != test.variable || test.statement != "" && got.Statement != test.statement {
			t.Errorf("line %d, %s: %q in %q, want %q in %q\n%s", test.line, test.op, got.Variable, got.Statement, test.variable, test.statement,
				strings.Split(text, "\n")[test.line-1])
		}
	}
}
