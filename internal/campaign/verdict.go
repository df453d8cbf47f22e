package campaign

import (
	"slices"

	"github.com/heisen-go/heisen/internal/report"
)

// Trial is one execution that was to bring a suspect about.
type Trial struct {
	Seed      uint64
	Execution *Execution
	Confirmed bool
	// First is the index in the finding's accesses of the one that was made first, of
	// a confirmed race; of others -1.
	First int
}

// Verdict is what became of a suspect.
type Verdict struct {
	Suspect *Suspect
	// Finding is the suspect's as it really happened, or, if it did not, as it was
	// suspected.
	Finding   report.Finding
	Tried     int // executions
	Confirmed int // of them, those in which it happened
	Endings   []Ending
}

// Ending is an outcome, and which executions had it.
type Ending struct {
	Outcome   Outcome
	First     int // which access was made first; -1 if that is not known, or it was not confirmed
	Confirmed bool
	Count     int
	Trial     *Trial // one of them, that with the lowest seed
}

// harm orders outcomes by how bad they are.
func (c Class) harm() int {
	return slices.Index([]Class{Passed, Hung, TestFailed, Exited, Panicked, Fatal, Killed, Deadlocked}, c)
}

// add counts a trial.
func (v *Verdict) add(t *Trial) {
	v.Tried++
	if t.Confirmed {
		v.Confirmed++
	}
	for i := range v.Endings {
		e := &v.Endings[i]
		if e.Confirmed == t.Confirmed && e.First == t.First && e.Outcome.Same(t.Execution.Outcome) {
			e.Count++
			if t.Seed < e.Trial.Seed {
				e.Trial = t
			}
			return
		}
	}
	v.Endings = append(v.Endings, Ending{t.Execution.Outcome, t.First, t.Confirmed, 1, t})
}

// Report returns the verdict's finding with what came of the trials. usual is how the
// program ends without being directed: what ends like that does no harm by what was
// directed.
func (v *Verdict) Report(usual Outcome) report.Finding {
	f := v.Finding
	f.Count = uint64(max(v.Confirmed, 1))
	t := &report.Trials{Suspect: v.Suspect.Finding.Fingerprint, Strategy: strategyNames[v.Suspect.Strategy], Executions: v.Tried, Confirmed: v.Confirmed}
	for i := range v.Endings {
		e := &v.Endings[i]
		ending := report.Ending{
			Outcome: string(e.Outcome.Class), Message: e.Outcome.Message, Confirmed: e.Confirmed,
			Count: e.Count, Seed: e.Trial.Seed,
		}
		if first := e.First; first >= 0 {
			ending.First = &first
		}
		if e.Confirmed && e.Outcome.Class != Passed && !e.Outcome.Same(usual) {
			t.Harmful = true
		}
		for _, from := range e.Trial.Execution.Outside {
			if !slices.Contains(t.Outside, from) {
				t.Outside = append(t.Outside, from)
			}
		}
		t.Endings = append(t.Endings, ending)
	}
	f.Trials = t
	return f
}
