package modeltest

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// Small calls check for the pairs of conflicting records in random windows of all shapes, with the answer that the enumeration
// of all reachable states gives. There are so many windows as windowtest.Count says for few. begin is called with the
// model of a window before its pairs.
func Small(t testing.TB, few int, seed uint64, begin func(*model.Model), check func(m *model.Model, i, j int, meet bool)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range windowtest.Count(t, few) {
		shape := windowtest.RandomShape(rng, 16)
		w, _ := windowtest.RandomWindow(rng, shape)
		m, e := ModelOf(t, w), windowtest.Enumerate(w, window.DefaultRules())
		begin(m)
		for _, p := range windowtest.RacyPairs(w) {
			if m.Node[p[0]] != model.None && m.Node[p[1]] != model.None {
				check(m, p[0], p[1], e.Together(nil, p[0], p[1]))
			}
		}
	}
}
