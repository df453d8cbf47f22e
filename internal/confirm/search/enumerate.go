package search

import (
	"slices"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/dpor"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// maxEnumerated is the largest number of steps of an execution for which others are enumerated.
const maxEnumerated = 1000

// enumeration makes the executions of a unit one after the other, one of each class of executions that
// differ only in the order of steps that do not depend on each other. A step goes from one
// synchronization of a goroutine to its next one. Each ready case of a select statement is taken. The first execution is the one with the default
// schedule.
type enumeration struct {
	explorer dpor.Explorer
	over     bool // nothing is left, or it was given up
	complete bool // nothing is left
	testing  bool // the main goroutine runs package testing and nothing else
	made     int
	most     int // executions; 0 if there is no bound
	used     time.Duration
	limit    time.Duration // of all executions
}

// schedule returns the schedule of the next execution.
func (m *enumeration) schedule(p *controlled.Program, c *trials.Confirmer) *recorder.Schedule {
	config := strategies.Config{Strategy: strategies.Explore, Seed: c.First(p)}
	for i, task := range m.explorer.Prefix() {
		choice := strategies.Choice{Step: uint64(i), ID: task}
		if drawn := m.explorer.Drawn(i); len(drawn) > 0 {
			choice.Case = 1 + uint32(drawn[0])
		}
		config.Choices = append(config.Choices, choice)
	}
	m.explorer.Sleeping(func(task uint32, uses []dpor.Use) {
		config.Sleepers = append(config.Sleepers, strategies.Sleeper{ID: task})
		for _, u := range uses {
			config.Sleepers = append(config.Sleepers, strategies.Sleeper{ID: task, Object: u.Object, Mode: uint64(u.Mode)})
		}
	})
	return &recorder.Schedule{Strategy: config, Prologue: p.Prologue(config.Seed), Procs: c.Procs, MaxVirtual: c.Virtual, Log: true, Explore: true}
}

// mainTask is the number of the main goroutine.
const mainTask = 0

// add takes the next execution.
func (m *enumeration) add(e *controlled.Execution, testBinary bool) {
	m.made++
	if m.made == 1 {
		m.testing = testBinary && e.Explored != nil && !e.Explored.MainSynchronizes
	}
	m.used += e.Took
	if !enumerable(e) || m.testing && e.Explored.MainSynchronizes {
		m.over = true
		return
	}
	if m.testing {
		m.explorer.Fixed = func(task uint32) bool { return task == mainTask }
	}
	m.explorer.Start()
	for i := range e.Explored.Steps {
		s := &e.Explored.Steps[i]
		at := m.explorer.Choose(s.Enabled, s.Step.Task)
		if m.explorer.Redundant() {
			break
		}
		if at < 0 || at >= len(s.Enabled) || s.Enabled[at] != s.Step.Task {
			m.over = true // the program did not follow
			return
		}
		if s.Ready > 0 && m.explorer.Draw(uint64(s.Ready)) != uint64(s.Case) {
			m.over = true
			return
		}
		m.explorer.Did(s.Step)
	}
	m.explorer.End(nil)
	m.complete = !m.explorer.More() && m.explorer.Err() == nil
	m.over = m.complete || m.explorer.Err() != nil || m.used >= m.limit || m.most > 0 && m.made >= m.most
}

// enumerable reports whether the steps of an execution are all that other executions can differ in:
// nothing from outside and no clock or random number has decided anything, nothing synchronizes
// unseen, the program was not stopped, and there was no data race, by which the order of plain accesses would matter.
func enumerable(e *controlled.Execution) bool {
	switch e.Outcome.Class {
	case controlled.Passed, controlled.TestFailed, controlled.Deadlocked:
	default:
		return false
	}
	x := e.Explored
	return x != nil && x.Complete() && x.Doubts == 0 && len(x.Steps) <= maxEnumerated && uint64(len(x.Steps)) == e.Steps &&
		e.Diverged == 0 && e.Lost == 0 && len(e.Influences) == 0 && !e.Unseen.Any() &&
		!slices.ContainsFunc(e.Observed, func(f report.Finding) bool { return f.Kind == heisen.Race })
}

// replayable replaces the schedule of an enumerated execution by one that repeats it.
func replayable(t *trials.Trial) {
	s := *t.Schedule
	s.Explore = false
	s.Strategy = strategies.Config{Strategy: strategies.Replay, Seed: s.Strategy.Seed, Choices: t.Execution.Choices}
	t.Schedule = &s
}
