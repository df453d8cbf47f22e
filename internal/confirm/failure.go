package confirm

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/report"
)

// AnyFailure returns the suspicion that a program can fail in any way. A strategy without targets
// tries it.
func AnyFailure(p *Program, strategy strategies.Strategy) *Suspect {
	return &Suspect{Program: p, Strategy: strategy, Finding: failure(p, Outcome{})}
}

// Failures returns a result for each way in which the program failed without the suspected bug: the
// reason of the failure is not known. usual is how the program ends under the default schedule.
// Results with that ending are left out.
func (v *Result) Failures(usual Outcome) (all []*Result) {
	anything := v.Suspect.Finding.Kind == heisen.Failure
	for _, e := range v.Endings {
		if !e.Outcome.Class.Failed() || e.Outcome.Same(usual) || e.Confirmed && !anything {
			continue
		}
		suspect := *v.Suspect
		suspect.Finding = failure(v.Suspect.Program, e.Outcome)
		e.Trial.Execution.showFailing(&suspect.Finding)
		e.Confirmed = true
		all = append(all, &Result{
			Suspect: &suspect, Finding: suspect.Finding,
			Tried: v.Tried, Confirmed: e.Count, Endings: []Ending{e}, Timing: e.timing(),
		})
	}
	return all
}

// SurveyFailures returns a result for each way in which a program failed in the runs of a survey.
func SurveyFailures(p *Program, runs []*Trial) (all []*Result) {
	usual := Outcome{Class: Passed}
	for _, run := range runs {
		if run.Seed == 0 {
			usual = Outcome{Class: Passed}
		}
		t := *run
		t.Confirmed = t.Execution.Outcome.Class.Failed()
		all = append(all, summarize(surveyed(p, run), []*Trial{&t}).Failures(usual)...)
		if run.Seed == 0 {
			usual = run.Execution.Outcome
		}
	}
	return all
}

// surveyed returns the suspicion of any failure for a run of a survey. Those with seed 0 have the default
// schedule, the others are random walks.
func surveyed(p *Program, run *Trial) *Suspect {
	s := AnyFailure(p, strategies.Replay)
	if run.Seed > 0 {
		s = AnyFailure(p, Walk)
	}
	if run.unit != nil {
		s.Tests, s.units = run.unit.pattern(), []*Unit{run.unit}
	}
	return s
}

// FailureOf returns the failure of an execution as a finding, and reports whether there is one.
func FailureOf(p *Program, e *Execution) (f report.Finding, failed bool) {
	if !e.Outcome.Class.Failed() {
		return f, false
	}
	f = failure(p, e.Outcome)
	e.showFailing(&f)
	f.Blocked = e.Blocked
	return f, true
}

func failure(p *Program, o Outcome) report.Finding {
	identity := string(o.Class) + "\n" + o.kind() + "\n" + o.Place + o.Waits
	sum := sha256.Sum256([]byte(string(heisen.Failure) + "\n" + p.Package + "\n" + identity))
	return report.Finding{
		Detector: detectorName, Kind: heisen.Failure, Fingerprint: hex.EncodeToString(sum[:8]), Package: p.tested(),
		Message: o.String(), Count: 1, Accesses: []report.Access{},
	}
}
