package suspects

import (
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// testSuspect returns a suspect of units with accesses at lines of a file.
func testSuspect(kind heisen.Kind, p *controlled.Program, lines ...int) *Suspect {
	s := &Suspect{Program: p, Finding: report.Finding{Kind: kind}, Strategy: strategies.RaceDirected}
	for _, line := range lines {
		s.Finding.Accesses = append(s.Finding.Accesses, report.Access{Op: "write", Stack: []report.Frame{{File: "/a.go", Line: line, Func: "f"}}})
		s.Targets = append(s.Targets, recorder.Target{File: "/a.go", Line: line, Mode: recorder.OnWrite, Roles: strategies.First})
	}
	return s
}

// TestBudget: suspects have half of the time, an execution has half of what is left, and what concerns several units counts for all of them.
func TestBudget(t *testing.T) {
	p := &controlled.Program{}
	a, b := &controlled.Unit{Program: p, Test: "TestA"}, &controlled.Unit{Program: p, Test: "TestB"}
	p.Units = []*controlled.Unit{a, b}
	budget := NewBudget(10*time.Second, 2, p.Units, true)
	one, both := testSuspect(heisen.PotentialRace, p, 1, 2), testSuspect(heisen.PotentialRace, p, 3, 4)
	one.Tests = "^(TestA)$"
	AddSuspects([]*Suspect{one, both})
	if len(one.units) != 1 || len(both.units) != 2 || len(a.Targets) != 4 || len(b.Targets) != 2 {
		t.Fatalf("%d and %d units, %d and %d targets", len(one.units), len(both.units), len(a.Targets), len(b.Targets))
	}
	budget.Spend(one, 4*time.Second)
	if !budget.MayTry(one) || budget.Bounds(one, time.Minute) != 3*time.Second {
		t.Errorf("after 4 s: %t, an execution may take %v", budget.MayTry(one), budget.Bounds(one, time.Minute))
	}
	budget.Spend(both, 2*time.Second)
	if budget.MayTry(one) || !budget.MayTry(both) {
		t.Error("5 s of TestA and 1 s of TestB are used: there is no time for a suspect in TestA, and some for one in both")
	}
	if left := budget.left([]*controlled.Unit{a}, forSearch); left != 2500*time.Millisecond {
		t.Errorf("the search has %v", left)
	}
	if bound, bounded := budget.Shrinking(one); !bounded || bound != 1200*time.Millisecond {
		t.Errorf("a schedule has %v, %t", bound, bounded)
	}
	budget.AddTime([]*controlled.Unit{a}, time.Minute)
	if bound, _ := budget.Shrinking(one); bound != 0 || budget.Bounds(one, time.Minute) != leastTime {
		t.Errorf("nothing is left: %v for a schedule, %v for an execution", bound, budget.Bounds(one, time.Minute))
	}

	var none *Budget
	if _, bounded := none.Shrinking(one); bounded || !none.MayTry(one) || none.Bounds(one, time.Minute) != time.Minute {
		t.Error("no budget bounds something")
	}
	seeds := NewBudget(time.Second, 1, []*controlled.Unit{a}, false)
	seeds.Spend(both, time.Hour)
	if !seeds.MayTry(both) || a.Used >= time.Hour {
		t.Error("suspects are bounded although the user has asked for all seeds")
	}
	if single := NewBudget(time.Second, 4, []*controlled.Unit{a}, true); single.limit != 4*time.Second {
		t.Errorf("executions of a single unit run at the same time: they have %v", single.limit)
	}
}

// TestPromising: the order is by kind, and then by what is new.
func TestPromising(t *testing.T) {
	p := &controlled.Program{}
	plain, again, other := testSuspect(heisen.PotentialRace, p, 1, 2), testSuspect(heisen.PotentialRace, p, 1, 3), testSuspect(heisen.PotentialRace, p, 7, 8)
	shown, dead := testSuspect(heisen.PotentialRace, p, 20, 21), testSuspect(heisen.Deadlock, p, 30, 31)
	followed := testSuspect(heisen.Race, p, 40, 41)
	followed.witness = &witness{}
	seen := shown.Finding
	seen.Kind = heisen.Race
	runs := map[*controlled.Program][]*Run{p: {{Execution: &controlled.Execution{Observed: []report.Finding{seen}}}}}
	all := []*Suspect{plain, again, other, dead, shown, followed}
	Promising(all, runs)
	for i, want := range []*Suspect{followed, shown, dead, plain, other, again} {
		if all[i] != want {
			t.Errorf("%d: lines %d and %d", i, all[i].Targets[0].Line, all[i].Targets[1].Line)
		}
	}
}

// TestBudgetWithin: units share a bound on real time, each has at least a second, and the stages end one after the other.
func TestBudgetWithin(t *testing.T) {
	p := &controlled.Program{}
	for range 4 {
		p.Units = append(p.Units, &controlled.Unit{Program: p})
	}
	each := func(within time.Duration, parallel int) time.Duration {
		return NewBudgetWithin(within, parallel, p.Units).limit
	}
	for _, c := range []struct {
		within   time.Duration
		parallel int
		want     time.Duration
	}{
		{40 * time.Second, 1, 10 * time.Second},
		{40 * time.Second, 2, 20 * time.Second},
		{40 * time.Second, 8, 80 * time.Second}, // two executions of each at a time
		{time.Second, 2, leastSearch},
	} {
		if got := each(c.within, c.parallel); got != c.want {
			t.Errorf("%v, %d executions at a time: %v for each, want %v", c.within, c.parallel, got, c.want)
		}
	}

	s := testSuspect(heisen.PotentialRace, p, 1, 2)
	for _, c := range []struct {
		passed                     time.Duration
		survey, suspects, searches bool
	}{
		{0, true, true, true}, {61 * time.Minute, false, true, true}, {86 * time.Minute, false, false, true}, {100 * time.Minute, false, false, false},
	} {
		b := NewBudgetWithin(100*time.Minute, 2, p.Units)
		b.ends = b.ends.Add(-c.passed)
		if b.SurveyEnded() == c.survey || b.MayTry(s) != c.suspects || b.MaySearch(p.Units[0], false) != c.searches || b.MaySearch(p.Units[0], true) != c.searches {
			t.Errorf("after %v: survey ended %t, may try %t, may search %t", c.passed, b.SurveyEnded(), b.MayTry(s), b.MaySearch(p.Units[0], false))
		}
	}
	if NewBudget(time.Nanosecond, 1, p.Units, true).SurveyEnded() || (*Budget)(nil).SurveyEnded() {
		t.Error("a survey ends without a bound on all units")
	}
}

// TestGrant: the time that units leave within a bound on all goes to those that have shown something new last, and to as many as it is enough for.
func TestGrant(t *testing.T) {
	p := &controlled.Program{}
	for range 10 {
		p.Units = append(p.Units, &controlled.Unit{Program: p})
	}
	b := NewBudgetWithin(100*time.Minute, 1, p.Units)
	b.AddTime(p.Units, 100*time.Minute) // of each a tenth
	for i, u := range p.Units {
		if u.Stale = 10 - i; b.MaySearch(u, false) {
			t.Fatal("there is time left that nobody was given")
		}
	}
	if !b.Grant(p.Units[:5]) {
		t.Fatal("no time is left")
	}
	for i, u := range p.Units {
		if left := b.left([]*controlled.Unit{u}, forSchedules); i < 5 && (left > 10*time.Minute || left < 9*time.Minute) || i >= 5 && left > 0 {
			t.Errorf("unit %d has %v, want half of the time in equal parts for the first five", i, left)
		}
	}

	b.ends = time.Now().Add(3*leastSearch + leastSearch/2)
	for _, u := range p.Units {
		u.Granted = 0
	}
	if !b.Grant(p.Units) {
		t.Fatal("no time is left")
	}
	for i, u := range p.Units {
		if given := u.Granted > 0; given != (i >= 7) {
			t.Errorf("unit %d, with nothing new in %d executions: %v", i, u.Stale, u.Granted)
		}
	}
	b.ends = time.Now()
	if b.Grant(p.Units) || NewBudget(time.Hour, 1, p.Units, true).Grant(p.Units) || (*Budget)(nil).Grant(p.Units) {
		t.Error("time is given that is not there")
	}
}

// TestBefore: within a bound on all units, one that shows nothing new has a quarter of the time of another one.
func TestBefore(t *testing.T) {
	p := &controlled.Program{}
	stale, fresh := &controlled.Unit{Program: p, Stale: 1000}, &controlled.Unit{Program: p}
	p.Units = []*controlled.Unit{stale, fresh}
	within, each := NewBudgetWithin(time.Hour, 1, p.Units), NewBudget(time.Hour, 1, p.Units, true)
	for range 500 {
		next := stale
		if within.Before(fresh, stale) {
			next = fresh
		}
		next.Used += time.Second
	}
	if stale.Used != 100*time.Second || fresh.Used != 400*time.Second {
		t.Errorf("%v and %v", stale.Used, fresh.Used)
	}
	if each.Before(fresh, stale) || !each.Before(stale, fresh) {
		t.Error("without such a bound, the time alone decides")
	}
}
