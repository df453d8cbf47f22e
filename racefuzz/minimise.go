package racefuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrOtherwise is the error of Minimise for choices that don't do, themselves, what the
// fewer ones are to do.
var ErrOtherwise = errors.New("racefuzz: the schedule to minimise does something else")

// Minimised is a schedule from which choices have been taken.
type Minimised struct {
	Choices  []Choice
	Attempts int // executions made
	// Minimal says that there is no choice that could be taken away, alone, with the
	// same effect. Otherwise the attempts were too few.
	Minimal bool
}

// MinimiseOption sets up Minimise.
type MinimiseOption func(*minimiser) error

// Attempts sets how many executions are made at most, at least 1; 1000 unless said.
func Attempts(n int) MinimiseOption {
	return func(m *minimiser) error {
		if n < 1 {
			return fmt.Errorf("%w: %d attempts", ErrConfig, n)
		}
		m.limit = n
		return nil
	}
}

// Progress has f called after each attempt, on the goroutine of Minimise, with the number
// of attempts so far and of the choices that are left.
func Progress(f func(attempts, left int)) MinimiseOption {
	return func(m *minimiser) error {
		m.progress = f
		return nil
	}
}

// Minimise takes choices away as long as the rest have the same effect, which is for
// same to say: it executes the program with them and sees whether it fails as it did.
// Each choice is a switch from one task to another that would not have been made by
// default, so what remains is close to what the failure needs.
//
// It is delta debugging (Zeller and Hildebrandt: Simplifying and Isolating
// Failure-Inducing Input, 2002): parts of the list are left out, of halves and then of
// ever smaller parts. As what has been left out may have let the program take more or
// fewer steps, the choices after it are tried some steps earlier and later as well.
// That finds a minimum near by, not the least of all.
//
// The same choices and answers give the same result. The error is one of the options,
// of ctx, or of same; with it comes what has been reached, if the choices had the
// effect at all. n choices, of which k are needed, take about k*k + k*log n attempts.
func Minimise(ctx context.Context, choices []Choice, same func(context.Context, []Choice) (bool, error), options ...MinimiseOption) (Minimised, error) {
	if same == nil {
		return Minimised{}, fmt.Errorf("%w: nothing says what is the same", ErrConfig)
	}
	m := &minimiser{same: same, limit: 1000, best: slices.Clone(choices)}
	for _, o := range options {
		if err := o(m); err != nil {
			return Minimised{}, err
		}
	}
	if !m.try(ctx, m.best) {
		if m.err == nil {
			m.err = ErrOtherwise
		}
		return Minimised{Attempts: m.attempts}, m.err
	}
	minimal := false
	for m.more() {
		m.reduce(ctx)
		if minimal = m.more() && !m.shift(ctx) && m.more(); minimal {
			break
		}
	}
	return Minimised{Choices: m.best, Attempts: m.attempts, Minimal: minimal}, m.err
}

type minimiser struct {
	same     func(context.Context, []Choice) (bool, error)
	progress func(attempts, left int)
	limit    int

	best     []Choice
	attempts int
	short    bool // of attempts: one was not made
	err      error
}

func (m *minimiser) more() bool { return m.err == nil && !m.short }

// try reports whether the choices have the effect; if so, they are the best.
func (m *minimiser) try(ctx context.Context, choices []Choice) bool {
	if m.err == nil {
		m.err = ctx.Err()
	}
	if m.short = m.short || m.attempts == m.limit; !m.more() {
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

// reduce leaves parts out until no single choice can be.
func (m *minimiser) reduce(ctx context.Context) {
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

// shift leaves out one choice and moves those after it. It reports whether that has
// made the list shorter.
func (m *minimiser) shift(ctx context.Context) bool {
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

// shifted returns the choices without the i-th and with those after it moved, if they
// still ascend.
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
