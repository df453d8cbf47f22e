package controlled

import (
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/racefuzz"
)

// Schedules have the public types of package racefuzz, programs under test those of the core that
// is injected into them. These functions convert slices; nil stays nil.

func CoreChoices(choices []racefuzz.Choice) (core []strategies.Choice) {
	for _, c := range choices {
		core = append(core, strategies.Choice(c))
	}
	return core
}

func PublicChoices(core []strategies.Choice) (choices []racefuzz.Choice) {
	for _, c := range core {
		choices = append(choices, racefuzz.Choice(c))
	}
	return choices
}

func CoreTurns(turns []racefuzz.Turn) (core []strategies.Turn) {
	for _, t := range turns {
		core = append(core, strategies.Turn(t))
	}
	return core
}

func publicTurns(core []strategies.Turn) (turns []racefuzz.Turn) {
	for _, t := range core {
		turns = append(turns, racefuzz.Turn(t))
	}
	return turns
}
