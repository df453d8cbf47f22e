package trials

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// TestAssumed: what executions show in which time has passed while something could still answer, or in which a
// goroutine has used a test before its end, is an assumption about time unless another execution shows it. A race
// is one in any case.
func TestAssumed(t *testing.T) {
	overtaken := recorder.Influence{Kind: recorder.Process, Count: 1}
	leak := report.Finding{Kind: heisen.Leak, Detector: observed.LeakDetector, Fingerprint: "1"}
	race := report.Finding{Kind: heisen.Race, Detector: observed.RaceDetector, Fingerprint: "1"}
	early := report.Finding{Kind: heisen.Misuse, Detector: observed.MisuseDetector, Fingerprint: "1", Message: "Log of a test is called by a goroutine for which the test does not wait"}
	late := report.Finding{Kind: heisen.Misuse, Detector: observed.MisuseDetector, Fingerprint: "1", Message: "Log of a test is called by a goroutine after the test has ended"}
	execution := func(f report.Finding, class controlled.Class, in recorder.Execution) *Trial {
		return &Trial{Execution: &controlled.Execution{Execution: in, Outcome: controlled.Outcome{Class: class}, Observed: []report.Finding{f}}, First: -1}
	}
	normal, past, held := recorder.Execution{}, recorder.Execution{Overtaken: overtaken}, recorder.Execution{Delays: 1}
	for _, test := range []struct {
		name    string
		trials  []*Trial
		assumed bool
	}{
		{"a leak after the real time", []*Trial{execution(leak, controlled.Passed, past)}, true},
		{"also before", []*Trial{execution(leak, controlled.Passed, past), execution(leak, controlled.Passed, normal)}, false},
		{"a leak after a delay", []*Trial{execution(leak, controlled.Passed, held)}, false},
		{"a leak in a failure after a delay", []*Trial{execution(leak, controlled.TestFailed, held)}, true},
		{"a race", []*Trial{execution(race, controlled.Passed, past)}, false},
		{"in time", []*Trial{execution(early, controlled.Passed, normal)}, true},
		{"in time, and late after a delay", []*Trial{execution(early, controlled.Passed, normal), execution(late, controlled.Panicked, held)}, true},
		{"in time, and late", []*Trial{execution(early, controlled.Passed, normal), execution(late, controlled.Passed, normal)}, false},
		{"late after a delay", []*Trial{execution(late, controlled.Passed, held)}, true},
	} {
		var o Observations
		s := &suspects.Suspect{Program: &controlled.Program{Package: "p"}, Strategy: strategies.Replay}
		for i, trial := range test.trials {
			o.Add(i, s, trial)
		}
		all := o.Results(func(*controlled.Program, *report.Finding) bool { return true })
		if len(all) != 1 || all[0].Timing != test.assumed {
			t.Errorf("%s: %d results, the first is assumed: %v", test.name, len(all), len(all) > 0 && all[0].Timing)
		}
	}
}

// TestFailureAfterRealTime: a failure is an assumption if all executions with it have gone past the real time.
func TestFailureAfterRealTime(t *testing.T) {
	trial := func(overtaken uint64) *Trial {
		e := &controlled.Execution{Outcome: controlled.Outcome{Class: controlled.TestFailed, Message: "TestX"}}
		e.Overtaken.Count = overtaken
		return &Trial{Execution: e, First: -1}
	}
	for _, test := range []struct {
		trials  []*Trial
		assumed bool
	}{
		{[]*Trial{trial(1), trial(2)}, true},
		{[]*Trial{trial(1), trial(0)}, false},
	} {
		v := &Result{Suspect: suspects.AnyFailure(&controlled.Program{}, strategies.Replay)}
		v.Finding = v.Suspect.Finding
		for _, trial := range test.trials {
			v.Add(trial)
		}
		if all := v.Failures(controlled.Outcome{Class: controlled.Passed}); len(all) != 1 || all[0].Timing != test.assumed {
			t.Errorf("%d failures, want one that is assumed: %v", len(all), test.assumed)
		}
	}
}
