package campaign

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/pick"
	"github.com/heisen-go/heisen/internal/report"
)

// Anything is the suspicion that a program can end in a way in which it is not to end,
// which a strategy that is not directed may find.
func Anything(p *Program, strategy pick.Strategy) *Suspect {
	return &Suspect{Program: p, Strategy: strategy, Finding: failure(p, Outcome{})}
}

// Failures returns a verdict for each way in which a program that was suspected of
// anything has failed, the worst first.
func (v *Verdict) Failures() (all []*Verdict) {
	for _, e := range v.Endings {
		if !e.Confirmed {
			continue
		}
		all = append(all, &Verdict{
			Suspect: v.Suspect, Finding: failure(v.Suspect.Program, e.Outcome),
			Tried: v.Tried, Confirmed: e.Count, Endings: []Ending{e},
		})
	}
	return all
}

// Failed returns the verdict on an execution that was made for another purpose, nil if
// it passed.
func Failed(p *Program, strategy pick.Strategy, seed uint64, e *Execution) *Verdict {
	v := judge(Anything(p, strategy), []*Trial{{Seed: seed, Execution: e, Confirmed: e.Outcome.Class != Passed, First: -1}})
	if all := v.Failures(); len(all) > 0 {
		return all[0]
	}
	return nil
}

func failure(p *Program, o Outcome) report.Finding {
	said := numbers.ReplaceAllString(o.String(), "#")
	sum := sha256.Sum256([]byte(string(heisen.Failure) + "\n" + p.Package + "\n" + said))
	return report.Finding{
		Detector: detectorName, Kind: heisen.Failure, Fingerprint: hex.EncodeToString(sum[:8]),
		Message: o.String(), Count: 1, Accesses: []report.Access{},
	}
}
