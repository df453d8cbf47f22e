package trials

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// TestObservationsInAnyOrder: the results do not depend on the order in which executions are added.
func TestObservationsInAnyOrder(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	type added struct {
		position int
		suspect  *suspects.Suspect
		trial    *Trial
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all []added
	for position := range 4 {
		s := &suspects.Suspect{Program: p, Strategy: strategies.RaceDirected}
		for number := range uint64(5) {
			e := &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.Passed}}
			if random.IntN(3) == 0 {
				e.Outcome = controlled.Outcome{Class: controlled.Panicked, Message: fmt.Sprint("index ", random.IntN(9))}
			}
			for bug := range 3 {
				if random.IntN(3) == 0 {
					e.Observed = append(e.Observed, report.Finding{Kind: heisen.Leak, Detector: observed.LeakDetector, Fingerprint: fmt.Sprint(bug)})
				}
			}
			all = append(all, added{position, s, &Trial{Seed: number, Schedule: &recorder.Schedule{}, Execution: e, Number: number}})
		}
	}
	results := func() (texts []string) {
		var o Observations
		for _, a := range all {
			o.Add(a.position, a.suspect, a.trial)
		}
		for _, v := range o.Results(func(*controlled.Program, *report.Finding) bool { return true }) {
			f := v.Report(controlled.Outcome{Class: controlled.Passed})
			texts = append(texts, fmt.Sprint(f, *f.Trials))
		}
		return texts
	}
	want := results()
	if len(want) != 3 {
		t.Fatalf("%d bugs: %q", len(want), want)
	}
	for range 50 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := results(); !reflect.DeepEqual(got, want) {
			t.Fatalf("\n%q\nnot\n%q", got, want)
		}
	}
}

// TestObservationsFirst: a bug is shown in the first run of the survey that has it.
func TestObservationsFirst(t *testing.T) {
	p := &controlled.Program{Package: "p", Test: true}
	leak := report.Finding{Kind: heisen.Leak, Detector: observed.LeakDetector, Fingerprint: "1"}
	run := func(seed uint64, found ...report.Finding) *Trial {
		return &Trial{Seed: seed, Execution: &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.Passed}, Observed: found}, First: -1}
	}
	var o Observations
	s := &suspects.Suspect{Program: p, Strategy: strategies.RaceDirected}
	o.Add(0, s, run(7, leak))
	var runs []*suspects.Run
	for seed, found := range [][]report.Finding{nil, nil, {leak}, {leak}} {
		runs = append(runs, &suspects.Run{Seed: uint64(seed), Execution: run(0, found...).Execution})
	}
	o.AddSurvey(p, runs)
	var asked []string
	if all := o.Results(func(_ *controlled.Program, f *report.Finding) bool {
		asked = append(asked, f.Fingerprint)
		return false
	}); len(all) > 0 {
		t.Errorf("unwanted results: %v", all)
	}
	all := o.Results(func(*controlled.Program, *report.Finding) bool { return true })
	if len(all) != 1 || len(asked) != 1 {
		t.Fatalf("results %v, asked for %q", all, asked)
	}
	v := all[0]
	if e := v.Endings[0]; v.Tried != 5 || v.Confirmed != 3 || e.Trial.Seed != 2 || e.Count != 3 || v.Suspect.Strategy != strategies.RandomWalk || v.Finding.Package != "p" {
		t.Errorf("result %+v", v)
	}
	if yes, _ := v.Suspect.HappenedIn(run(0).Execution); yes {
		t.Error("confirmed by an execution without it")
	}
	if yes, _ := v.Suspect.HappenedIn(run(0, leak).Execution); !yes {
		t.Error("not confirmed by an execution with it")
	}
}

// TestObservationsLate: a leak in executions that fail only where a goroutine was held back while time passed is shown in
// others, if there are any, and does no harm then. A race is shown with its harm.
func TestObservationsLate(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	s := &suspects.Suspect{Program: p, Strategy: strategies.Delay}
	passed, failed := controlled.Outcome{Class: controlled.Passed}, controlled.Outcome{Class: controlled.TestFailed, Message: "T"}
	for _, test := range []struct {
		name         string
		kind         heisen.Kind
		runs         []controlled.Execution
		timing, harm bool
		confirmed    int
	}{
		{"only late", heisen.Leak, []controlled.Execution{{Outcome: failed, Execution: recorder.Execution{Delays: 1}}}, true, true, 1},
		{"also passing", heisen.Leak, []controlled.Execution{{Outcome: failed, Execution: recorder.Execution{Delays: 1}}, {Outcome: passed}, {Outcome: passed, Execution: recorder.Execution{Delays: 2}}}, false, false, 2},
		{"passing, delayed", heisen.Misuse, []controlled.Execution{{Outcome: failed, Execution: recorder.Execution{Delays: 1}}, {Outcome: passed, Execution: recorder.Execution{Delays: 1}}}, false, false, 1},
		{"failing without delay", heisen.Leak, []controlled.Execution{{Outcome: failed, Execution: recorder.Execution{Delays: 1}}, {Outcome: failed}}, false, true, 2},
		{"a race", heisen.Race, []controlled.Execution{{Outcome: failed, Execution: recorder.Execution{Delays: 1}}, {Outcome: passed}}, false, true, 2},
	} {
		var o Observations
		for i := range test.runs {
			e := &test.runs[i]
			e.Observed = []report.Finding{{Kind: test.kind, Detector: observed.LeakDetector, Fingerprint: "1"}}
			o.Add(i, s, &Trial{Seed: 1, Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(i)})
		}
		all := o.Results(func(*controlled.Program, *report.Finding) bool { return true })
		if len(all) != 1 {
			t.Fatalf("%s: %d results", test.name, len(all))
		}
		f := all[0].Report(passed)
		if all[0].Timing != test.timing || f.Trials.Harmful != test.harm || all[0].Confirmed != test.confirmed {
			t.Errorf("%s: timing %v, harmful %v, confirmed in %d, want %+v", test.name, all[0].Timing, f.Trials.Harmful, all[0].Confirmed, test)
		}
	}
}

// TestSameBug tests which observed bugs are not reported beside confirmed ones.
func TestSameBug(t *testing.T) {
	at := func(op string, line int) report.Access {
		return report.Access{Op: op, Stack: []report.Frame{{Func: "f", File: "/f.go", Line: line}}}
	}
	confirmed := func(kind heisen.Kind, accesses ...report.Access) report.Finding {
		return report.Finding{Kind: kind, Detector: controlled.DetectorName, Fingerprint: "c", Accesses: accesses, Trials: &report.Trials{Confirmed: 1}}
	}
	race := confirmed(heisen.Race, at("read", 1), at("write", 2))
	deadlock := confirmed(heisen.Deadlock, at("acquire", 5), at("acquire", 6))
	never := race
	never.Trials = &report.Trials{}
	seen := func(kind heisen.Kind, accesses ...report.Access) report.Finding {
		return report.Finding{Kind: kind, Fingerprint: "o", Accesses: accesses}
	}
	for name, test := range map[string]struct {
		confirmed, observed report.Finding
		want                bool
	}{
		"the same race":            {race, seen(heisen.Race, at("read", 1), at("write", 2)), true},
		"in the other order":       {race, seen(heisen.Race, at("write", 2), at("read", 1)), true},
		"another operation":        {race, seen(heisen.Race, at("write", 2), at("write", 1)), false},
		"another place":            {race, seen(heisen.Race, at("read", 1), at("write", 3)), false},
		"not confirmed":            {never, seen(heisen.Race, at("read", 1), at("write", 2)), false},
		"a leak beside a race":     {race, seen(heisen.Leak, at("receive", 1)), false},
		"a part of a deadlock":     {deadlock, seen(heisen.Leak, at("acquire", 6)), true},
		"no part of a deadlock":    {deadlock, seen(heisen.Leak, at("acquire", 7)), false},
		"a race beside a deadlock": {deadlock, seen(heisen.Race, at("read", 5), at("write", 6)), false},
	} {
		if got := SameBug(&test.confirmed, &test.observed); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestObservationsExplain: a race explains a failure if no execution without it fails so, and if its order, or that it is not
// there, lets executions pass.
func TestObservationsExplain(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	race := func(first int) []report.Finding {
		at := func(line int) report.Access {
			return report.Access{Op: "write", Stack: []report.Frame{{Func: "p.f", File: "p.go", Line: line}}}
		}
		f := report.Finding{Kind: heisen.Race, Detector: observed.RaceDetector, Fingerprint: "race", Accesses: []report.Access{at(1), at(2)}}
		if first == 1 {
			f.Accesses = []report.Access{at(2), at(1)}
		}
		return []report.Finding{f}
	}
	leak := []report.Finding{{Kind: heisen.Leak, Detector: observed.LeakDetector, Fingerprint: "leak", Accesses: []report.Access{{Op: "send"}}}}
	passed, failed := controlled.Outcome{Class: controlled.Passed}, controlled.Outcome{Class: controlled.TestFailed, Message: "TestOne/first"}
	other := controlled.Outcome{Class: controlled.TestFailed, Message: "TestTwo"}
	type run struct {
		outcome  controlled.Outcome
		observed []report.Finding
		tests    string
	}
	for _, test := range []struct {
		name string
		runs []run
		want []controlled.Outcome
	}{
		{"one order", []run{{passed, race(0), ""}, {failed, race(1), ""}}, []controlled.Outcome{failed}},
		{"only with the race", []run{{passed, nil, ""}, {failed, race(1), ""}, {failed, race(0), ""}}, []controlled.Outcome{failed}},
		{"also without it", []run{{passed, race(0), ""}, {failed, race(1), ""}, {failed, nil, ""}}, nil},
		{"in both orders", []run{{passed, race(0), ""}, {failed, race(0), ""}, {passed, race(1), ""}, {failed, race(1), ""}}, nil},
		{"always", []run{{failed, race(0), ""}, {failed, race(1), ""}}, nil},
		{"one of two failures", []run{{passed, race(0), ""}, {failed, race(1), ""}, {other, race(0), ""}, {other, nil, ""}}, []controlled.Outcome{failed}},
		{"numbers", []run{
			{passed, race(0), ""}, {controlled.Outcome{Class: controlled.Panicked, Message: "index 7"}, race(1), ""}, {controlled.Outcome{Class: controlled.Panicked, Message: "index 9"}, nil, ""},
		}, nil},
		{"a leak", []run{{passed, nil, ""}, {failed, leak, ""}}, nil},
		{"other tests pass without it", []run{{passed, race(0), "A"}, {failed, race(0), "A"}, {passed, nil, "B"}}, nil},
		{"other tests pass in the other order", []run{{passed, race(0), "A"}, {failed, race(0), "A"}, {passed, race(1), "B"}}, nil},
		{"the same tests pass without it", []run{{failed, race(0), "A"}, {passed, nil, "A"}}, []controlled.Outcome{failed}},
	} {
		var o Observations
		for i, r := range test.runs {
			s := &suspects.Suspect{Program: p, Strategy: strategies.RaceDirected, Tests: r.tests}
			e := &controlled.Execution{Outcome: r.outcome, Observed: r.observed}
			o.Add(0, s, &Trial{Seed: uint64(i), Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(i)})
		}
		var got []controlled.Outcome
		for _, v := range o.Results(func(*controlled.Program, *report.Finding) bool { return true }) {
			got = append(got, v.Explains...)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestObservedPairs: an execution that shows several pairs of accesses to a variable counts once, and the bug has all pairs.
func TestObservedPairs(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	pair := func(fingerprint string) report.Finding {
		return report.Finding{Kind: heisen.Race, Detector: observed.RaceDetector, Fingerprint: "v", Identity: "p.x", Pair: fingerprint, Count: 1}
	}
	var o Observations
	s := &suspects.Suspect{Program: p, Strategy: strategies.RaceDirected}
	for i, found := range [][]report.Finding{{pair("1"), pair("2")}, {pair("2")}, {pair("3"), pair("2"), pair("1")}} {
		e := &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.Passed}, Observed: found}
		o.Add(0, s, &Trial{Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(i)})
	}
	all := o.Results(func(*controlled.Program, *report.Finding) bool { return true })
	if len(all) != 1 || all[0].Confirmed != 3 || all[0].Finding.Pair != "1" || len(all[0].Finding.Pairs) != 2 {
		t.Fatalf("%d bugs: %+v", len(all), all[0].Finding)
	}
	if pairs := all[0].Finding.Pairs; pairs[0].Count != 3 || pairs[1].Count != 1 || all[0].Report().Count != 3 {
		t.Errorf("%+v", pairs)
	}
}

// TestIndependent: a failure has nothing to do with a race if some executions fail and some pass whatever the race does, and it does if the race
// is decisive. Few executions do not tell.
func TestIndependent(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	race := func(line int, thread heisen.Thread) []report.Finding {
		at := report.Access{Op: "write", Thread: thread, Stack: []report.Frame{{Func: "p.f", File: "p.go", Line: line}}}
		return []report.Finding{{Kind: heisen.Race, Detector: observed.RaceDetector, Fingerprint: "race", Accesses: []report.Access{at, at}}}
	}
	passed, failed := controlled.Outcome{Class: controlled.Passed}, controlled.Outcome{Class: controlled.TestFailed, Message: "TestOne"}
	type runs struct {
		n        int
		outcome  controlled.Outcome
		observed []report.Finding
		tests    string
	}
	first, second := race(1, 1), race(1, 2)
	for _, test := range []struct {
		name string
		runs []runs
		want bool
	}{
		{"whichever is first", []runs{{20, passed, first, ""}, {2, failed, first, ""}, {30, passed, second, ""}, {5, failed, second, ""}}, true},
		{"always the same order", []runs{{20, passed, first, ""}, {2, failed, first, ""}}, true},
		{"with and without it", []runs{{20, passed, first, ""}, {2, failed, first, ""}, {20, passed, nil, ""}, {3, failed, nil, ""}}, true},
		{"one order decides", []runs{{20, passed, first, ""}, {10, failed, second, ""}}, false},
		{"one order is needed", []runs{{60, passed, first, ""}, {20, passed, second, ""}, {10, failed, second, ""}}, false},
		{"it is needed", []runs{{60, passed, nil, ""}, {20, passed, first, ""}, {10, failed, first, ""}}, false},
		{"one order suffices", []runs{{60, passed, first, ""}, {10, failed, first, ""}, {20, failed, second, ""}}, false},
		{"few", []runs{{3, passed, first, ""}, {1, failed, second, ""}}, false},
		{"few of the other order", []runs{{9, passed, first, ""}, {1, failed, first, ""}, {3, passed, second, ""}}, false},
		{"it always fails", []runs{{30, failed, first, ""}, {20, failed, second, ""}}, false},
		{"other tests", []runs{{20, passed, first, "A"}, {20, failed, second, "A"}, {20, passed, second, "B"}}, false},
		{"unknown", []runs{{20, passed, nil, ""}, {20, failed, nil, ""}}, false},
	} {
		var o Observations
		for k, r := range test.runs {
			for i := range r.n {
				s := &suspects.Suspect{Program: p, Strategy: strategies.RaceDirected, Tests: r.tests}
				e := &controlled.Execution{Outcome: r.outcome, Observed: r.observed}
				o.Add(0, s, &Trial{Seed: uint64(i), Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(100*k + i)})
			}
		}
		if got := o.Independent(p, "race", failed); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestMade: executions count by their tests, and those with a failure that do not show a race.
func TestMade(t *testing.T) {
	p := &controlled.Program{Package: "p"}
	race := []report.Finding{{Kind: heisen.Race, Detector: observed.RaceDetector, Fingerprint: "race", Accesses: []report.Access{{Op: "write"}, {Op: "read"}}}}
	panicked := controlled.Outcome{Class: controlled.Panicked, Message: "reused"}
	var o Observations
	for i, r := range []struct {
		tests    string
		outcome  controlled.Outcome
		observed []report.Finding
	}{{"", panicked, race}, {"A", panicked, nil}, {"A", panicked, nil}, {"A", controlled.Outcome{Class: controlled.Passed}, nil}, {"B", panicked, race}} {
		e := &controlled.Execution{Outcome: r.outcome, Observed: r.observed}
		o.Add(0, &suspects.Suspect{Program: p, Tests: r.tests}, &Trial{Schedule: &recorder.Schedule{}, Execution: e, Number: uint64(i)})
	}
	for tests, want := range map[string]int{"": 5, "A": 4, "B": 2} {
		if got := o.Made(p, tests); got != want {
			t.Errorf("%d executions of %q, want %d", got, tests, want)
		}
	}
	if got := o.Without(p, "race", panicked); got != 2 {
		t.Errorf("%d failures without the race, want 2", got)
	}
	if got := o.Without(p, "none", panicked); got != 4 {
		t.Errorf("%d failures without a race that nothing has shown, want 4", got)
	}
}
