package racefuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// ErrNotReproduced is the error of Minimize if the given choices do not have the effect that is to
// be preserved.
var ErrNotReproduced = errors.New("the choices to minimize do not reproduce the failure")

// Minimized is the result of Minimize.
type Minimized struct {
	Choices  []Choice
	Attempts int // number of executions made
	// Minimal reports that no single choice can be removed with the same effect. If it is false,
	// the attempts did not suffice to know.
	Minimal bool
}

// MinimizeOption configures Minimize.
type MinimizeOption func(*minimizeConfig) error

type minimizeConfig struct {
	limit    int
	progress func(attempts, left int)
}

// WithAttempts bounds the number of executions, at least 1. The default is 1000.
func WithAttempts(n int) MinimizeOption {
	return func(c *minimizeConfig) error {
		if n < 1 {
			return option.Errorf("WithAttempts: %d, want at least 1", n)
		}
		c.limit = n
		return nil
	}
}

// WithProgress sets a function that Minimize calls after each attempt with the number of attempts
// so far and the number of choices that are left. Nil means none.
func WithProgress(f func(attempts, left int)) MinimizeOption {
	return func(c *minimizeConfig) error {
		c.progress = f
		return nil
	}
}

// Minimize removes choices from a schedule while the rest reproduces the same failure. same
// executes the program with the given choices and reports whether it fails in the same way. Each
// choice is a deviation, so the remaining ones are the preemptions that the failure needs.
//
// The algorithm is delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
// Input, TSE 2002, algorithm ddmin): it leaves out halves of the list and then ever smaller parts.
// A removed choice may change the number of steps that the program makes. So Minimize also tries to
// move the choices after it by a few steps. The result is a local minimum, not necessarily the
// smallest list.
//
// The result is determined by the choices and the results of same. If k of n choices are needed,
// Minimize takes about k*k + k*log(n) attempts.
//
// The error is that of ctx or of same, ErrNotReproduced, or wraps heisen.ErrOption. If the given
// choices reproduced the failure, the result has the best list so far also if there is an error.
func Minimize(ctx context.Context, choices []Choice, same func(context.Context, []Choice) (bool, error), opts ...MinimizeOption) (Minimized, error) {
	if ctx == nil {
		return Minimized{}, fmt.Errorf("racefuzz.Minimize: %w: the context is nil", heisen.ErrOption)
	}
	if same == nil {
		return Minimized{}, fmt.Errorf("racefuzz.Minimize: %w: the function is nil", heisen.ErrOption)
	}
	c := minimizeConfig{limit: 1000}
	if err := option.Apply("racefuzz.Minimize", &c, opts); err != nil {
		return Minimized{}, err
	}
	m := &minimizer{same: same, minimizeConfig: c, best: slices.Clone(choices)}
	if !m.try(ctx, m.best) {
		if m.err == nil {
			m.err = ErrNotReproduced
		}
		return Minimized{Attempts: m.attempts}, m.err
	}
	minimal := false
	for m.more() {
		m.reduce(ctx)
		if minimal = m.more() && !m.shift(ctx) && m.more(); minimal {
			break
		}
	}
	return Minimized{Choices: m.best, Attempts: m.attempts, Minimal: minimal}, m.err
}

// minimizer is the state of Minimize.
type minimizer struct {
	minimizeConfig
	same func(context.Context, []Choice) (bool, error)

	best     []Choice
	attempts int
	spent    bool // the limit prevented an attempt
	err      error
}

func (m *minimizer) more() bool { return m.err == nil && !m.spent }

// try reports whether the choices reproduce the failure. If so, they become the best.
func (m *minimizer) try(ctx context.Context, choices []Choice) bool {
	if m.err == nil {
		m.err = ctx.Err()
	}
	if m.spent = m.spent || m.attempts == m.limit; !m.more() {
		return false
	}
	m.attempts++
	ok, err := m.same(ctx, choices)
	if m.err = err; ok && err == nil {
		m.best = choices
	}
	if m.progress != nil {
		m.progress(m.attempts, len(m.best))
	}
	return ok && err == nil
}

// reduce removes parts of the list until no single choice can be removed.
func (m *minimizer) reduce(ctx context.Context) {
	if len(m.best) > 0 && m.try(ctx, nil) {
		return
	}
	for parts := 2; len(m.best) > 0; {
		parts = min(parts, len(m.best))
		reduced := false
		for i := 0; i < parts && m.more(); i++ {
			from, to := i*len(m.best)/parts, (i+1)*len(m.best)/parts
			if m.try(ctx, slices.Concat(m.best[:from], m.best[to:])) {
				reduced = true
				parts = min(max(parts-1, 2), len(m.best))
				i--
			}
		}
		switch {
		case !m.more():
			return
		case !reduced && parts >= len(m.best):
			return
		case !reduced:
			parts *= 2
		}
	}
}

// shift removes one choice and moves those after it. It reports whether that made the list shorter.
func (m *minimizer) shift(ctx context.Context) bool {
	for i := range m.best {
		for _, by := range [...]int64{-1, 1, -2, 2, -3, 3, -4, 4, -8, 8} {
			choices, ok := shifted(m.best, i, by)
			if ok && m.try(ctx, choices) {
				return true
			}
		}
	}
	return false
}

// shifted returns the choices without the i-th and with those after it moved, if their steps still
// ascend.
func shifted(choices []Choice, i int, by int64) ([]Choice, bool) {
	moved := slices.Delete(slices.Clone(choices), i, i+1)
	for j := i; j < len(moved); j++ {
		to := int64(moved[j].Step) + by
		if to < 0 || j > 0 && uint64(to) <= moved[j-1].Step {
			return nil, false
		}
		moved[j].Step = uint64(to)
	}
	return moved, i < len(moved)
}
