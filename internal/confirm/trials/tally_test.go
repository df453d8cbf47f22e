package trials

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
)

// TestTallies: executions of a test by itself and among others count for it, and those that say nothing of it do not.
func TestTallies(t *testing.T) {
	p := &controlled.Program{Package: "p", Test: true}
	for _, name := range []string{"TestA", "TestB", "TestC"} {
		p.Units = append(p.Units, &controlled.Unit{Program: p, Test: name})
	}
	var o Observations
	ended := func(n int, tests string, class controlled.Class, message, failed string) {
		for range n {
			s := &suspects.Suspect{Program: p, Tests: tests}
			e := &controlled.Execution{Outcome: controlled.Outcome{Class: class, Message: message, Tests: failed}}
			o.Add(0, s, &Trial{Execution: e})
		}
	}
	ended(3, "", controlled.Passed, "", "")
	ended(2, "", controlled.TestFailed, "TestA/x", "TestA\nTestA/x\nTestB")
	ended(1, "", controlled.Panicked, "oh", "") // of any of them
	ended(4, "^TestA$", controlled.Passed, "", "")
	ended(5, "^TestB$", controlled.Panicked, "oh", "")
	ended(6, "^(TestA|TestC)$", controlled.Passed, "", "")
	ended(7, "^(TestC)$", controlled.Hung, "", "")
	o.Tally(&suspects.Suspect{Program: p, Tests: "^TestA$"},
		&Trial{Execution: &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.TestFailed, Message: "TestA/x", Tests: "TestA\nTestA/x"}}})

	all := o.Tallies(p)
	if len(all) != 2 || all[0].Test != "TestA" || all[1].Test != "TestB" {
		t.Fatalf("%+v", all)
	}
	for i, want := range []struct{ passed, failed Ends }{
		{Ends{13, 4}, Ends{3, 1}},
		{Ends{3, 0}, Ends{7, 5}},
	} {
		if got := all[i]; got.Passed != want.passed || got.Failed() != want.failed {
			t.Errorf("%s: passed %+v, failed %+v, want %+v", got.Test, got.Passed, got.Failed(), want)
		}
	}
	messages := func(of *Tally) (all []string) {
		for _, f := range of.Failures {
			all = append(all, f.Outcome.String())
		}
		return all
	}
	if got := messages(all[0]); !slices.Equal(got, []string{"test failed: TestA/x"}) {
		t.Error(got)
	}
	if got := messages(all[1]); !slices.Equal(got, []string{"panic: oh", "test failed: TestB"}) {
		t.Error(got)
	}
	if made := o.Made(p, ""); made != 28 {
		t.Errorf("%d executions, want those that are judged", made)
	}
}
