package racefuzz

import "github.com/heisen-go/heisen/internal/core/strategies"

// RaceDirected brings tasks to the places First and Second at the same time. It is
// Algorithm 1 of Sen: Race Directed Random Testing of Concurrent Programs (PLDI 2008):
// a random walk in which who is about to access memory at one of the places is
// postponed until another is about to make an access there that conflicts: to the same
// memory, one of them a write, and not both atomic. A coin then says whether the newcomer goes on or those
// that it met. If all are postponed, a random one goes on.
//
// Promise: every meeting is a race. It does not depend on how much else the tasks do
// before they come to the places, as long as nobody is kept back for longer than
// Patience: a pair whose accesses each task makes once, unordered and without waiting
// for each other, meets in every execution, and each order comes of it in half of them
// (section 3.2 of the paper). A pair that is ordered in other ways than the analysis
// knew that suspected it never meets.
func RaceDirected(options ...StrategyOption) (Strategy, error) {
	return newPicked(strategies.Config{Strategy: strategies.RaceDirected}, "race-directed", options)
}
