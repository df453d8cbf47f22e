package mcm

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	atomicsection "github.com/heisen-go/heisen/section"
)

// ErrOption is what the error of a constructor wraps if an option is out of
// bounds.
var ErrOption = errors.New("mcm: option out of bounds")

// Option is an option of NewModel, and of NewDetector, which hands it on.
type Option func(*settings) error

// settings are what a model is built with.
type settings struct {
	window.Rules
	conflicts    int
	propagations int

	// Of detectors.
	window, overlap int // in events
	parallel        int
	occurrences     int
	questions       int
	sections        []atomicsection.Section
	locator         atomicsection.Locator

	// For tests, which compare the ways to an answer.
	eager    bool // all constraints from the start
	fresh    bool // a solver for each question
	slow     bool // no quick stages
	states   int  // a search among so many states instead of the quick stages
	closed   bool // after the closure
	searched bool // the search among schedules goes first, whatever reads may see
	held     int  // a search with a thread held back goes first, among so many states
	gridded  bool // a grid goes first
	ahead    int  // courses go first, of so many states each
	swept    int  // a sweep goes first that keeps all of so many states
}

const (
	defaultConflicts    = 200
	defaultPropagations = 200_000
	statesPerConflict   = 100 // that the search among schedules may look at
	questionsPerWindow  = 20  // how many questions may spend all of their budget
	pointsPerState      = 320 // how many points a grid may look at for each state that a window's questions may
	insistence          = 32  // how many times as much the solver may spend on a question that nothing else answers
	sweepPerQuestion    = 5   // how many times as many states a sweep may look at for a question
	defaultWindow       = 2000
	defaultOccurrences  = 8
	defaultQuestions    = 2000
)

// step is how far one window starts after the one before.
func (s *settings) step() int { return s.window - s.overlap }

func defaults() settings {
	return settings{
		Rules:        window.DefaultRules(),
		conflicts:    defaultConflicts,
		propagations: defaultPropagations,
		window:       defaultWindow, overlap: defaultWindow / 2,
		parallel: 1, occurrences: defaultOccurrences, questions: defaultQuestions,
	}
}

// ControlFlow lets reads see other values if no decision depends on them: only
// the reads before a Branch event that comes before what is asked for, by the
// same thread, and those that the values of these were made from, see what they
// saw. So there are more orders. It is right only for streams that have a Branch
// event for every decision, the choice of an address from a value among them.
// Atomic reads and updates count as decisions.
func ControlFlow() Option {
	return func(s *settings) error {
		s.ControlFlow = true
		return nil
	}
}

// Reaches says which objects the code behind a Hide event may touch, by the
// stream's symbols. Without it the code may touch everything.
func Reaches(symbols *heisen.Symbols) Option {
	return func(s *settings) error {
		s.Reach = func(r *heisen.Record) heisen.Objects { return symbols.Reach(r.Reach()) }
		return nil
	}
}

// Budget bounds the work on one question, in the solver's conflicts and
// propagations, so that what is found does not depend on the machine. The default
// is 200 and 200,000. The search among schedules may look at 100 states for each
// conflict. Questions that cost more have the answer Unknown, and once a
// Model's questions have cost twenty times as much, so have all that no short look
// near the observed order answers; that look each question has. For races, so have courses, in
// which a thread waits for long: a question may look at five times as many states as above for
// each of four places where it can wait, twice if nothing else answers it, unless by so many more
// in vain than not as all other looks together may take. When questions have cost a quarter of what they may together, or
// when there is one that nothing answers, searches for all questions at
// once begin: a grid of at most 128 million points, 320 for each state that twenty questions may
// look at, or, where that does not do, a sweep, which goes on by five times as many states
// as a question may look at for each one that no look answers, and a hundred times as many
// for one that nothing else does; by as many again, twice, where threads are held back; and by
// some 8 million in all, 8 bytes each. The solver may spend as much as on 20 questions; and
// on questions that nothing else answers 8 and, last of all, 32 times as much each, on all of these
// together as much as on 160. A no of the solver may cost as much again, to find what else it answers.
func Budget(conflicts, propagations int) Option {
	return func(s *settings) error {
		if conflicts < 1 || propagations < 1 {
			return fmt.Errorf("%w: a budget of %d conflicts and %d propagations", ErrOption, conflicts, propagations)
		}
		s.conflicts, s.propagations = conflicts, propagations
		return nil
	}
}

// Windows sets how many events a Detector's windows have and how many of these are
// in the next one as well. The default is 2000 and 1000. Events that say nothing
// about orders, such as calls, do not count.
func Windows(events, overlap int) Option {
	return func(s *settings) error {
		if events < 1 || events > 1<<20 || overlap < 0 || overlap >= events {
			return fmt.Errorf("%w: windows of %d events, %d of them in the next", ErrOption, events, overlap)
		}
		s.window, s.overlap = events, overlap
		return nil
	}
}

// Parallel sets how many windows a Detector solves at a time; the default is 1.
// What it finds does not depend on it.
func Parallel(n int) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("%w: %d windows at a time", ErrOption, n)
		}
		s.parallel = n
		return nil
	}
}

// Sections has a Detector predict, besides, how other threads come into atomic sections.
// For locator, and the errors of NewDetector, see section.NewTracker.
func Sections(sections []atomicsection.Section, locator atomicsection.Locator) Option {
	return func(s *settings) error {
		s.sections, s.locator = sections, locator
		return nil
	}
}

// Occurrences bounds how often a Detector asks about the same places in a window,
// until the answer is yes, and how many questions it asks of a window in all. The
// defaults are 8 and 2000.
func Occurrences(same, all int) Option {
	return func(s *settings) error {
		if same < 1 || all < 1 {
			return fmt.Errorf("%w: %d questions about the same places, %d in all", ErrOption, same, all)
		}
		s.occurrences, s.questions = same, all
		return nil
	}
}
