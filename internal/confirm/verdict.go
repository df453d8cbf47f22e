package confirm

import (
	"slices"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Trial is one execution that was to bring a suspect about.
type Trial struct {
	Seed     uint64
	Schedule *recorder.Schedule // nil if it was none of a suspect

	Execution *Execution
	Confirmed bool
	// First is the index in the finding's accesses of the one that was made first, of
	// a confirmed race; of others -1.
	First  int
	number uint64 // among the trials of the suspect that follow a witness, or those that do not
}

// follows reports whether a witness was followed.
func (t *Trial) follows() bool {
	return t.Schedule != nil && t.Schedule.Pick.Strategy == strategies.Follow
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
	// Follow is what came of following the schedule that was predicted.
	Follow Following
	// Cut says that the campaign ended before all was tried that was to be.
	Cut bool
}

// Following is what came of following a predicted schedule.
type Following string

const (
	NotFollowed Following = ""         // there is none, or it was not tried
	Followed    Following = "followed" // it led to what it was to show
	// Diverged is that the program did not go the way that was predicted: it has seen other
	// values, the time or something from outside.
	Diverged Following = "diverged"
	// Missed is that it did, and what was predicted did not happen.
	Missed Following = "missed"
)

// Ending is an outcome, and which executions had it.
type Ending struct {
	Outcome   Outcome
	First     int // which access was made first; -1 if that is not known, or it was not confirmed
	Confirmed bool
	Count     int
	Trial     *Trial // the first of them
}

// failed reports whether an execution in which the suspect happened did not pass.
func (v *Verdict) failed() bool {
	return slices.ContainsFunc(v.Endings, func(e Ending) bool { return e.Confirmed && e.Outcome.Class != Passed })
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
	strategy := strategyNames[v.Suspect.Strategy]
	switch {
	case v.Follow == NotFollowed:
	case uint64(v.Tried) == v.Suspect.follows():
		strategy = strategyNames[strategies.Follow]
	default:
		strategy = strategyNames[strategies.Follow] + ", " + strategy
	}
	t := &report.Trials{Suspect: v.Suspect.Finding.Fingerprint, Strategy: strategy, Executions: v.Tried,
		Confirmed: v.Confirmed, Follow: string(v.Follow)}
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
