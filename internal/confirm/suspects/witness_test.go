package suspects

import (
	"math/rand/v2"
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
			Witness: []heisen.Record{event(2, 3), event(1, step), event(2, 4), event(1, 5), event(2, 5)}, Positions: []uint64{1, 2, 3, 4, 5},
		}
		var order orderRecorder
		for i := range f.Witness {
			order.handle(&f.Witness[i])
		}
		w := order.witnessOf(f, 0, "")
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

// TestOrder: the recorder has the order of any number of first events, with the last position of each turn.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var c orderRecorder
	var all []racefuzz.Position
	at := map[uint32]uint64{}
	task := uint32(1)
	for range 5000 {
		if rng.IntN(10) == 0 {
			task = 1 + rng.Uint32N(3)
		}
		r := heisen.Record{Op: heisen.Write, Thread: heisen.Thread(task), Flags: recorder.Numbered}
		switch rng.IntN(6) {
		case 0:
			r.Flags = 0
		case 1: // the next operation
			at[task] = (at[task]>>32+1)<<32 + uint64(rng.IntN(3))
		case 2: // one much later
			at[task] += uint64(rng.IntN(1 << 40))
		case 3:
			at[task] += uint64(rng.IntN(300))
		case 4:
			at[task]++
		}
		r.Value = at[task]
		c.handle(&r)
		all = append(all, positionOf(&r))
	}
	for i, want := range all {
		if got := c.at(uint64(i) + 1); got != want {
			t.Fatalf("event %d is at %v, want %v", i+1, got, want)
		}
	}
	for n := 0; n <= len(all); n += 1 + rng.IntN(40) {
		if got, want := c.first(n), appendPositions(nil, all[:n]); !slices.Equal(got, want) {
			t.Fatalf("the first %d events: %d positions, want %d", n, len(got), len(want))
		}
	}
}
