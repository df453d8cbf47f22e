package confirm

import (
	"context"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/carried"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// The schedule of a finding is carried over to another program by the order of the operations to which it leads; see package carried and
// docs/design/confirmation.md.

const (
	maxRounds     = 4  // executions until the turns are those of the execution that they lead to
	maxVariations = 32 // of an order that the program prevents
)

// fixed reports whether a finding with the fate is fixed, unless an execution shows it.
func (f fate) fixed() bool { return f.usefulness == mended || f.usefulness == carriedOver }

// orderOf returns the order of operations to which a schedule leads; none if it is not known.
func (c *Campaign) orderOf(ctx context.Context, s *suspects.Suspect, f *report.Finding, r *repro.Reproduction) (o corpus.Order, err error) {
	e, recording, err := c.recorded(ctx, s, r.Tests, r.Schedule)
	if err != nil || e.Hash != r.Execution.Hash || recording == nil {
		return o, err
	}
	var places []carried.Place
	for i := range f.Accesses {
		if a := &f.Accesses[i]; f.Kind == heisen.Race && len(a.Stack) > 0 {
			places = append(places, carried.Place{Op: a.Op, Func: a.Stack[0].Func, File: a.Stack[0].File, Line: a.Stack[0].Line})
		}
	}
	tests := (&suspects.Suspect{Finding: *f}).Concerns()
	concerns := func(test string) bool { return len(tests) == 0 || slices.Contains(tests, controlled.TopLevel(test)) }
	o = recording.Order(concerns, places)
	o.Whole = e.Delays == 0 && e.Lost == 0 && !slices.ContainsFunc(e.Choices, func(c strategies.Choice) bool { return c.Case > 0 })
	return o, nil
}

// recorded executes some tests of a suspect's program with their operations recorded, in a process of its own.
func (c *Campaign) recorded(ctx context.Context, s *suspects.Suspect, tests string, schedule *recorder.Schedule) (*controlled.Execution, *carried.Recording, error) {
	one := *schedule
	one.Log, one.Number, one.Explore = true, true, true
	plan := c.Plan(s, &one)
	plan.Tests, plan.Mode, plan.Process = tests, recorder.Everything, controlled.Afresh
	var recording *carried.Recording
	plan.Detect = func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
		recording = &carried.Recording{Symbols: symbols, Toolchain: c.Resolver.Toolchain}
		return []heisen.Detector{observed.Handler(recording.Handle)}, nil
	}
	e, err := s.Program.Execute(ctx, plan, c.Resolver)
	return e, recording, err
}

// carryOver repeats a finding in another program than the one of its schedule. It makes operations come in the order to which that has led.
func (c *Campaign) carryOver(ctx context.Context, of *repetition) (fate, error) {
	var turns []racefuzz.Turn
	var now *carry
	for range maxRounds {
		var err error
		if now, err = c.carry(ctx, of, turns); err != nil || now.recorded == nil || of.seen[of.Fingerprint] {
			return fate{usefulness: derailed}, err
		}
		next := now.recorded.Turns()
		if slices.Equal(next, turns) {
			break
		}
		turns = next
	}
	derailed := fate{usefulness: derailed, why: now.why, gone: now.recorded.Gone() != ""}
	switch now.state {
	case carried.Other:
		return derailed, nil
	case carried.Followed:
		return fate{usefulness: carriedOver}, nil
	}
	others, all := now.recorded.Variations(maxVariations)
	impossible := map[int]bool{} // turns that cannot go on for longer in this order
	for _, other := range others {
		if impossible[other.Varied()] {
			continue
		}
		one, err := c.carry(ctx, of, other.Turns())
		switch {
		case err != nil || of.seen[of.Fingerprint]:
			return derailed, err
		case one.lost > 0:
			impossible[other.Varied()] = true
		case one.state == carried.Other:
			derailed.why = one.why
			return derailed, nil
		}
	}
	if !all {
		derailed.why = "goroutines wait for others, in too many ways"
		return derailed, nil
	}
	return fate{usefulness: carriedOver}, nil
}

// carry is an execution that was to have the order of a schedule.
type carry struct {
	recorded *carried.Matched // nil if it was not
	state    carried.State
	why      string // it has another order, or may have ended in another way although it has this one
	lost     uint64 // turns that it could not make although their goroutines had not made them before
}

// carry makes an execution that follows turns, and reports the finding if it is shown.
func (c *Campaign) carry(ctx context.Context, of *repetition, turns []racefuzz.Turn) (*carry, error) {
	schedule := *of.schedule
	schedule.Strategy = strategies.Config{Strategy: strategies.Follow, Seed: schedule.Strategy.Seed, Turns: controlled.CoreTurns(turns)}
	e, recording, err := c.recorded(ctx, of.any, of.Tests, &schedule)
	if err != nil || recording == nil {
		return &carry{}, err
	}
	one := &carry{recorded: carried.Match(&of.Order, recording), lost: e.Diverged}
	one.lost -= min(one.lost, one.recorded.Passed())
	one.state, one.why = one.recorded.Judge(of.Schedule.Outcome == string(controlled.Deadlocked))
	other := c.show(ctx, of, &schedule, e, false, one.state == carried.Followed)
	if one.state == carried.Other {
		return one, nil
	}
	switch one.why = doubtOf(e); {
	case one.why != "":
	case one.lost > 0:
		one.why = "a goroutine cannot go on in its turn"
	case !of.Order.Whole:
		one.why = "it chooses more than the order of operations"
	case other:
		one.why = "it shows something else"
	default:
		return one, nil
	}
	one.state = carried.Other
	return one, nil
}

// doubtOf returns why an execution may have ended in another way although its operations came in some order; empty if it cannot.
func doubtOf(e *controlled.Execution) string {
	x := e.Explored
	switch {
	case e.Outcome.Class == controlled.Hung || e.Stuck != nil && e.Stuck.Why != recorder.Deadlock:
		return "the execution does not end"
	case x == nil || !x.Complete() && e.Outcome.Class == controlled.Passed:
		return "the execution is too long"
	case e.Delays > 0 || x.Doubts&recorder.ReadsTime != 0:
		return "it depends on time"
	case x.Doubts != 0:
		return "it depends on random numbers, or on what the runtime does"
	case len(e.Influences) > 0 || e.Unseen.Any():
		return "it depends on what is outside of the program"
	}
	return ""
}
