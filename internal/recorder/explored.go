package recorder

import (
	"slices"

	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/dpor"
)

// Explored has the steps of an execution, as package internal/dpor needs them.
type Explored struct {
	Steps []ExploredStep
	// Unfinished means that goroutines could still continue when the program ended.
	Unfinished bool
	// Doubts are reasons why other executions of the program may be possible than those that other
	// choices of goroutines lead to.
	Doubts Doubts
	// MainSynchronizes means that code of the program synchronizes on the main goroutine. In a test binary,
	// package testing always does.
	MainSynchronizes bool

	enabled []uint32 // of the next step
	waits   int      // how often time has passed instead of a step
	ended   bool
}

// Complete reports whether the steps were received to the end, and no goroutine could make another one.
func (x *Explored) Complete() bool { return x.ended && !x.Unfinished }

// ExploredStep is a step and the tasks that could have made one instead.
type ExploredStep struct {
	Enabled []uint32
	Step    dpor.Step
	// Ready is the number of ready cases of the select statement in this step, if there were several, and
	// Case is the number of the one that was taken, from 0, in the order of their text.
	Ready, Case uint32
}

// Doubts is a set of things that a program does.
type Doubts uint32

const (
	ReadsTime     Doubts = wire.UnsureTime      // it reads the clock, sleeps or sets a timer
	DrawsNumbers  Doubts = wire.UnsureRandom    // it draws random numbers: to range over a map, by package math/rand, or for a select statement that Schedule.Explore does not decide
	CountsRunning Doubts = wire.UnsureCount     // it calls runtime.NumGoroutine
	RunsFinalizer Doubts = wire.UnsureFinalizer // finalizers or cleanups run

	allDoubts = ReadsTime | DrawsNumbers | CountsRunning | RunsFinalizer
)

// objectBits is the number of bits of an object in a use.
const objectBits = 56

// addSteps adds words of the log of steps.
func (s *Stream) addSteps(words []uint64) error {
	if s.execution.Explored == nil {
		s.execution.Explored = &Explored{}
	}
	x := s.execution.Explored
	for _, w := range words {
		const arguments = 1<<60 - 1
		task := uint32(w)
		switch last := len(x.Steps) - 1; {
		case x.ended:
			return s.corrupt("a step after the end")
		case w&^arguments == wire.ExploreEnabled:
			if slices.Contains(x.enabled, task) { // the strategy has let time pass, and is asked again
				x.enabled, x.waits = nil, x.waits+1
			}
			x.enabled = append(x.enabled, task)
		case w&^arguments == wire.ExploreChosen:
			since := w & arguments >> 32
			if since > uint64(len(x.Steps)+x.waits) {
				return s.corrupt("step %d was possible since step %d", len(x.Steps), since)
			}
			since = min(since, uint64(len(x.Steps)))
			x.Steps = append(x.Steps, ExploredStep{Enabled: x.enabled, Step: dpor.Step{Task: task, Since: int(since)}})
			x.enabled = nil
		case w&^arguments == wire.ExploreUse && last >= 0:
			step := &x.Steps[last].Step
			step.Uses = append(step.Uses, dpor.Use{Object: w & (1<<objectBits - 1), Mode: dpor.Mode(w & arguments >> objectBits)})
		case w&^arguments == wire.ExploreCase && last >= 0 && x.Steps[last].Ready == 0 && w&arguments>>32 > uint64(max(task, 1)):
			x.Steps[last].Case, x.Steps[last].Ready = task, uint32(w&arguments>>32)
		case w&^arguments == wire.ExploreEnd && w&arguments>>33 == 0 && uint32(w)&^(uint32(allDoubts)|wire.UnsureMain) == 0:
			x.ended, x.Unfinished, x.Doubts, x.MainSynchronizes = true, w>>32&1 != 0, Doubts(w)&allDoubts, w&wire.UnsureMain != 0
			if x.waits > 0 {
				x.Doubts |= ReadsTime
			}
		default:
			return s.corrupt("%#x in the steps", w)
		}
	}
	return nil
}
