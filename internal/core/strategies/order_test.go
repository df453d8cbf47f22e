package strategies

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestOrder compares Order with the order of the operations on each object: two executions of a random
// program have the same hash if and only if all these orders are the same.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tasks := make([][]step, 2+rng.IntN(2))
		for i := range tasks {
			for range 1 + rng.IntN(4) {
				addr := 8 * (1 + rng.Uint64N(3))
				tasks[i] = append(tasks[i], []step{write(addr), {kind: Sync, addr: addr}, {kind: Lock, addr: addr}, {kind: Resume}}[rng.IntN(4)])
			}
		}
		hashes, projections := map[string]uint64{}, map[uint64]string{}
		for seed := range uint64(300) {
			s := run(t, Config{Seed: seed}, tasks...)
			byObject := map[uint64][]uint32{}
			at := make([]int, len(tasks))
			for _, id := range s.order {
				x := tasks[id][at[id]]
				at[id]++
				if x.kind != Resume {
					byObject[x.addr] = append(byObject[x.addr], id)
				}
			}
			projection, hash := fmt.Sprint(byObject), s.scheduler.Order
			if h, known := hashes[projection]; known && h != hash {
				t.Fatalf("%v: two hashes of %s", tasks, projection)
			}
			if p, known := projections[hash]; known && p != projection {
				t.Fatalf("%v: %s and %s have the same hash", tasks, p, projection)
			}
			hashes[projection], projections[hash] = hash, projection
		}
	}
}

// TestVariation: it changes choices, and not the random numbers of the program.
func TestVariation(t *testing.T) {
	orders := map[string]bool{}
	numbers := map[uint64]bool{}
	for v := range uint64(50) {
		s := run(t, Config{Seed: 3, Variation: v}, repeat(4, plain), repeat(4, plain))
		orders[fmt.Sprint(s.order)] = true
		numbers[s.scheduler.Random()] = true
	}
	if len(orders) < 20 || len(numbers) != 1 {
		t.Errorf("%d orders and %d random numbers in 50 variations", len(orders), len(numbers))
	}
}
