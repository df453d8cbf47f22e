package racefuzz

import "github.com/heisen-go/heisen/internal/core/strategies"

// DeadlockDirected lets tasks hold locks that others want: a random walk in which who
// is about to take a lock at a place that is Inner, where it holds another already, is
// postponed until nobody else can go on. Then all that were postponed go on, one after
// the other.
//
// Promise: none of its own, for what happens happens: a deadlock is one in which every
// task waits. It is likely to come of a cycle of the lock-order graph whose places are
// Inner if its tasks can hold their outer locks at the same time.
func DeadlockDirected(options ...StrategyOption) (Strategy, error) {
	return newPicked(strategies.Config{Strategy: strategies.DeadlockDirected}, "deadlock-directed", options)
}
