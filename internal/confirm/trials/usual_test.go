package trials

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// TestUsualOfEachTest: a test that fails under the default schedule fails so in any executions with it, also if others fail before it
// or end the process.
func TestUsualOfEachTest(t *testing.T) {
	failing := func(name string, all ...string) controlled.Outcome {
		return controlled.Outcome{Class: controlled.TestFailed, Message: name, Tests: strings.Join(all, "\n")}
	}
	passed := controlled.Outcome{Class: controlled.Passed}
	both := failing("TestA", "TestA", "TestB", "TestB/sub")
	b, sub := failing("TestB", "TestB"), failing("TestB/sub", "TestB", "TestB/sub")
	c, panics := failing("TestC", "TestC"), controlled.Outcome{Class: controlled.Panicked, Message: "a"}
	for name, test := range map[string]struct {
		program controlled.Outcome
		alone   *controlled.Outcome // of the test of the race
		ending  controlled.Outcome
		harmful bool
	}{
		"another test fails first":       {both, nil, b, false},
		"a subtest":                      {both, nil, sub, false},
		"a test that passes by default":  {both, nil, c, true},
		"another test ends the process":  {panics, &b, b, false},
		"and the test passes by default": {panics, &passed, b, true},
		"nothing is known of the test":   {panics, nil, b, true},
		"the test passes among others":   {both, nil, passed, false},
	} {
		s := &suspects.Suspect{Program: &controlled.Program{Usual: test.program, Units: []*controlled.Unit{{Test: "TestB", Alone: test.alone}}}}
		endings := []Ending{{Outcome: test.ending, First: -1, Confirmed: true, Count: 1}}
		if got := harmful(heisen.Race, endings, s.Usual()...); got != test.harmful {
			t.Errorf("%s: harmful %v", name, got)
		}
	}
}

// TestFailsWithout: a failure belongs to a race only if no execution without the race fails in the same way. One with another pair of accesses
// to the variable is none without it.
func TestFailsWithout(t *testing.T) {
	failed := controlled.Outcome{Class: controlled.TestFailed, Message: "TestA"}
	passed := controlled.Outcome{Class: controlled.Passed}
	race := report.Finding{Kind: heisen.Race, Identity: "p.x", Accesses: make([]report.Access, 2)}
	other := report.Finding{Kind: heisen.Race, Identity: "p.y", Accesses: make([]report.Access, 2)}
	for name, test := range map[string]struct {
		confirmed, without controlled.Outcome
		shows              []report.Finding // the execution without it
		harmful            bool
	}{
		"it passes without":          {failed, passed, nil, true},
		"it fails without":           {failed, failed, nil, false},
		"it fails with another race": {failed, failed, []report.Finding{other}, false},
		"it fails with another pair": {failed, failed, []report.Finding{race}, true},
		"it passes with the race":    {passed, failed, nil, false},
	} {
		v := Result{Suspect: &suspects.Suspect{Program: &controlled.Program{}, Finding: race}, Finding: race}
		v.Add(&Trial{Confirmed: true, First: -1, Execution: &controlled.Execution{Outcome: test.confirmed}})
		v.Add(&Trial{First: -1, Execution: &controlled.Execution{Outcome: test.without, Observed: test.shows}})
		f := v.Report(passed)
		if f.Trials.Harmful != test.harmful || f.Trials.Endings[0].Anyway != (test.confirmed == failed && !test.harmful) || f.Trials.Endings[1].Anyway {
			t.Errorf("%s: %+v", name, f.Trials)
		}
	}
}

// TestObservedFailsWithout: the same for a race that executions have shown by themselves.
func TestObservedFailsWithout(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	race := report.Finding{Kind: heisen.Race, Fingerprint: "v", Identity: "p.x", Pair: "1", Accesses: make([]report.Access, 2)}
	for name, without := range map[bool]controlled.Outcome{true: {Class: controlled.Passed}, false: {Class: controlled.TestFailed, Message: "TestA"}} {
		var o Observations
		s := &suspects.Suspect{Program: p}
		for i, found := range [][]report.Finding{{race}, nil} {
			e := &controlled.Execution{Outcome: without, Observed: found}
			if i == 0 {
				e.Outcome = controlled.Outcome{Class: controlled.TestFailed, Message: "TestA"}
			}
			o.Add(0, s, &Trial{Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(i)})
		}
		all := o.Results(func(*controlled.Program, *report.Finding) bool { return true })
		if f := all[0].Report(); len(all) != 1 || f.Trials.Harmful != name || f.Trials.Endings[0].Anyway == name {
			t.Errorf("%v: %+v", name, f.Trials)
		}
	}
}
