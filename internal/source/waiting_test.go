package source

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

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
