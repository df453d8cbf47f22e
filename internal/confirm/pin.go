package confirm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// Proof is an execution that shows a bug, and that can be repeated.
type Proof struct {
	Ending   *Ending
	Schedule *recorder.Schedule // under which it happened
	Tests    string             // that run, as those of a Suspect
	// Execution is the recorded one under Schedule.
	Execution *Execution
	Steps     []report.Step // the part of it that matters, to be read
	// Finding is the suspect's as it happened in Execution.
	Finding report.Finding
	// Replayed says that the same schedule gave the same execution again. Without
	// that, nothing was shrunk.
	Replayed bool
	// Shrunk says that the schedule is one of few choices, found in Attempts
	// executions; Minimal, that no choice of it can be left out.
	Shrunk, Minimal bool
	Attempts        int
}

// Pin repeats the worst execution in which the verdict's suspect happened, shrinks its
// schedule in at most so many executions, and records the result.
func (h *Hunt) Pin(ctx context.Context, v *Verdict, attempts int) (*Proof, error) {
	if len(v.Endings) == 0 || !v.Endings[0].Confirmed {
		return nil, fmt.Errorf("%s was not confirmed", v.Finding.Fingerprint)
	}
	ending := &v.Endings[0]
	schedule := *h.schedule(v.Suspect, ending.Trial.Seed)
	if of := ending.Trial.Schedule; of != nil {
		schedule = *of
	}
	schedule.Log = true
	proof := &Proof{Ending: ending, Schedule: &schedule, Tests: v.Suspect.tests(&schedule)}
	again, steps, err := h.record(ctx, v.Suspect, proof.Schedule)
	if err != nil {
		return nil, err
	}
	proof.Execution, proof.Steps, proof.Finding = again, steps, v.Suspect.happened(again)
	proof.Replayed = again.Hash == ending.Trial.Execution.Hash && v.Suspect.repeats(ending, again)
	if !proof.Replayed || attempts == 0 || schedule.Pick.Strategy == strategies.Follow { // it stops where no choice can be
		return proof, nil
	}
	seed := ending.Trial.Seed
	calm, tried, err := h.calm(ctx, v.Suspect, ending, &seed, attempts/4)
	if err != nil {
		return proof, err
	}
	if calm != nil && len(calm.Choices) < len(again.Choices) {
		again = calm
	} else {
		seed = ending.Trial.Seed
	}
	if again.Lost > 0 || len(again.Choices) > racefuzz.MaxChoices {
		return proof, nil
	}
	replaying := func(choices []strategies.Choice) *recorder.Schedule {
		schedule := *proof.Schedule
		schedule.Pick = strategies.Config{Strategy: strategies.Replay, Seed: seed, Choices: choices}
		return &schedule
	}
	same := func(ctx context.Context, choices []racefuzz.Choice) (bool, error) {
		e, err := v.Suspect.Program.Execute(ctx, Plan{
			Schedule: replaying(coreChoices(choices)), Mode: recorder.Nothing, Tests: v.Suspect.Tests, Limit: h.Limit,
		}, h.Resolver)
		if err != nil {
			return false, err
		}
		return v.Suspect.repeats(ending, e), nil
	}
	shrunk, err := racefuzz.Minimize(ctx, publicChoices(again.Choices), same, racefuzz.WithAttempts(max(attempts-tried, 1)))
	if err != nil {
		return proof, fmt.Errorf("shrink the schedule of %s: %w", v.Finding.Fingerprint, err)
	}
	small := replaying(coreChoices(shrunk.Choices))
	last, steps, err := h.record(ctx, v.Suspect, small)
	if err == nil && last.Diverged > 0 && last.Lost == 0 {
		// Without what was left out some choices cannot be made any more. Those that were
		// made give the same execution.
		small = replaying(last.Choices)
		last, steps, err = h.record(ctx, v.Suspect, small)
	}
	if err != nil {
		return proof, err
	}
	if !v.Suspect.repeats(ending, last) {
		return proof, nil
	}
	proof.Schedule, proof.Execution, proof.Steps, proof.Finding = small, last, steps, v.Suspect.happened(last)
	proof.Shrunk, proof.Minimal, proof.Attempts = true, shrunk.Minimal, tried+shrunk.Attempts
	return proof, nil
}

// calm looks for an execution that ends like others, and in which goroutines go on by
// default but for those that are kept back. It tries so many seeds, from *seed on, and
// leaves the one that did it there.
func (h *Hunt) calm(ctx context.Context, s *Suspect, ending *Ending, seed *uint64, seeds int) (found *Execution, tried int, err error) {
	switch s.Strategy {
	case strategies.RaceDirected, strategies.DeadlockDirected, strategies.SectionDirected:
	default:
		return nil, 0, nil
	}
	for ; tried < seeds; *seed++ {
		schedule := h.schedule(s, *seed)
		schedule.Pick.ByDefault, schedule.Log = true, true
		e, err := s.Program.Execute(ctx, Plan{Schedule: schedule, Mode: recorder.Nothing, Tests: s.Tests, Limit: h.Limit}, h.Resolver)
		if err != nil {
			return nil, tried, err
		}
		tried++
		if e.Lost == 0 && s.repeats(ending, e) {
			return e, tried, nil
		}
	}
	return nil, tried, nil
}

// repeats reports whether an execution shows the suspect and ends like others.
func (s *Suspect) repeats(ending *Ending, e *Execution) bool {
	confirmed, _ := s.confirmed(e)
	return confirmed && e.Outcome.Same(ending.Outcome)
}

// record executes a suspect's program with everything recorded.
func (h *Hunt) record(ctx context.Context, s *Suspect, schedule *recorder.Schedule) (*Execution, []report.Step, error) {
	var story *story
	e, err := s.Program.Execute(ctx, Plan{
		Schedule: schedule, Mode: recorder.Everything, Tests: s.tests(schedule), Limit: h.Limit,
		Detect: func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
			story = newStory(symbols, h.Resolver.std, schedule.Targets)
			return []heisen.Detector{story}, nil
		},
		OnMeeting: func() { story.meeting() },
		Finish: func(symbols *heisen.Symbols) {
			story.steps = h.Resolver.steps(story.told(), symbols)
		},
	}, h.Resolver)
	if err != nil {
		return nil, nil, err
	}
	if story == nil {
		return e, nil, nil
	}
	return e, story.steps, nil
}

// Stand adds to a finding where the goroutines stood that did not go on. The accesses of
// a deadlock of two become those of the goroutines at their places, for they were
// suspected in another execution.
func Stand(f *report.Finding, blocked []report.Blocked) {
	f.Blocked = blocked
	if f.Kind != heisen.Deadlock || len(f.Accesses) != 2 {
		return
	}
	accesses, taken := slices.Clone(f.Accesses), make([]bool, len(blocked))
	var cycle []string
	for i := range accesses {
		a := &accesses[i]
		j := slices.IndexFunc(blocked, func(b report.Blocked) bool { return samePlace(a, &report.Access{Stack: b.Stack}) })
		for j >= 0 && taken[j] {
			next := slices.IndexFunc(blocked[j+1:], func(b report.Blocked) bool { return samePlace(a, &report.Access{Stack: b.Stack}) })
			if next < 0 {
				return
			}
			j += 1 + next
		}
		if j < 0 {
			return
		}
		taken[j] = true
		b := &blocked[j]
		a.Thread, a.Goroutine, a.Test, a.Object, a.Stack, a.Locks = b.Thread, b.Goroutine, b.Test, b.Object, b.Stack, b.Locks
		cycle = append(cycle, strings.TrimSpace(a.Variable+" "+a.Object))
	}
	if len(f.Cycle) == len(cycle)+1 {
		f.Cycle = append(cycle[len(cycle)-1:len(cycle):len(cycle)], cycle...)
	}
	f.Accesses, f.Goroutines = accesses, nil // who started them is not known of these
}
