package fasttrack

import (
	"math/rand/v2"
	"testing"
)

// TestSpares takes and gives back, in places with spares of their own: nothing is given to two, and
// nothing is lost.
func TestSpares(t *testing.T) {
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 60
	places := [3]*freeCache{new(freeCache), new(freeCache)} // and one without
	taken := map[uint32]bool{}
	var held []uint32
	for step := range 100_000 {
		testFreeCache = places[rng.IntN(len(places))]
		more := step/500%2 == 0 // by turns there are ever more of them, and ever fewer
		if n := len(held); n == 0 || n < most && (rng.IntN(3) != 0) == more {
			i := table.alloc(blocks, maxBlocks)
			if i == 0 || taken[i] {
				t.Fatalf("step %d: %d is taken, of %d", step, i, n)
			}
			taken[i] = true
			held = append(held, i)
		} else {
			k := rng.IntN(n)
			table.free(blocks, held[k])
			delete(taken, held[k])
			held[k] = held[n-1]
			held = held[:n-1]
		}
	}
	if made := table.memory.made[blocks]; made > most+2*freeCacheSize {
		t.Errorf("%d were made for %d", made, most)
	}
}
