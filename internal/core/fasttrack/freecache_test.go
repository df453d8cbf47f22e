package fasttrack

import (
	"math/rand/v2"
	"testing"
)

// TestFreeCache allocates and frees, with several free caches: no element has two holders and none
// is lost.
func TestFreeCache(t *testing.T) {
	if err := ReserveMemory(); err != nil {
		t.Fatal(err)
	}
	var table Table
	rng := rand.New(rand.NewPCG(1, 2))
	const most = 60
	places := [3]*freeCache{new(freeCache), new(freeCache)} // and none
	taken := map[uint32]bool{}
	var held []uint32
	for step := range 100_000 {
		testFreeCache = places[rng.IntN(len(places))]
		more := step/500%2 == 0 // the number of elements grows and shrinks in turn
		if n := len(held); n == 0 || n < most && (rng.IntN(3) != 0) == more {
			i := table.alloc(blocks, maxBlocks)
			if i == 0 || taken[i] {
				t.Fatalf("step %d: %d is in use, of %d", step, i, n)
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
		t.Errorf("%d were allocated for %d", made, most)
	}
}
