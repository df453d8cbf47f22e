package search

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// nested is the behavior of an execution that acquires locks in a rare order.
const nested = recorder.Behavior(uint64(recorder.Nested)<<56 | 1)

// inversion is a suspected deadlock of two places.
func inversion(p *controlled.Program) *suspects.Suspect {
	s := &suspects.Suspect{Program: p, Finding: report.Finding{Kind: heisen.Deadlock, Fingerprint: "inversion"}, Strategy: strategies.DeadlockDirected}
	for line := 1; line <= 2; line++ {
		s.Finding.Accesses = append(s.Finding.Accesses, report.Access{Op: heisen.Acquire.String(), Stack: []report.Frame{{Func: "p.f", File: "/p.go", Line: line}}})
		s.Targets = append(s.Targets, recorder.Target{File: "/p.go", Line: line, Func: "p.f", Mode: recorder.OnLock, Roles: strategies.Inner})
	}
	return s
}

// searching returns a unit whose search looks for further suspects, at its first generation.
func searching(p *controlled.Program) (*searched, *trials.Confirmer) {
	c := &trials.Confirmer{From: 1, To: 10}
	u := newSearched(&controlled.Unit{Program: p, Test: "TestTransfer"})
	u.enumeration.over, u.wanted = true, true
	u.plan(c)
	return u, c
}

// execute ends the executions of a generation and plans the next one.
func (u *searched) execute(c *trials.Confirmer, execution func(*plan) *controlled.Execution) {
	for u.planned() {
		n, next := u.take()
		m := made{suspect: suspects.AnyFailure(u.Program, strategies.RandomWalk)}
		if next.looks {
			m.looked = &suspects.Surveyed{Program: u.Program, Suspects: []*suspects.Suspect{inversion(u.Program)}, Skipped: []string{"skipped: one"}}
		} else {
			m.trial = &trials.Trial{Schedule: next.schedule, Execution: execution(next), First: -1}
		}
		u.done(n, m)
	}
	u.judge()
	u.plan(c)
}

// repeated returns the schedules of a generation that are repeated to look for suspects.
func (u *searched) repeated() (all []*recorder.Schedule) {
	for i := range u.plans {
		if u.plans[i].looks {
			all = append(all, u.plans[i].schedule)
		}
	}
	return all
}

// TestFurther: an execution with a new order of locks is repeated once, its suspects become targets of the search,
// and its executions confirm them.
func TestFurther(t *testing.T) {
	u, c := searching(&controlled.Program{Package: "p"})
	first := u.plans[1].schedule
	u.execute(c, func(of *plan) *controlled.Execution {
		e := &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.Passed}}
		if of.schedule == first {
			e.Behaviors = []recorder.Behavior{nested}
		}
		return e
	})
	if again := u.repeated(); len(again) != 1 || again[0] != first || !u.plans[0].looks {
		t.Fatalf("repeated: %v, want %v before others", again, first)
	}
	show := func(*plan) *controlled.Execution {
		return &controlled.Execution{Execution: recorder.Execution{Behaviors: []recorder.Behavior{nested}}, Outcome: controlled.Outcome{Class: controlled.Passed}}
	}
	executions := len(u.plans) - 1
	u.execute(c, show)
	if again := u.repeated(); len(again) > 0 {
		t.Errorf("repeated again: %v", again)
	}
	directed := func(p plan) bool {
		return p.arm.config.Strategy == strategies.DeadlockDirected && len(p.schedule.Targets) == 2
	}
	if !slices.ContainsFunc(u.plans, directed) {
		t.Errorf("no execution aims at %v", u.Targets)
	}
	executions += len(u.plans)
	u.execute(c, func(of *plan) *controlled.Execution {
		e := show(of)
		if directed(*of) {
			e.Outcome = controlled.Outcome{Class: controlled.Deadlocked}
			for _, line := range []int{2, 1} {
				e.Blocked = append(e.Blocked, report.Blocked{Stack: []report.Frame{{Func: "p.f", File: "/p.go", Line: line}}})
			}
		}
		return e
	})
	results, skipped := suspected([]*searched{u})
	if len(results) != 1 {
		t.Fatalf("%d results", len(results))
	}
	v := results[0]
	if v.Confirmed == 0 || v.Tried != executions || v.Suspect.Tests != "^TestTransfer$" {
		t.Errorf("confirmed %d, tried %d of %d, tests %s", v.Confirmed, v.Tried, executions, v.Suspect.Tests)
	}
	if v.Endings[0].Outcome.Class != controlled.Deadlocked || !v.Endings[0].Confirmed || v.Finding.Detector != controlled.DetectorName {
		t.Errorf("%+v, finding %+v", v.Endings, v.Finding)
	}
	if !slices.Equal(skipped, []string{"p: skipped: one"}) {
		t.Errorf("skipped %q", skipped)
	}
}

// TestNothingFurther: what a survey has seen or suspected is not looked for again, nor is anything without a survey or
// in an enumeration.
func TestNothingFurther(t *testing.T) {
	show := func(*plan) *controlled.Execution {
		return &controlled.Execution{Execution: recorder.Execution{Behaviors: []recorder.Behavior{nested}}, Outcome: controlled.Outcome{Class: controlled.Passed}}
	}
	surveyed := &controlled.Program{Package: "p"}
	surveyed.Looked = map[recorder.Behavior]bool{nested: true}
	u, c := searching(surveyed)
	u.execute(c, show)
	if again := u.repeated(); len(again) > 0 {
		t.Errorf("surveyed, and repeated: %v", again)
	}
	u, c = searching(&controlled.Program{Package: "p"})
	u.wanted = false
	u.execute(c, show)
	if again := u.repeated(); len(again) > 0 {
		t.Errorf("without a survey: %v", again)
	}
	u, c = searching(&controlled.Program{Package: "p"})
	for i := range u.plans {
		u.plans[i].schedule.Explore = true
	}
	u.enumeration.over = true
	u.execute(c, show)
	if again := u.repeated(); len(again) > 0 {
		t.Errorf("enumerated, and repeated: %v", again)
	}
	p := &controlled.Program{Package: "p"}
	u, c = searching(p)
	suspects.AddSuspects([]*suspects.Suspect{inversion(p)})
	u.execute(c, show)
	u.execute(c, show)
	if results, _ := suspected([]*searched{u}); len(results) > 0 {
		t.Errorf("known, and tried again: %+v", results)
	}
	if len(u.Targets) != 2 {
		t.Errorf("targets of the known suspect: %v", u.Targets)
	}
}

// TestDue: few executions of a generation are repeated, the others later, and none if executions are long.
func TestDue(t *testing.T) {
	different := recorder.Behavior(0)
	show := func(*plan) *controlled.Execution {
		different++
		return &controlled.Execution{Execution: recorder.Execution{Behaviors: []recorder.Behavior{nested + different}}, Outcome: controlled.Outcome{Class: controlled.Passed}}
	}
	u, c := searching(&controlled.Program{Package: "p"})
	for range 3 {
		u.execute(c, show)
		if again := u.repeated(); len(again) != maxLooks {
			t.Errorf("%d are repeated", len(again))
		}
	}
	if len(u.due) == 0 || len(u.due) > maxDue {
		t.Errorf("%d are due", len(u.due))
	}
	u.long = true
	u.execute(c, show)
	if again := u.repeated(); len(again) > 0 {
		t.Errorf("%d long ones are repeated", len(again))
	}
}

// TestSuspectedTwice: a suspect of two tests is reported for the one in which it was confirmed more often.
func TestSuspectedTwice(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	var units []*searched
	for confirmed := range 2 {
		v := &trials.Result{Suspect: inversion(p), Tried: 3, Confirmed: confirmed}
		u := newSearched(&controlled.Unit{Program: p})
		u.suspected = []*trials.Result{v}
		units = append(units, u)
	}
	if results, _ := suspected(units); len(results) != 1 || results[0].Confirmed != 1 {
		t.Errorf("%+v", results)
	}
}
