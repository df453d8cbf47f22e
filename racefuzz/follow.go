package racefuzz

import (
	"slices"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Follow lets tasks go on by turns, one after the other, and then goes on as RaceDirected,
// but by default where that would choose at random. As long as a task cannot go on whose
// turn it is, others do; after Patience steps, 1024 unless said, the turn is passed over.
// The strategy is a Diverger.
//
// Promise: an order in which the program can run is the order in which it does. So the
// witness of a predicted race leads to its two accesses.
func Follow(turns []Turn, options ...StrategyOption) (Strategy, error) {
	return newPicked(strategies.Config{Strategy: strategies.Follow, Turns: slices.Clone(turns)}, "follow", options)
}
