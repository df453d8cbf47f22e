package cli

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestSplitHappened: a check is stale in a schedule if another goroutine comes between the two critical sections, with the same lock and in the
// function of the second one.
func TestSplitHappened(t *testing.T) {
	s := split{within: [2]lines{{"a.go", 10, 15}, {"a.go", 20, 25}}}
	step := func(thread heisen.Thread, op heisen.Op, lock, site string) report.Step {
		return report.Step{Thread: thread, Op: op.String(), Object: lock, Site: site}
	}
	check := func(thread heisen.Thread) report.Step { return step(thread, heisen.Release, "l", "a.go:12") }
	act := func(thread heisen.Thread) report.Step { return step(thread, heisen.Acquire, "l", "a.go:21") }
	for name, test := range map[string]struct {
		steps []report.Step
		want  bool
	}{
		"another one acts between":   {[]report.Step{check(1), check(2), act(2), act(1)}, true},
		"one after the other":        {[]report.Step{check(1), act(1), check(2), act(2)}, false},
		"both check, one acts":       {[]report.Step{check(1), check(2), act(1)}, false},
		"another lock":               {[]report.Step{check(1), step(2, heisen.Acquire, "m", "a.go:21"), act(1)}, false},
		"another function":           {[]report.Step{check(1), step(2, heisen.Acquire, "l", "a.go:30"), act(1)}, false},
		"another file":               {[]report.Step{check(1), step(2, heisen.Acquire, "l", "b.go:21"), act(1)}, false},
		"it checks again":            {[]report.Step{check(1), act(2), check(1), act(1)}, false},
		"the value was never tested": {[]report.Step{act(2), act(1)}, false},
	} {
		if got := s.happenedIn(&report.Finding{Witness: test.steps}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestJoin: a suspicion that failures show is a part of them, and otherwise stays.
func TestJoin(t *testing.T) {
	suspicion := report.Finding{Detector: "stalecheck", Kind: heisen.Atomicity, Fingerprint: "a1", Count: 1, Accesses: []report.Access{{}, {}}}
	failure := report.Finding{Detector: "racefuzz", Kind: heisen.Failure, Fingerprint: "b2", Count: 3, Accesses: []report.Access{}, Trials: &report.Trials{Confirmed: 3}}
	for _, shown := range []bool{true, false} {
		all := newFindings(nil, nil, &knownFindings{})
		all.add(suspicion)
		all.add(failure)
		all.join(&suspicion, func(f *report.Finding) bool { return shown && f.Fingerprint == "b2" })
		found, _ := all.all()
		for i := range found {
			if f := &found[i]; f.HasPair("a1") != (shown || f.Fingerprint == "a1") || f.Kind == heisen.Failure && f.Count != 3 {
				t.Errorf("shown: %v: %+v", shown, f)
			}
		}
		if want := map[bool]int{true: 1, false: 2}[shown]; len(found) != want {
			t.Errorf("shown: %v: %d findings, want %d", shown, len(found), want)
		}
	}
}
