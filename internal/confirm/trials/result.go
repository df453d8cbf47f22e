package trials

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Trial is one execution that tried to reproduce a suspect.
type Trial struct {
	Seed     uint64
	Schedule *recorder.Schedule // nil for a run of a survey

	Execution *controlled.Execution
	Confirmed bool
	// First is the index in the finding's accesses of the access that came first in a confirmed
	// race. It is -1 for anything else.
	First  int
	Number uint64 // of the trial among those of the suspect, apart from those that follow a witness
}

// follows reports whether the trial followed a witness.
func (t *Trial) follows() bool {
	return t.Schedule != nil && t.Schedule.Strategy.Strategy == strategies.Follow
}

// missed reports whether the accesses of a race did not meet. The race is one by happens-before.
func (t *Trial) missed() bool {
	return len(t.Execution.Meetings) == 0 && slices.ContainsFunc(t.Execution.Observed, func(f report.Finding) bool { return f.Kind == heisen.Race })
}

// Result summarizes the trials of a suspect.
type Result struct {
	Suspect *suspects.Suspect
	// Finding is the suspect's finding as it happened or, if it did not happen, as suspected.
	Finding   report.Finding
	Tried     int // executions
	Confirmed int // executions in which the suspect happened
	Endings   []Ending
	// Explains are failures that a race decides which executions have shown by themselves (Observations): they are told with it.
	Explains []controlled.Outcome
	// Follow is the result of following the predicted schedule.
	Follow FollowResult
	// Incomplete is set if Run ended before all executions were made.
	Incomplete bool
	// Timing is set for a failure if in each execution with it a goroutine was held back while time
	// passed, or time has passed while something outside of the program could still answer. So it may only
	// show that a timer was to be later than what the goroutine did. It is also set for goroutines that wait for ever only where the program has failed in such a way: a failed
	// test does not clean up.
	Timing bool
}

// FollowResult is the result of following a predicted schedule.
type FollowResult string

const (
	NotFollowed FollowResult = ""         // there is no such schedule, or it was not tried
	Followed    FollowResult = "followed" // the suspect happened
	// Diverged means that the program left the schedule: it saw other values, the time or other
	// input.
	Diverged FollowResult = "diverged"
	// Missed means that the schedule was followed and the suspect did not happen.
	Missed FollowResult = "missed"
)

// Ending is an outcome and the executions that had it.
type Ending struct {
	Outcome   controlled.Outcome
	First     int // index of the access that came first; -1 if it is not known or not confirmed
	Confirmed bool
	Count     int
	Trial     *Trial // the first of them, of those without a delay if there are some, of those without doubts about measuring
	delayed   int    // executions with a delay: a goroutine was held back while time passed, or the outside was
	leaks     int    // executions that left goroutines that wait for ever
	starved   int    // executions without one in which a goroutine was starved
	without   int    // executions that do not show the bug, as far as that is known: a race not with any pair of accesses to its variable
}

// mayBeMeasured reports whether the ending may be due to what the program has measured in the trial.
func (e *Ending) mayBeMeasured() bool { return e.Outcome.MayBeMeasured(e.Trial.Execution) }

// timing reports whether there was a delay in all executions with the ending, or a goroutine was starved.
func (e *Ending) timing() bool { return e.delayed+e.starved == e.Count }

// count adds a trial with the ending.
func (e *Ending) count(t *Trial) {
	switch x := t.Execution; {
	case x.Late():
		e.delayed++
	case x.WasStarved():
		if e.delayed == e.Count {
			e.Trial = t
		}
		e.starved++
	case e.timing() || e.mayBeMeasured() && !e.Outcome.MayBeMeasured(x): // the first one without
		e.Trial = t
	}
	if t.Execution.Stuck == nil && len(t.Execution.Blocked) > 0 {
		e.leaks++
	}
	e.Count++
}

// failed reports whether an execution in which the suspect happened failed.
func (v *Result) failed() bool {
	return slices.ContainsFunc(v.Endings, func(e Ending) bool { return e.Confirmed && e.Outcome.Class.Failed() })
}

// MayBeMeasured reports whether the worst ending may be due to what the program has measured of the runtime: nothing says
// that it is not. See repro.Repeater.ByMeasuring.
func (v *Result) MayBeMeasured() bool { return v.Endings[0].mayBeMeasured() }

// Sort sorts the endings: the confirmed ones first, of these the worst ones.
func (v *Result) Sort() {
	slices.SortStableFunc(v.Endings, func(a, b Ending) int {
		return cmp.Or(suspects.BoolOrder(b.Confirmed)-suspects.BoolOrder(a.Confirmed), b.Outcome.Class.Harm()-a.Outcome.Class.Harm(), b.Count-a.Count)
	})
}

// Add counts a trial.
func (v *Result) Add(t *Trial) {
	v.Tried++
	if t.Confirmed {
		v.Confirmed++
	}
	for i := range v.Endings {
		e := &v.Endings[i]
		if e.Confirmed == t.Confirmed && e.First == t.First && e.Outcome.Same(t.Execution.Outcome) {
			e.count(t)
			e.without += v.without(t)
			return
		}
	}
	e := Ending{Outcome: t.Execution.Outcome, First: t.First, Confirmed: t.Confirmed, Trial: t, without: v.without(t)}
	e.count(t)
	v.Endings = append(v.Endings, e)
}

// without returns 1 if a trial does not show the bug. It shows a race also if it shows another pair of accesses to the variable.
func (v *Result) without(t *Trial) int {
	identity := v.Suspect.Finding.Identity
	if t.Confirmed || t.Execution.Unseen.Any() || identity != "" && slices.ContainsFunc(t.Execution.Observed, func(f report.Finding) bool { return f.Identity == identity }) {
		return 0
	}
	return 1
}

// deviates reports whether an ending is that of a schedule that deviates from the default one.
func (v *Result) deviates() bool {
	return slices.ContainsFunc(v.Endings, func(e Ending) bool {
		return e.Trial.Schedule != nil && len(e.Trial.Schedule.Strategy.Choices) > 0
	})
}

// Report returns the finding with its Trials. usual are the outcomes of the default
// schedule, see Suspect.Usual: an execution that ends in the same way counts as harmful only if the bug decides it. The endings say which
// failures were seen only where a goroutine was held back while time passed. They count as harm,
// because the bug is one whether or not the program also relies on time.
func (v *Result) Report(usual ...controlled.Outcome) report.Finding {
	f := v.Finding
	f.Count = uint64(max(v.Confirmed, 1))
	strategy := controlled.StrategyName(v.Suspect.Strategy)
	switch {
	case v.Suspect.Observed:
		strategy = "several"
	case v.Suspect.Strategy == strategies.Replay && v.deviates():
		strategy = "enumeration"
	case v.Suspect.Strategy == strategies.Replay:
		strategy = "default"
	case v.Suspect.Searched:
		strategy = "search"
	case v.Follow == NotFollowed:
	case uint64(v.Tried) == v.Suspect.Follows():
		strategy = controlled.StrategyName(strategies.Follow)
	default:
		strategy = controlled.StrategyName(strategies.Follow) + ", " + strategy
	}
	t := &report.Trials{Suspect: v.Suspect.Finding.PairFingerprint(), Strategy: strategy, Executions: v.Tried,
		Confirmed: v.Confirmed, Follow: string(v.Follow)}
	for i := range v.Endings {
		e := &v.Endings[i]
		ending := report.Ending{
			Outcome: string(e.Outcome.Class), Message: e.Outcome.Message, Confirmed: e.Confirmed, Leaks: e.leaks,
			Count: e.Count, Seed: e.Trial.Seed,
		}
		if first := e.First; first >= 0 {
			ending.First = &first
		}
		ending.Anyway = e.Confirmed && e.Outcome.Class.Failed() && !e.harms(v.Finding.Kind, v.Endings, usual...)
		ending.Timing = e.Outcome.Class.Failed() && e.timing()
		for _, from := range e.Trial.Execution.Outside {
			if !slices.Contains(t.Outside, from) {
				t.Outside = append(t.Outside, from)
			}
		}
		t.Endings = append(t.Endings, ending)
	}
	t.Harmful = harmful(v.Finding.Kind, v.Endings, usual...)
	f.Trials = t
	return f
}

// summarize makes a result of the trials of a suspect.
func summarize(s *suspects.Suspect, trials []*Trial) *Result {
	slices.SortStableFunc(trials, func(a, b *Trial) int {
		return cmp.Or(suspects.BoolOrder(b.follows())-suspects.BoolOrder(a.follows()), cmp.Compare(a.Number, b.Number))
	})
	v := &Result{Suspect: s, Finding: s.Finding}
	for _, t := range trials {
		if t.follows() && v.Follow != Followed {
			switch {
			case t.Confirmed && !t.missed():
				v.Follow = Followed
			case t.Execution.Diverged > 0:
				v.Follow = Diverged
			case v.Follow == NotFollowed:
				v.Follow = Missed
			}
		}
		if v.Confirmed == 0 && t.Confirmed {
			v.Finding = s.AsHappened(t.Execution)
		}
		if s.Given && t.Confirmed {
			t.First = s.FirstIn(t.Execution, &v.Finding)
		}
		v.Add(t)
	}
	v.Sort()
	return v
}

// Concerns returns the tests whose goroutines the bug is about, as Suspect.concerns: if the suspect does not tell, the worst ending does.
func (v *Result) Concerns() []string {
	tests := v.Suspect.Concerns()
	e := v.Endings[0].Trial.Execution
	if len(tests) > 0 || v.Suspect.Finding.Kind != heisen.Failure {
		return tests
	}
	about := report.Finding{Kind: heisen.Failure, Message: v.Endings[0].Outcome.String()}
	if e.Outcome.Class == controlled.Deadlocked {
		about.Blocked = e.Blocked
	}
	if e.Where != nil {
		about.Accesses = []report.Access{e.Where.Access}
	}
	return (&suspects.Suspect{Finding: about}).Concerns()
}

// Repeats reports whether a suspect with the ending happened in an execution that ended in the same way.
func (end *Ending) Repeats(s *suspects.Suspect, e *controlled.Execution) bool {
	confirmed, _ := s.HappenedIn(e)
	if len(e.Meetings) == 0 && len(end.Trial.Execution.Meetings) > 0 && !s.Observed && s.Finding.Kind != heisen.Failure {
		return false // it is easier to understand if the accesses meet
	}
	return confirmed && e.Outcome.Same(end.Outcome)
}
