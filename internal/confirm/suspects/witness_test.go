package suspects

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// TestWitnessWithinStep: all events of an operation that is one step have one position. A goroutine that is to stop at a
// later one of them stops before the step.
func TestWitnessWithinStep(t *testing.T) {
	event := func(thread heisen.Thread, seq uint64) heisen.Record {
		return heisen.Record{Op: heisen.AtomicRead, Thread: thread, Value: seq << 32, Flags: recorder.Numbered}
	}
	for _, step := range []uint64{4, 5} { // of the second event of thread 1: another step, or that of the third one
		f := &heisen.Finding{
			Kind: heisen.Atomicity, Accesses: make([]heisen.Access, 2), Last: 2,
			Witness: []heisen.Record{event(2, 3), event(1, step), event(2, 4), event(1, 5), event(2, 5)},
		}
		w := new(orderRecorder).witnessOf(f, 0, "")
		if w == nil {
			t.Fatal("no witness")
		}
		turns := w.turns(false)
		// Both are stopped at their last operations before either makes its own.
		at := map[uint32]uint64{}
		for _, turn := range turns[:len(turns)-2] {
			at[turn.ID] = turn.Until
		}
		last := turns[len(turns)-2:]
		want := []racefuzz.Turn{{ID: 1, Until: 5<<32 + 1}, {ID: 2, Until: 5<<32 + 1}}
		if at[1] != 5<<32 || at[2] != 5<<32 || !slices.Equal(last, want) {
			t.Errorf("step %d: turns %v", step, turns)
		}
	}
}
