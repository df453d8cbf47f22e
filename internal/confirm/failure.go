package confirm

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/report"
)

// Anything is the suspicion that a program can end in a way in which it is not to end,
// which a strategy that is not directed may find.
func Anything(p *Program, strategy strategies.Strategy) *Suspect {
	return &Suspect{Program: p, Strategy: strategy, Finding: failure(p, Outcome{})}
}

// Failures returns a verdict for each way in which executions failed that were to
// show something else and did not: the program fails, for a reason that is not known.
// usual is how it ends without being directed, which is known already.
func (v *Verdict) Failures(usual Outcome) (all []*Verdict) {
	anything := v.Suspect.Finding.Kind == heisen.Failure
	for _, e := range v.Endings {
		if e.Outcome.Class == Passed || e.Outcome.Same(usual) || e.Confirmed && !anything {
			continue
		}
		suspect := *v.Suspect
		suspect.Finding = failure(v.Suspect.Program, e.Outcome)
		e.Confirmed = true
		all = append(all, &Verdict{
			Suspect: &suspect, Finding: suspect.Finding,
			Tried: v.Tried, Confirmed: e.Count, Endings: []Ending{e},
		})
	}
	return all
}

// Failed returns a verdict for each way in which a program failed while a survey looked
// at it. Those after the first are of random walks.
func Failed(p *Program, looks []*Trial) (all []*Verdict) {
	usual := Outcome{Class: Passed}
	for i, look := range looks {
		s := Anything(p, strategies.Replay)
		if i > 0 {
			s = Anything(p, Walk)
		}
		t := *look
		t.Confirmed = t.Execution.Outcome.Class != Passed
		all = append(all, judge(s, []*Trial{&t}).Failures(usual)...)
		if i == 0 {
			usual = look.Execution.Outcome
		}
	}
	return all
}

func failure(p *Program, o Outcome) report.Finding {
	said := numbers.ReplaceAllString(o.String(), "#")
	sum := sha256.Sum256([]byte(string(heisen.Failure) + "\n" + p.Package + "\n" + said))
	return report.Finding{
		Detector: detectorName, Kind: heisen.Failure, Fingerprint: hex.EncodeToString(sum[:8]),
		Message: o.String(), Count: 1, Accesses: []report.Access{},
	}
}
