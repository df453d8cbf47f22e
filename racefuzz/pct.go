package racefuzz

import (
	"fmt"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// PCT is probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and
// Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs
// (ASPLOS 2010). Tasks have random priorities, and the one with the highest goes on. At
// depth-1 steps, drawn from the first so many steps, the task that would go on falls
// below all that have not fallen yet.
//
// Promise: a bug of the given depth, that is one that shows whenever so many pairs of
// steps are in a certain order, shows in an execution of at most so many steps by at
// most n tasks with a probability of at least 1/(n*steps^(depth-1)). Bugs that need one
// task to come before another have depth 1; atomicity violations and deadlocks of two
// locks have depth 2.
//
// A task that gives way falls below all others, and so does who goes on while another
// has been waiting for more than steps plus Patience: then the execution is longer than
// was said, and one that spins must not do so for ever. The promise is for executions
// without either.
//
// depth is from 1 to 16, steps at least 1.
func PCT(depth int, steps uint64, options ...StrategyOption) (Strategy, error) {
	if depth < 1 || depth > strategies.MaxDepth {
		return nil, fmt.Errorf("%w: PCT of depth %d, which has to be from 1 to %d", ErrConfig, depth, strategies.MaxDepth)
	}
	if steps < 1 || steps > 1<<32 {
		return nil, fmt.Errorf("%w: PCT of %d steps, which have to be from 1 to %d", ErrConfig, steps, uint64(1<<32))
	}
	return newPicked(strategies.Config{Strategy: strategies.PCT, Depth: uint64(depth), Steps: steps},
		fmt.Sprintf("pct depth=%d steps=%d", depth, steps), options)
}
