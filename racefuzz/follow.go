package racefuzz

import (
	"slices"

	"github.com/heisen-go/heisen/internal/pick"
)

// Follow lets the tasks of order go on one after the other, one for each step, and then
// goes on as RaceDirected. As long as the next one cannot, others do, by default; after
// Patience steps it is passed over. The strategy is a Diverger.
//
// Promise: an order in which the program can run is the order in which it does. So the
// witness of a predicted race leads to its two accesses.
func Follow(order []uint32, options ...StrategyOption) (Strategy, error) {
	return newPicked(pick.Config{Strategy: pick.Follow, Order: slices.Clone(order)}, "follow", options)
}
