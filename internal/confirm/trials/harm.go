package trials

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/report"
)

// harmful reports whether the endings of a bug of a kind show that it does harm: a deadlock does in any case.
// Other bugs do harm if an execution with the bug has failed, unless the failure may have another reason. That
// is so if a test fails in the same way in an execution without the race (other failures end a program before it can show the race), or the program does so under the default schedule, and the endings do not show
// that the bug decides it. usual has the outcomes of the default schedule: of all of the program, and of tests by themselves.
func harmful(kind heisen.Kind, endings []Ending, usual ...controlled.Outcome) bool {
	return slices.ContainsFunc(endings, func(e Ending) bool { return e.Confirmed && e.harms(kind, endings, usual...) })
}

// harms reports whether the executions with an ending, which show the bug, show that it does harm.
func (e *Ending) harms(kind heisen.Kind, endings []Ending, usual ...controlled.Outcome) bool {
	switch {
	case kind == heisen.Deadlock:
		return true
	case !e.Outcome.Class.Failed():
		return false
	case kind == heisen.Race && e.Outcome.Class == controlled.TestFailed && slices.ContainsFunc(endings, func(other Ending) bool { return other.without > 0 && other.Outcome.Same(e.Outcome) }):
		return false
	}
	anyway := slices.ContainsFunc(usual, func(o controlled.Outcome) bool { return o.Includes(e.Outcome) })
	return !anyway || decides(kind, endings, e.Outcome)
}

// decidesAny reports whether the bug decides one of the failures in its endings.
func decidesAny(kind heisen.Kind, endings []Ending) bool {
	return slices.ContainsFunc(endings, func(e Ending) bool {
		return e.Confirmed && e.Outcome.Class.Failed() && decides(kind, endings, e.Outcome)
	})
}

// decides reports whether a race, or the interleaving of an atomic section, decides that a failure happens:
// in the other order of the two accesses, or without the bug, the program passes and never fails in this way.
// The default schedule may itself have the bug.
func decides(kind heisen.Kind, endings []Ending, failure controlled.Outcome) bool {
	if kind != heisen.Race && kind != heisen.Atomicity {
		return false
	}
	passes, fails := map[side]bool{}, map[side]bool{}
	for i := range endings {
		e := &endings[i]
		passes[e.side()] = passes[e.side()] || e.Outcome.Class == controlled.Passed
		fails[e.side()] = fails[e.side()] || e.Outcome.Same(failure)
	}
	for s, some := range passes {
		if some && !fails[s] {
			return true
		}
	}
	return false
}

// side is one of the orders of the two accesses of a race, as in Ending.First, or without for executions that do
// not show the bug.
type side int

const without side = -2

func (e *Ending) side() side {
	if !e.Confirmed {
		return without
	}
	return side(e.First)
}

// endingsIn returns the endings of a finding, as far as a report has them.
func endingsIn(t *report.Trials) (all []Ending) {
	for i := range t.Endings {
		of := &t.Endings[i]
		e := Ending{Outcome: controlled.Outcome{Class: controlled.Class(of.Outcome), Message: of.Message}, First: -1, Confirmed: of.Confirmed, Count: of.Count}
		if of.First != nil {
			e.First = *of.First
		}
		all = append(all, e)
	}
	return all
}
