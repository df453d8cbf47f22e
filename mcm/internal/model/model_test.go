package model_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// TestSameEdges: equal windows have models with the same edges, in the same order. The solver's work
// depends on them, so findings would depend on chance otherwise.
func TestSameEdges(t *testing.T) {
	edges := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, symbols := windowtest.RandomWindow(rng, windowtest.RandomShape(rng, 60))
		rules := window.DefaultRules()
		if symbols != nil {
			rules.Reach = func(r *heisen.Record) heisen.Objects { return symbols.Reach(r.Reach()) }
		}
		build := func() *model.Model {
			m, err := model.New(w, rules)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		first := build()
		edges += len(first.Edges) + len(first.ReadsFrom)
		for range 3 {
			again := build()
			if !slices.Equal(first.Edges, again.Edges) || !slices.Equal(first.ReadsFrom, again.ReadsFrom) {
				t.Fatalf("window %d: the edges differ:\n%v %v\n%v %v", seed, first.Edges, first.ReadsFrom, again.Edges, again.ReadsFrom)
			}
		}
	}
	if edges == 0 {
		t.Fatal("no window has edges")
	}
}
