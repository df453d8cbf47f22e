package strategies

import (
	"fmt"
	"slices"
	"testing"
)

// write returns a write to an address.
func write(addr uint64) step { return step{kind: Access, addr: addr, write: true} }

// TestPOS checks probabilities that follow from the algorithm.
func TestPOS(t *testing.T) {
	const seeds = 12000
	// A task keeps its priority while the other one makes 11 steps that do not concern it, each with a
	// priority of its own: 1/12. A random walk would need 1/2048.
	long := []step{}
	for i := range uint64(10) {
		long = append(long, step{kind: Sync, addr: 1000 + i})
	}
	last := 0
	for seed := range uint64(seeds) {
		s := run(t, Config{Strategy: POS, Seed: seed}, append(slices.Clone(long), write(8)), []step{write(8)})
		if s.order[len(s.order)-1] == 1 {
			last++
		}
	}
	if last < 1000-152 || last > 1000+152 { // five standard deviations
		t.Errorf("a task waits for 11 steps in %d of %d executions, want about %d", last, seeds, seeds/12)
	}
	// All orders of three writes to the same memory are equally likely.
	orders := map[string]int{}
	for seed := range uint64(seeds) {
		s := run(t, Config{Strategy: POS, Seed: seed}, []step{write(8)}, []step{write(8)}, []step{write(8)})
		orders[fmt.Sprint(s.order)]++
	}
	for order, n := range orders {
		if n < 2000-205 || n > 2000+205 {
			t.Errorf("order %s in %d of %d executions, want about %d", order, n, seeds, seeds/6)
		}
	}
	if len(orders) != 6 {
		t.Errorf("%d orders, want 6", len(orders))
	}
}

// TestPOSYields: a task that spins until another one has acted yields, and the other one continues.
func TestPOSYields(t *testing.T) {
	for seed := range uint64(200) {
		s := run(t, Config{Strategy: POS, Seed: seed}, repeat(1000, step{kind: Yield}), []step{write(8)})
		if s.order[0] != 1 {
			t.Fatalf("seed %d: a task that yields goes before another one", seed)
		}
	}
}
