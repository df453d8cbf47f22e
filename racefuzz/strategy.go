package racefuzz

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/option"
)

// Strategy decides which task continues. A Strategy is for one execution at a time; it can be used
// for many executions, one after another.
//
// The strategies of this package also implement fmt.Stringer: the name and the parameters, as
// Schedule.Strategy has them.
type Strategy interface {
	// Start begins an execution. The results of Next and Random until the next Start are determined
	// by the seed and by their arguments.
	Start(seed uint64)
	// Next returns the index of the task that continues. There is at least one task. The order of
	// the tasks is the same in all executions with the same choices so far. running is the ID of
	// the task that continued last, NoTask at first; it need not be among the tasks. Next may
	// change OpState and TaskState of the tasks.
	Next(tasks []Task, running uint32) int
	// Random returns a random number below n, for the program itself. n is at least 1.
	Random(n uint64) uint64
}

// Diverger is an optional interface of a Strategy that follows a given schedule, such as Replay.
type Diverger interface {
	// Diverged returns how many entries of the schedule could not be followed in this execution.
	Diverged() uint64
}

// ErrStrategy is wrapped by the error of Run if a strategy returned an index that is not of a task.
var ErrStrategy = errors.New("wrong index from the strategy")

// StrategyOption configures a Strategy that postpones tasks or waits for them.
type StrategyOption func(*strategyConfig) error

type strategyConfig struct{ postponeLimit uint64 }

// WithPostponeLimit bounds how many steps a strategy postpones a task: at least 1. The default is
// 131072, for Follow 1024. A lower limit helps programs that spin until the postponed task
// continues. A higher limit lets tasks meet that reach their places at very different times. Each
// time that a task stays postponed up to the limit, the limit halves, down to 100.
//
// In the text of a strategy, and so in schedules, the limit is called patience.
func WithPostponeLimit(steps uint64) StrategyOption {
	return func(c *strategyConfig) error {
		if steps == 0 {
			return option.Errorf("WithPostponeLimit: 0 steps, want at least 1")
		}
		c.postponeLimit = steps
		return nil
	}
}

// builtin is a Strategy of package internal/core/strategies.
type builtin struct {
	config    strategies.Config
	scheduler strategies.Scheduler
	tasks     []strategies.Task
	name      string
}

// newBuiltin returns the strategy that c configures. constructor is the name of the exported
// function.
func newBuiltin(constructor string, c strategies.Config, name string, opts []StrategyOption) (Strategy, error) {
	var extra strategyConfig
	if err := option.Apply("racefuzz."+constructor, &extra, opts); err != nil {
		return nil, err
	}
	b := &builtin{config: c, name: name}
	if b.config.PostponeLimit = extra.postponeLimit; extra.postponeLimit != 0 {
		b.name = fmt.Sprintf("%s patience=%d", name, extra.postponeLimit) // as in schedules
	}
	b.Start(0)
	return b, nil
}

// Start implements Strategy.
func (b *builtin) Start(seed uint64) {
	b.config.Seed = seed
	b.scheduler.Start(&b.config)
}

// Next implements Strategy.
func (b *builtin) Next(tasks []Task, running uint32) int {
	b.tasks = appendTasks(b.tasks[:0], tasks)
	i := b.scheduler.Next(b.tasks, running)
	for k := range tasks {
		tasks[k].OpState, tasks[k].TaskState = b.tasks[k].OpState, b.tasks[k].TaskState
	}
	return i
}

// Random implements Strategy.
func (b *builtin) Random(n uint64) uint64 {
	high, _ := bits.Mul64(b.scheduler.Random(), n)
	return high
}

// Diverged implements Diverger.
func (b *builtin) Diverged() uint64 { return b.scheduler.Diverged + b.scheduler.TurnsLeft() }

// String returns the strategy's name and parameters as they stand in schedules.
func (b *builtin) String() string { return b.name }
