package scc_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/scc"
)

// TestComponents compares the components of random graphs with their definition.
func TestComponents(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(9)
		edges := make([][]int, n)
		reach := make([][]bool, n)
		for v := range n {
			reach[v] = make([]bool, n)
			reach[v][v] = true
			for range rng.IntN(3) {
				w := rng.IntN(n)
				edges[v] = append(edges[v], w)
				reach[v][w] = true
			}
		}
		for k := range n {
			for v := range n {
				for w := range n {
					reach[v][w] = reach[v][w] || reach[v][k] && reach[k][w]
				}
			}
		}
		of := make([]int, n)
		seen := 0
		for i, component := range scc.Components(n, func(v int) []int { return edges[v] }) {
			if !slices.IsSorted(component) {
				t.Fatalf("seed %d: %v is not sorted", seed, component)
			}
			seen += len(component)
			for _, v := range component {
				of[v] = i
			}
		}
		if seen != n {
			t.Fatalf("seed %d: %d nodes of %d", seed, seen, n)
		}
		for v := range n {
			for w := range n {
				if together := reach[v][w] && reach[w][v]; together != (of[v] == of[w]) || reach[v][w] && of[w] > of[v] {
					t.Fatalf("seed %d: nodes %d and %d of %v are in the components %d and %d", seed, v, w, edges, of[v], of[w])
				}
			}
		}
	}
}
