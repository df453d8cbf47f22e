// Package search executes tests and programs under schedules that aim at no single suspect, while there is time: all schedules that make a
// difference, if they are few, and otherwise those of a portfolio of strategies. The portfolio prefers what has shown something new, and
// the plan of its executions does not depend on how many of them are made at a time. Executions that do what none before did are looked at
// for further suspects, which the search tries.
package search

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Search executes tests and programs under schedules of many kinds, for a time.
type Search struct {
	Confirmer *trials.Confirmer // its seeds, limits, number of executions at the same time, and budget
	// Survey looks for further suspects in executions that do what none did in which it has looked; nil
	// for none.
	Survey *suspects.Survey

	// OnTrial is called after each execution, by one goroutine at a time. It may be nil.
	OnTrial func(*controlled.Unit, *suspects.Suspect, *trials.Trial)
}

// searched is a unit with the state of its search.
type searched struct {
	*controlled.Unit
	usual       bool // Usual is known
	enumeration enumeration
	portfolio
	further
	cut     bool             // an execution was stopped because there was no time left
	found   bool             // there may be a schedule to shrink
	results []*trials.Result // for each strategy that was used
}

// newSearched returns a unit before its search. If the execution with the default schedule is known, and too long to be
// enumerated, or others enumerate, it is not made again.
func newSearched(u *controlled.Unit) *searched {
	s := &searched{Unit: u}
	s.long, s.yielded = u.Long, u.Yielded
	if u.Alone != nil && (u.Steps > maxEnumerated || !u.Share.Enumerates()) {
		u.Usual, s.usual, s.enumeration.over, s.length = *u.Alone, true, true, u.Steps
	}
	return s
}

// failures returns a result for each way in which the unit failed, unless all its executions have failed in that way: a test may need
// others that run before it. If only some have, the usual one counts as well, because it need not be that of a survey: the first execution
// has other random numbers, which decide the cases of select statements. A deadlock counts in any case: in a process that executes several
// tests, only the first one is seen.
func (u *searched) failures() (all []*trials.Result) {
	usual := u.Usual
	if u.Differed || usual.Class == controlled.Deadlocked {
		usual = controlled.Outcome{Class: controlled.Passed}
	}
	for _, v := range u.results {
		all = append(all, v.Failures(usual)...)
	}
	return all
}

// Run searches the units. Those that were searched for the shortest time go on first, so that an
// interrupted search has treated all alike. Run returns what it has found, and an error if ctx ends or an execution fails for
// a reason outside of the program.
func (s *Search) Run(ctx context.Context, units []*controlled.Unit) (*Searched, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	idle := sync.NewCond(&mu)
	all := make([]*searched, len(units))
	for i, u := range units {
		all[i] = newSearched(u)
		all[i].wanted = s.Survey != nil
	}
	var workers sync.WaitGroup
	for range max(s.Confirmer.Parallel, 1) {
		workers.Go(func() {
			defer idle.Broadcast()
			mu.Lock()
			defer mu.Unlock()
			for ctx.Err() == nil {
				u, busy := s.next(all)
				switch {
				case u == nil && !busy && s.goOn(all):
					idle.Broadcast()
					continue
				case u == nil && !busy:
					return
				case u == nil:
					idle.Wait()
					continue
				}
				n, next := u.take()
				mu.Unlock()
				m, err := s.execute(ctx, u, next)
				mu.Lock()
				u.done(n, m)
				switch {
				case errors.Is(err, suspects.ErrNoTime):
					u.cut = s.Confirmer.Budget.Over(u.Unit)
					u.enumeration.over = true
				case err != nil:
					stop(err)
				case m.trial != nil:
					e := m.trial.Execution
					u.found = u.found || len(e.Observed) > 0 || e.Outcome.Class.Failed()
					if s.OnTrial != nil {
						s.OnTrial(u.Unit, m.suspect, m.trial)
					}
				}
				idle.Broadcast()
			}
		})
	}
	workers.Wait()
	found := &Searched{}
	for _, u := range all {
		u.judge()
		u.Earlier = u.whole()
		found.Failures = append(found.Failures, u.failures()...)
	}
	found.Suspects, found.Skipped = suspected(all)
	return found, context.Cause(ctx)
}

// whole returns what the executions of this search and of earlier ones have done.
func (u *searched) whole() controlled.Done {
	if u.arms == nil { // nothing was planned
		return u.Earlier
	}
	behaviors := make(map[uint64]bool, len(u.behaviors))
	for b := range u.behaviors {
		behaviors[uint64(b)] = true
	}
	return controlled.Done{Behaviors: behaviors, Orders: u.orders}
}

// Searched is what a search has found.
type Searched struct {
	Suspects []*trials.Result // suspects that it has found and tried, each once
	Skipped  []string         // messages about what could not be tried, with packages
	Failures []*trials.Result // for each way in which a unit failed
}

// next returns the unit whose turn it is, nil if there is none at the moment. busy is set if executions
// are under way.
func (s *Search) next(units []*searched) (u *searched, busy bool) {
	for _, v := range units {
		busy = busy || v.running > 0
		if v.Exhausted || v.cut || !s.Confirmer.Budget.MaySearch(v.Unit, v.found) {
			continue
		}
		if !v.planned() {
			if v.running > 0 {
				continue // what is next depends on what these show
			}
			v.judge()
			if v.Exhausted || v.spent() {
				continue
			}
			v.plan(s.Confirmer)
		}
		if u == nil || s.Confirmer.Budget.Before(v.Unit, u.Unit) {
			u = v
		}
	}
	return u, busy
}

// spent reports whether all executions were made that the unit may have.
func (u *searched) spent() bool { return u.Quota > 0 && u.Executions >= u.Quota }

// goOn gives the time that is left to units that have used theirs. It reports whether there was any.
func (s *Search) goOn(units []*searched) bool {
	var open []*controlled.Unit
	for _, u := range units {
		if !u.Exhausted {
			open = append(open, u.Unit)
		}
	}
	if !s.Confirmer.Budget.Grant(open) {
		return false
	}
	for _, u := range units {
		u.cut = u.cut && s.Confirmer.Budget.Over(u.Unit)
	}
	return true
}

// execute makes an execution of the unit.
func (s *Search) execute(ctx context.Context, u *searched, next *plan) (m made, err error) {
	if next.looks {
		m.looked, err = s.Survey.Look(ctx, u.Unit, next.schedule, s.Confirmer.Budget, s.Confirmer.Limit)
		return m, err
	}
	strategy := next.schedule.Strategy.Strategy
	if next.schedule.Explore {
		strategy = strategies.Replay
	}
	m.suspect = suspects.AnyFailureIn(u.Unit, strategy)
	m.suspect.Targets = next.schedule.Targets
	m.trial, err = s.Confirmer.Try(ctx, m.suspect, next.schedule)
	if err == nil && next.schedule.Explore {
		replayable(m.trial)
	}
	return m, err
}

// addResult counts an execution among those of its strategy.
func (u *searched) addResult(s *suspects.Suspect, t *trials.Trial) {
	i := slices.IndexFunc(u.results, func(v *trials.Result) bool { return v.Suspect.Strategy == s.Strategy })
	if i < 0 {
		i = len(u.results)
		u.results = append(u.results, &trials.Result{Suspect: s, Finding: s.Finding})
	}
	u.results[i].Add(t)
}

// failAlways ends the search of a unit that fails whatever the schedule is. An enumeration makes similar executions one after the
// other, so others follow before that.
func (u *searched) failAlways(e *controlled.Execution) {
	u.Differed = u.Differed || !e.Outcome.Same(u.Usual) || e.FailedAtEnd()
	if u.Differed || !u.Usual.Plain() {
		return
	}
	if u.Executions >= controlled.AlwaysTries/2 {
		u.enumeration.over = true
	}
	u.Always = u.Executions >= controlled.AlwaysTries || u.enumeration.complete
	u.Exhausted = u.Exhausted || u.Always
}
