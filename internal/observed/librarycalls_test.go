package observed

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestAtCalls: races inside the standard library are attributed to the calls of the program, and those of the same
// two calls are one mistake.
func TestAtCalls(t *testing.T) {
	write := report.Frame{Func: "bytes.(*Buffer).WriteString", File: "/go/src/bytes/buffer.go", Line: 180}
	grow := report.Frame{Func: "bytes.(*Buffer).grow", File: "/go/src/bytes/buffer.go", Line: 120}
	load := report.Frame{Func: "sync/atomic.LoadInt32", File: "/go/src/sync/atomic/doc.go", Line: 9}
	served := report.Frame{Func: "net/http.(*conn).serve", File: "/go/src/net/http/server.go", Line: 2000}
	wrapped := report.Frame{Func: "net/http.(*Server).Serve.gowrap3", File: "/go/src/net/http/server.go", Line: 3000}
	one := report.Frame{Func: "p.one", File: "/home/p/p.go", Line: 7}
	two := report.Frame{Func: "p.two", File: "/home/p/p.go", Line: 9}
	race := func(first, second []report.Frame) *report.Finding {
		return &report.Finding{Kind: heisen.Race, Message: "m", Accesses: []report.Access{{Stack: first}, {Stack: second}}}
	}
	stack := func(frames ...report.Frame) []report.Frame { return frames }
	at := func(f *report.Finding) string {
		AtCalls(f, "/go/src", nil)
		return f.Fingerprint
	}
	inner := race(stack(grow, write, one), stack(write, two))
	mistake := at(inner)
	if mistake == "" || inner.Accesses[0].Site != "/home/p/p.go:7" || inner.Accesses[1].Site != "/home/p/p.go:9" ||
		inner.Message != "bytes.(*Buffer).WriteString races with earlier bytes.(*Buffer).WriteString" {
		t.Errorf("%q: %+v", mistake, inner)
	}
	if again := at(race(stack(write, two), stack(write, one))); again != mistake {
		t.Errorf("%q, not %q", again, mistake)
	}
	if f := race(stack(served, wrapped), stack(write, one)); at(f) == "" || f.Message != "bytes.(*Buffer).WriteString races with earlier net/http.(*conn).serve" {
		t.Errorf("beside the library: %+v", f)
	}
	if other := race(stack(write, one), stack(write, one)); at(other) != mistake || other.Identity != "bytes.*Buffer" || other.PairFingerprint() == inner.PairFingerprint() {
		t.Errorf("two other calls of methods of the type: %+v", other)
	}
	// Beside a goroutine of the library, all calls of a goroutine of the program are one mistake.
	beside := func(start int, frames ...report.Frame) string {
		f := race(stack(served, wrapped), frames)
		f.Accesses[1].Thread = 7
		if start > 0 {
			f.Goroutines = []report.Goroutine{{Thread: 3, Stack: stack(served)}, {Thread: 7, Stack: stack(report.Frame{Func: "p.start", File: "/home/p/p.go", Line: start})}}
		}
		return at(f)
	}
	if beside(4, write, one) != beside(4, grow, two) || beside(4, write, one) == beside(5, write, one) {
		t.Error("calls beside the library are not told apart by where their goroutine was started")
	}
	if beside(0, write, one, two) != beside(0, grow, two) || beside(0, write, one) == beside(0, write, two) {
		t.Error("calls beside the library are not told apart by the outermost function of the program")
	}
	for name, f := range map[string]*report.Finding{
		"another type":      race(stack(served, wrapped, one), stack(write, one)),
		"in the program":    race(stack(one), stack(write, two)),
		"an atomic access":  race(stack(load, one), stack(write, two)),
		"by nobody":         race(stack(served), stack(served)),
		"without a stack":   race(nil, stack(write, two)),
		"no race":           {Kind: heisen.Leak, Accesses: []report.Access{{Stack: stack(write, one)}, {Stack: stack(write, two)}}},
		"an unknown folder": race(stack(report.Frame{Func: "p.x", File: "/go/srcs/p.go"}, one), stack(write, two)),
	} {
		if got := at(f); got == mistake || name != "another type" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
