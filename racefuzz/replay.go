package racefuzz

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Replay makes the default choice but at the steps of choices, which ascend; see
// Choice. The strategy is a Diverger.
//
// Promise: the choices of an execution (Result.Choices) and its seed give the same
// execution again, whichever strategy it was, of a program that depends on nothing else.
// The seed matters only to a program that draws random numbers.
func Replay(choices []Choice) (Strategy, error) {
	for i := 1; i < len(choices); i++ {
		if choices[i].Step <= choices[i-1].Step {
			return nil, fmt.Errorf("%w: choice %d is of step %d, after one of step %d", ErrConfig, i, choices[i].Step, choices[i-1].Step)
		}
	}
	return newPicked(strategies.Config{Strategy: strategies.Replay, Choices: slices.Clone(choices)}, "replay", nil)
}
