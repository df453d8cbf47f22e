package racefuzz

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Strategy decides who goes on: all that a scheduler needs to know of how executions
// are chosen. A Strategy belongs to one execution at a time.
type Strategy interface {
	// Start begins an execution. All that Next and Random return until the next Start
	// follows from the seed and from what they are asked.
	Start(seed uint64)
	// Next returns the index of the task that goes on. There is at least one, and
	// their order is the same in every execution that came so far by the same choices.
	// running is the ID of the task that went on last, None at first; it need not be
	// among the tasks. Of the tasks only Mark and Own may be changed.
	Next(tasks []Task, running uint32) int
	// Random returns a number below n, which is not 0, for the program itself: what it
	// would draw at random.
	Random(n uint64) uint64
}

// Diverger is an optional capability of a Strategy that follows what it was given, such
// as Replay: saying how often in this execution it could not.
type Diverger interface{ Diverged() uint64 }

// Task is a task that can go on and what it does next: its ID, dense and in order of
// creation; the Kind of what it does, and of an Access or a Lock the Roles and the
// number (Place) of the place and the memory (Addr, Size), of an Access whether it may
// Write and whether it is Atomic; which of its operations that is (At, see Turn), and since
// which step it has been standing there (Since). Mark is the strategy's own until the task comes to something else, Own until the task ends; both
// start as 0.
type Task = strategies.Task

// Kind is what a task does next: [Resume], [Access], [Lock], [Sync] or [Yield].
type Kind = strategies.Kind

const (
	Resume = strategies.Resume // to go on, having been started or having got what it waited for
	Access = strategies.Access // to access memory
	Lock   = strategies.Lock   // to take a lock
	Sync   = strategies.Sync   // to synchronise otherwise
	Yield  = strategies.Yield  // to go on, having given way to others
)

// Roles are what a place is to the strategy, as a set.
type Roles = strategies.Roles

const (
	// First and Second are the two places of a pair that may race.
	First, Second = strategies.First, strategies.Second
	// Entry, Remote and End are those of an atomic section: its first access, the one
	// of another task that may come in between, and its last.
	Entry, Remote, End = strategies.Entry, strategies.Remote, strategies.End
	// Inner is where a lock is taken while another is held.
	Inner = strategies.Inner
)

// Choice is that a task went on at a step. The choices of a schedule are those that
// differ from the default choice, which is the task that went on last, if it can, has
// not given way and has not been chosen 1000 times in a row; otherwise the task that
// has been standing where it is for longest, and of several the one that was created
// first.
type Choice = strategies.Choice

// Meeting is two tasks at places of interest at the same time. Kind says what they met
// for: [Race] or [Violation]; Step is that at which the first of them went on.
type Meeting = strategies.Meeting

// MeetingKind is what tasks have met for.
type MeetingKind = strategies.MeetingKind

const (
	// Race is that both were about to make conflicting accesses, at places that are
	// First or Second: a data race, without doubt.
	Race = strategies.Race
	// Violation is that one made its access at Remote after the other had made the
	// one at Entry and before it made the one at End, all to the same memory.
	Violation = strategies.Violation
)

// Side is one of the two tasks of a Meeting, and its access.
type Side = strategies.Side

// None is the ID of no task.
const None = strategies.NoTask

// ErrConfig is what the errors of options and of the constructors of strategies wrap.
var ErrConfig = errors.New("racefuzz: invalid configuration")

// StrategyOption sets up a Strategy.
type StrategyOption func(*picked) error

// Patience sets for how many steps a strategy keeps a task back at most, or waits for
// it: at least 1, 131072 unless said. A program that spins until the task has gone on is
// through sooner with less of it; with more of it tasks meet that come to their places at
// more different times. It halves each time that it was in vain, but not below 100.
func Patience(steps uint64) StrategyOption {
	return func(p *picked) error {
		if steps == 0 {
			return fmt.Errorf("%w: a patience of no steps", ErrConfig)
		}
		p.config.PostponeLimit = steps
		return nil
	}
}

// picked is a Strategy of package internal/core/strategies.
type picked struct {
	config strategies.Config
	picker strategies.Scheduler
	name   string
}

func newPicked(c strategies.Config, name string, options []StrategyOption) (Strategy, error) {
	p := &picked{config: c, name: name}
	for _, o := range options {
		if err := o(p); err != nil {
			return nil, err
		}
	}
	if p.config.PostponeLimit != 0 {
		p.name = fmt.Sprintf("%s patience=%d", name, p.config.PostponeLimit)
	}
	p.Start(0)
	return p, nil
}

// Start implements Strategy.
func (p *picked) Start(seed uint64) {
	p.config.Seed = seed
	p.picker.Start(&p.config)
}

// Next implements Strategy.
func (p *picked) Next(tasks []Task, running uint32) int { return p.picker.Next(tasks, running) }

// Random implements Strategy.
func (p *picked) Random(n uint64) uint64 {
	high, _ := bits.Mul64(p.picker.Random(), n)
	return high
}

// Diverged implements Diverger.
func (p *picked) Diverged() uint64 { return p.picker.Diverged + p.picker.TurnsLeft() }

// String returns the strategy's name and parameters, as they stand in schedules.
func (p *picked) String() string { return p.name }
