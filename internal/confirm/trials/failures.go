package trials

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Failures returns a result for each way in which the program failed without the suspected bug: the
// reason of the failure is not known. usual is how the program ends under the default schedule.
// Results with that ending are left out.
func (v *Result) Failures(usual controlled.Outcome) (all []*Result) {
	anything := v.Suspect.Finding.Kind == heisen.Failure
	for _, e := range v.Endings {
		if !e.Outcome.Class.Failed() || e.Outcome.Same(usual) || e.Confirmed && !anything {
			continue
		}
		suspect := *v.Suspect
		suspect.Finding = controlled.NewFailure(v.Suspect.Program, e.Outcome)
		e.Trial.Execution.ShowFailing(&suspect.Finding)
		e.Confirmed = true
		all = append(all, &Result{
			Suspect: &suspect, Finding: suspect.Finding,
			Tried: v.Tried, Confirmed: e.Count, Endings: []Ending{e}, Timing: e.timing(),
		})
	}
	return all
}

// SurveyFailures returns a result for each way in which a program failed in the runs of a survey.
func SurveyFailures(p *controlled.Program, runs []*suspects.Run) (all []*Result) {
	usual := controlled.Outcome{Class: controlled.Passed}
	for _, run := range runs {
		if run.Seed == 0 {
			usual = controlled.Outcome{Class: controlled.Passed}
		}
		t := trialOf(run)
		t.Confirmed = t.Execution.Outcome.Class.Failed()
		all = append(all, summarize(surveyed(p, run), []*Trial{t}).Failures(usual)...)
		if run.Seed == 0 {
			usual = run.Execution.Outcome
		}
	}
	return all
}

// surveyed returns the suspicion of any failure for a run of a survey.
func surveyed(p *controlled.Program, run *suspects.Run) *suspects.Suspect {
	strategy := strategies.Replay
	if run.Seed > 0 {
		strategy = strategies.RandomWalk
	}
	if run.Unit != nil {
		return suspects.AnyFailureIn(run.Unit, strategy)
	}
	return suspects.AnyFailure(p, strategy)
}

// trialOf returns a run of a survey as a trial.
func trialOf(run *suspects.Run) *Trial {
	return &Trial{Seed: run.Seed, Execution: run.Execution, First: -1}
}

// OwnFailure reports whether the program has failed because a test, or the program itself, says so. The worst of what else can happen
// to it, such as an error of the runtime, is a failure whatever time has passed.
func (v *Result) OwnFailure() bool {
	o, e := v.Endings[0].Outcome, v.Endings[0].Trial.Execution
	switch {
	case o.Class == controlled.TestFailed:
		return true
	case o.Class == controlled.Exited, o.OwnText:
		return !v.Suspect.Program.Test || e.Where == nil || e.Where.InTest
	}
	return false
}
