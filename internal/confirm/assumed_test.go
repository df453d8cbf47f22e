package confirm

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// TestAssumed: what executions show in which time has passed while something could still answer, or in which a
// goroutine has used a test before its end, is an assumption about time unless another execution shows it. A race
// is one in any case.
func TestAssumed(t *testing.T) {
	overtaken := recorder.Influence{Kind: recorder.Process, Count: 1}
	leak := report.Finding{Kind: heisen.Leak, Detector: leakDetector, Fingerprint: "1"}
	race := report.Finding{Kind: heisen.Race, Detector: raceDetector, Fingerprint: "1"}
	early := report.Finding{Kind: heisen.Misuse, Detector: misuseDetector, Fingerprint: "1", Message: "Log of a test is called by a goroutine for which the test does not wait"}
	late := report.Finding{Kind: heisen.Misuse, Detector: misuseDetector, Fingerprint: "1", Message: "Log of a test is called by a goroutine after the test has ended"}
	execution := func(f report.Finding, class Class, in recorder.Execution) *Trial {
		return &Trial{Execution: &Execution{Execution: in, Outcome: Outcome{Class: class}, Observed: []report.Finding{f}}, First: -1}
	}
	normal, past, held := recorder.Execution{}, recorder.Execution{Overtaken: overtaken}, recorder.Execution{Delays: 1}
	for _, test := range []struct {
		name    string
		trials  []*Trial
		assumed bool
	}{
		{"a leak after the real time", []*Trial{execution(leak, Passed, past)}, true},
		{"also before", []*Trial{execution(leak, Passed, past), execution(leak, Passed, normal)}, false},
		{"a leak after a delay", []*Trial{execution(leak, Passed, held)}, false},
		{"a leak in a failure after a delay", []*Trial{execution(leak, TestFailed, held)}, true},
		{"a race", []*Trial{execution(race, Passed, past)}, false},
		{"in time", []*Trial{execution(early, Passed, normal)}, true},
		{"in time, and late after a delay", []*Trial{execution(early, Passed, normal), execution(late, Panicked, held)}, true},
		{"in time, and late", []*Trial{execution(early, Passed, normal), execution(late, Passed, normal)}, false},
		{"late after a delay", []*Trial{execution(late, Passed, held)}, true},
	} {
		var o Observations
		s := &Suspect{Program: &Program{Package: "p"}, Strategy: strategies.Replay}
		for i, trial := range test.trials {
			o.Add(i, s, trial)
		}
		all := o.Results(func(*Program, *report.Finding) bool { return true })
		if len(all) != 1 || all[0].Timing != test.assumed {
			t.Errorf("%s: %d results, the first is assumed: %v", test.name, len(all), len(all) > 0 && all[0].Timing)
		}
	}
}

// TestFailureAfterRealTime: a failure is an assumption if all executions with it have gone past the real time.
func TestFailureAfterRealTime(t *testing.T) {
	trial := func(overtaken uint64) *Trial {
		e := &Execution{Outcome: Outcome{Class: TestFailed, Message: "TestX"}}
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
		v := &Result{Suspect: AnyFailure(&Program{}, strategies.Replay)}
		v.Finding = v.Suspect.Finding
		for _, trial := range test.trials {
			v.add(trial)
		}
		if all := v.Failures(Outcome{Class: Passed}); len(all) != 1 || all[0].Timing != test.assumed {
			t.Errorf("%d failures, want one that is assumed: %v", len(all), test.assumed)
		}
	}
}
