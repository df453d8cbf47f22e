package recorder

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestObjectGraph: calls reach what objects point to when they begin, whenever the
// recorder has said so.
func TestObjectGraph(t *testing.T) {
	const function, a, b, c = testText + 0x100, 0xc000000000, 0xc000000100, 0xc000000200
	rec := message(helloMessage(), wire.MsgObjects, 0,
		0, 0, 1, varBase, // the variables of hidden packages
		varBase, 8, 0,
		a, 16, 1, b,
		b, 32, 0,
		wire.GraphUntil, 0, 0,
		a, 16, 1, c, // a points elsewhere from stamp 2 on
		c, 64, 0,
		wire.GraphUntil, 2, 0)
	rec = message(rec, wire.MsgWords, 0,
		word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan),
		word(wire.OpRoot, a), word(wire.OpHide, function), 0, 0, wire.Follow,
		word(wire.OpReveal, function), 1, 0,
		word(wire.OpRoot, a), word(wire.OpRoot, b), word(wire.OpHide, function), 2, 0, wire.Follow,
		word(wire.OpReveal, function), 3, 0,
		word(wire.OpHide, function), 4, 0, wire.Follow,
		word(wire.OpReveal, function), 5, 0,
		word(wire.OpRoot, 0xc000000300), word(wire.OpHide, function), 6, 0, wire.Follow,
		word(wire.OpReveal, function), 7, 0)
	rec = message(rec, wire.MsgBye, 0, 0, 8)
	s, out := streamed(t, rec)
	variable := heisen.Span{Start: varBase, Len: 8}
	want := []heisen.Objects{
		heisen.NewObjects(variable, heisen.Span{Start: a, Len: 16}, heisen.Span{Start: b, Len: 32}),
		heisen.NewObjects(variable, heisen.Span{Start: a, Len: 16}, heisen.Span{Start: b, Len: 32}, heisen.Span{Start: c, Len: 64}),
		heisen.NewObjects(variable),
		s.Symbols().Reach(0), // of that object nothing is known
	}
	for _, r := range out {
		if r.Op != heisen.Hide {
			continue
		}
		if got := s.Symbols().Reach(r.Reach()); !slices.Equal(got, want[0]) {
			t.Errorf("a call reaches %v, want %v", got, want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("%d calls are missing", len(want))
	}
}

// TestObjectGraphSearch compares sets with those of a search that remembers nothing, on
// graphs that change.
func TestObjectGraphSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		g, symbols := newObjectGraph(), heisen.NewSymbols()
		g.limit = 12
		const most = 16
		points := map[uint64][]uint64{}
		for stamp := range uint64(40) {
			for range rng.IntN(3) {
				from := rng.Uint64N(most)
				var to []uint64
				for range rng.IntN(3) {
					to = append(to, (1+rng.Uint64N(most-1))*8)
				}
				points[from*8] = to
				g.updates = append(g.updates, update{stamp: stamp + 1, start: from * 8, size: min(from, 1) * 8, targets: to})
			}
			var roots []uint64
			for range rng.IntN(3) {
				roots = append(roots, (1+rng.Uint64N(most-1))*8)
			}
			seen, list, all := map[uint64]bool{0: true}, []uint64{0}, true
			for _, r := range roots {
				if !seen[r] {
					seen[r], list = true, append(list, r)
				}
			}
			for i := 0; i < len(list); i++ {
				to, ok := points[list[i]]
				all = all && ok
				for _, o := range to {
					if !seen[o] {
						seen[o], list = true, append(list, o)
					}
				}
			}
			want := symbols.Reach(0)
			if all && len(list) <= g.limit+1 {
				var spans []heisen.Span
				for _, o := range list[1:] {
					spans = append(spans, heisen.Span{Start: heisen.Object(o), Len: 8})
				}
				want = heisen.NewObjects(spans...)
			}
			if got := symbols.Reach(g.reach(symbols, roots, stamp)); !slices.Equal(got, want) {
				t.Fatalf("roots %v reach %v, want %v", roots, got, want)
			}
		}
	}
}
