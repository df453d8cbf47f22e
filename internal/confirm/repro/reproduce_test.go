package repro

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestCircle: a deadlock shows the goroutines of one execution, each of which holds what the one before it wants.
func TestCircle(t *testing.T) {
	stack := func(line int) []report.Frame { return []report.Frame{{Func: "p.f", File: "a.go", Line: line}} }
	blocked := func(thread heisen.Thread, line int, wants string, holds ...string) report.Blocked {
		b := report.Blocked{Thread: thread, Object: wants, Stack: stack(line)}
		for _, l := range holds {
			b.Locks = append(b.Locks, report.Lock{Lock: l})
		}
		return b
	}
	for name, test := range map[string]struct {
		lines   []int
		blocked []report.Blocked
		want    []heisen.Thread // none if the goroutines are not known
		cycle   []string
	}{
		"two":                       {[]int{3, 5}, []report.Blocked{blocked(8, 5, "a", "b"), blocked(9, 3, "b", "a")}, []heisen.Thread{9, 8}, []string{"v a", "v b", "v a"}},
		"three at one place":        {[]int{3, 3, 3}, []report.Blocked{blocked(7, 9, "wg"), blocked(8, 3, "b", "a"), blocked(9, 3, "a", "c"), blocked(10, 3, "c", "b")}, []heisen.Thread{8, 10, 9}, []string{"v a", "v b", "v c", "v a"}},
		"one of them is elsewhere":  {[]int{3, 5}, []report.Blocked{blocked(8, 5, "a", "b"), blocked(9, 4, "b", "a")}, nil, nil},
		"one is missing":            {[]int{3, 3}, []report.Blocked{blocked(8, 3, "b", "a")}, nil, nil},
		"a reader behind a writer":  {[]int{3, 5}, []report.Blocked{blocked(8, 3, "r", "r"), blocked(9, 5, "r")}, []heisen.Thread{8, 9}, []string{"v", "v", "v"}},
		"others wait at the places": {[]int{3, 5}, []report.Blocked{blocked(7, 5, "x"), blocked(8, 3, "b", "a"), blocked(9, 5, "a", "b")}, []heisen.Thread{8, 9}, []string{"v a", "v b", "v a"}},
	} {
		f := report.Finding{Kind: heisen.Deadlock, Cycle: make([]string, len(test.lines)+1)}
		for i, line := range test.lines {
			f.Accesses = append(f.Accesses, report.Access{Thread: heisen.Thread(100 + i), Variable: "v", Stack: stack(line)})
		}
		AddBlocked(&f, test.blocked)
		var got []heisen.Thread
		for i := range f.Accesses {
			if thread := f.Accesses[i].Thread; thread < 100 {
				got = append(got, thread)
			}
		}
		if !slices.Equal(got, test.want) || test.want != nil && !slices.Equal(f.Cycle, test.cycle) {
			t.Errorf("%s: goroutines %v, locks %q, want %v, %q", name, got, f.Cycle, test.want, test.cycle)
		}
	}
}

// TestSteps: no step is told twice in a row.
func TestSteps(t *testing.T) {
	one, two := uint64(1), uint64(2)
	also := one
	step := func(thread heisen.Thread, object string, value *uint64) report.Step {
		return report.Step{Op: "write", Thread: thread, Object: object, Site: "a.go:3", Value: value}
	}
	var steps []report.Step
	for _, s := range []report.Step{
		step(1, "x", nil), step(1, "x", nil), step(1, "y", nil), step(2, "y", nil), step(1, "y", nil), step(1, "y", &one), step(1, "y", &also), step(1, "y", &two),
	} {
		steps = addStep(steps, s)
	}
	if len(steps) != 6 {
		t.Errorf("%d steps, want 6: %+v", len(steps), steps)
	}

	message := func(thread heisen.Thread, op, verb string) report.Step {
		return report.Step{Op: op, Verb: verb, Thread: thread, Variable: "c", Site: "a.go:3"}
	}
	for name, test := range map[string]struct {
		steps []report.Step
		want  string // the verbs of what is left
	}{
		"a send":            {[]report.Step{message(1, "read", "try to send"), message(1, "send", "send")}, "send"},
		"a failing receive": {[]report.Step{message(1, "read", "try to receive"), message(1, "observe", "fail to receive")}, "fail to receive"},
		"a send that waits": {[]report.Step{message(1, "read", "try to send"), message(2, "receive", "receive"), message(1, "send", "send")}, "try to send,receive,send"},
		"others":            {[]report.Step{message(1, "read", "try to send"), message(2, "send", "send")}, "try to send,send"},
	} {
		var steps []report.Step
		var left []string
		for _, s := range test.steps {
			steps = addStep(steps, s)
		}
		for _, s := range steps {
			left = append(left, s.Verb)
		}
		if got := strings.Join(left, ","); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
