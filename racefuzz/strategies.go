package racefuzz

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/option"
)

// RandomWalk returns a strategy that chooses uniformly among the runnable tasks.
//
// Guarantee: every execution has a probability above 0. It can be tiny: an execution that needs one
// particular choice out of n at each of k steps has probability 1/n^k, and the probability that one
// of two tasks makes no step while the other makes k is 1/2^k.
func RandomWalk() Strategy {
	return &builtin{config: strategies.Config{Strategy: strategies.RandomWalk}, name: "random-walk"}
}

// PCT returns a strategy for probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi,
// Nagarakatte, ASPLOS 2010, section 3). Tasks have random priorities. The runnable task with the
// highest priority continues. At depth-1 steps, drawn at random from the first steps, the task that
// would continue drops below all tasks that have not dropped yet; the tasks that have dropped are in a
// random order. depth is from 1 to 16, steps from 1 to 1<<32.
//
// Guarantee: a bug of the given depth is found with probability at least 1/(n*steps^(depth-1)) in
// an execution of at most n tasks and the given number of steps. The depth of a bug is the number
// of ordering constraints between steps that suffice to cause it. A bug that needs one step before
// another has depth 1. Atomicity violations and deadlocks of two locks have depth 2.
//
// A task that yields drops below all others. So does the running task when another one has waited
// for longer than steps plus the postpone limit; then the execution is longer than expected, and a
// spinning task must not run forever. The guarantee holds for executions without a yield and without
// such a forced drop.
func PCT(depth int, steps uint64, opts ...StrategyOption) (Strategy, error) {
	if depth < 1 || depth > strategies.MaxDepth {
		return nil, fmt.Errorf("racefuzz.PCT: %w", option.Errorf("depth %d, want 1 to %d", depth, strategies.MaxDepth))
	}
	if steps < 1 || steps > 1<<32 {
		return nil, fmt.Errorf("racefuzz.PCT: %w", option.Errorf("%d steps, want 1 to %d", steps, uint64(1<<32)))
	}
	return newBuiltin("PCT", strategies.Config{Strategy: strategies.PCT, Depth: uint64(depth), Steps: steps},
		fmt.Sprintf("pct depth=%d steps=%d", depth, steps), opts)
}

// POS returns a strategy for partial order sampling (Yuan, Yang, Gu, CAV 2018, section 3). Each
// operation has a random priority, which it gets when its task arrives at it. The operation with the
// highest priority goes first. Then all operations that are next and whose order with it matters get
// other priorities: those of the same lock, channel or variable, except reads. A task that yields goes
// last.
//
// Guarantee: every execution without a yield has a probability above 0. If one of two tasks makes k
// steps that do not concern the other, the other makes none in the meantime with probability 1/(k+1). In
// a random walk it is 1/2^k.
func POS() Strategy {
	return &builtin{config: strategies.Config{Strategy: strategies.POS}, name: "pos"}
}

// RaceDirected returns a strategy that brings two tasks to the places First and Second at the same
// time (Sen, PLDI 2008, Algorithm 1). It is a random walk that postpones a task that is about to
// access memory at one of the places, until another task is about to make a conflicting access
// there: to the same memory, at least one of them a write, and not both atomic (Algorithm 2). Then
// a coin decides whether the new task continues or those that it conflicts with. If all tasks are
// postponed, a random one continues.
//
// Guarantee: every meeting is a race. If each of two tasks makes one access of the pair, nothing
// orders the accesses and neither task waits for the other, they meet in every execution, whatever
// else the tasks do, provided that none is postponed for longer than the postpone limit; each order
// of the two accesses follows in half of the executions (section 3.2 of the paper). A pair that
// something orders never meets.
func RaceDirected(opts ...StrategyOption) (Strategy, error) {
	return newBuiltin("RaceDirected", strategies.Config{Strategy: strategies.RaceDirected}, "race-directed", opts)
}

// DeadlockDirected returns a strategy that lets tasks hold locks that others want. It is a random
// walk that postpones a task that is about to acquire a lock at a place Inner, where it holds
// another lock, until no other task is runnable. Then all postponed tasks continue, one after the
// other.
//
// Guarantee: none beyond those of a random walk. A reported deadlock is real: every task waits. A
// lock-order cycle whose inner acquisitions are Inner usually deadlocks if its tasks can hold their
// outer locks at the same time.
func DeadlockDirected(opts ...StrategyOption) (Strategy, error) {
	return newBuiltin("DeadlockDirected", strategies.Config{Strategy: strategies.DeadlockDirected}, "deadlock-directed", opts)
}

// SectionDirected returns a strategy that violates atomic sections. It is a random walk that
// postpones a task that has made its access at Entry, until another task has made an access to the
// same memory at Remote; and a task that is about to make such an access, until another task is in
// such a section. If all tasks are postponed, a random one continues.
//
// Guarantee: every meeting is a violation: an access of another task at Remote came between one
// task's accesses at Entry and End, all to the same memory. Only the latest access of a task at
// Entry counts.
func SectionDirected(opts ...StrategyOption) (Strategy, error) {
	return newBuiltin("SectionDirected", strategies.Config{Strategy: strategies.SectionDirected}, "section-directed", opts)
}

// Replay returns a strategy that makes the default choice except at the steps of choices, which
// must ascend; see Choice. The strategy is a Diverger.
//
// Guarantee: the deviations of an execution (Result.Choices) and its seed repeat the execution,
// whichever strategy made it, if the program depends on nothing else. The seed matters only if the
// program draws random numbers.
func Replay(choices []Choice) (Strategy, error) {
	for i := 1; i < len(choices); i++ {
		if choices[i].Step <= choices[i-1].Step {
			return nil, fmt.Errorf("racefuzz.Replay: %w: choice %d has step %d, after step %d", heisen.ErrOption, i, choices[i].Step, choices[i-1].Step)
		}
	}
	return newBuiltin("Replay", strategies.Config{Strategy: strategies.Replay, Choices: choicesOf(choices)}, "replay", nil)
}

// Follow returns a strategy that lets tasks continue turn by turn, and after the last turn behaves
// like RaceDirected, with the default choice in place of a random one. While the task of the next
// turn is not runnable, other tasks continue. After as many steps as the postpone limit, by default
// 1024, the turn is skipped. The strategy is a Diverger.
//
// Guarantee: if the program can run in the given order, it does. So the witness of a predicted race
// leads to its two accesses.
func Follow(turns []Turn, opts ...StrategyOption) (Strategy, error) {
	return newBuiltin("Follow", strategies.Config{Strategy: strategies.Follow, Turns: turnsOf(turns)}, "follow", opts)
}
