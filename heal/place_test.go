package heal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// newGraph returns a graph with the given edges.
func newGraph(t *testing.T, n int, edges ...[2]int) *Graph {
	t.Helper()
	g, err := NewGraph(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edges {
		if err := g.AddEdge(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// randomCase is a random graph and a random variable in it.
func randomCase(r *rand.Rand) (*Graph, Variable) {
	n := 2 + r.IntN(9)
	g, _ := NewGraph(n)
	for node := 1; node < n; node++ {
		g.AddEdge(r.IntN(node), node)
	}
	for range r.IntN(n + 3) {
		from, to := r.IntN(n), r.IntN(n)
		if len(g.succs[from]) > 0 || r.IntN(4) == 0 { // so that there are exits
			g.AddEdge(from, to)
		}
	}
	var v Variable
	for node := range n {
		if r.IntN(5) < 2 {
			v.Accesses = append(v.Accesses, Access{node, r.IntN(2) == 0})
		}
	}
	mode := func() Mode { return Mode(1 + 2*r.IntN(2)) }
	if len(v.Accesses) > 0 {
		for range r.IntN(2 * len(v.Accesses)) {
			a, b := v.Accesses[r.IntN(len(v.Accesses))], v.Accesses[r.IntN(len(v.Accesses))]
			v.Pairs = append(v.Pairs, Pair{a.Node, b.Node, mode()})
		}
	}
	for range r.IntN(3) {
		h := Hold{First: r.IntN(n), Second: r.IntN(n), Mode: mode()}
		if r.IntN(2) == 0 {
			h.Ends = []int{r.IntN(n)}
		}
		v.Holds = append(v.Holds, h)
	}
	if r.IntN(3) == 0 {
		v.Calls = append(v.Calls, Call{r.IntN(n), mode()})
	}
	return g, v
}

// holding is what a thread holds a lock for.
type holding struct {
	access, mode int // the latest access that acquired it, and its mode
	holds        map[int]Mode
}

func (h *holding) effective() Mode {
	mode := Mode(h.mode)
	for _, m := range h.holds {
		mode = max(mode, m)
	}
	return mode
}

// walk follows a random path and makes the operations of a placement.
func walk(t *testing.T, r *rand.Rand, g *Graph, v Variable, p *Placement) {
	h := holding{access: -1, holds: map[int]Mode{}}
	last, since := -1, Free  // the latest access, and the weakest mode since
	inHold := map[int]Mode{} // the weakest mode since a hold began
	node := 0
	for steps := 0; ; steps++ {
		before := h.effective()
		for _, a := range p.Acquisitions {
			if a.Node != node {
				continue
			}
			if m := h.effective(); m == Shared && a.Mode > Shared {
				t.Fatalf("a shared lock becomes stronger at node %d", node)
			}
			if a.Hold >= 0 {
				h.holds[a.Hold] = a.Mode
			} else {
				h.access, h.mode = node, max(h.mode, int(a.Mode))
			}
		}
		now := h.effective()
		since = min(since, before, max(before, now))
		// Holds.
		for i, hold := range v.Holds {
			if hold.First == node {
				inHold[i] = now
			}
			weakest, on := inHold[i]
			if on {
				inHold[i] = min(weakest, before, now)
				if hold.First == node {
					inHold[i] = now
				}
				if hold.Second == node && inHold[i] < hold.Mode {
					t.Fatalf("hold %d: %v on the way to its second node", i, inHold[i])
				}
			}
		}
		// Accesses and pairs.
		if i := slices.IndexFunc(v.Accesses, func(a Access) bool { return a.Node == node }); i >= 0 {
			need := Shared
			if v.Accesses[i].Write {
				need = Exclusive
			}
			if now < need {
				t.Fatalf("access of node %d under a %v lock", node, now)
			}
			if last >= 0 {
				if want := profiled(v, last, node); since < want {
					t.Fatalf("pair %d, %d: held %v in between, want %v", last, node, since, want)
				}
			}
			last, since = node, Exclusive
		}
		for _, c := range v.Calls {
			if c.Node == node && now == Shared && c.Mode > Shared {
				t.Fatalf("a call strengthens a shared lock at node %d", node)
			}
		}
		succs := g.successors(node)
		next := succs[r.IntN(len(succs))]
		for _, rel := range p.Releases {
			if rel.From != node || rel.To != next {
				continue
			}
			if rel.Hold >= 0 {
				if _, ok := h.holds[rel.Hold]; !ok && rel.Always {
					t.Fatalf("hold %d is off on the edge %d, %d", rel.Hold, node, next)
				}
				delete(h.holds, rel.Hold)
				continue
			}
			if h.access == rel.Access {
				h.mode = min(h.mode, int(rel.Left))
				if h.mode == 0 {
					h.access = -1
				}
			} else if rel.Always {
				t.Fatalf("not held for access %d on the edge %d, %d", rel.Access, node, next)
			}
		}
		for i, hold := range v.Holds {
			if hold.Second == node || slices.Contains(hold.Ends, node) {
				delete(inHold, i)
			}
		}
		since = min(since, h.effective())
		if next == Exit {
			if m := h.effective(); m != Free {
				t.Fatalf("held %v at the exit", m)
			}
			return
		}
		// The lock is held no longer than some pair or hold needs it.
		if h.mode > 0 && !slices.ContainsFunc(p.Constraints[next], func(c Pair) bool { return c.First == last && c.Mode >= Mode(h.mode) }) {
			t.Fatalf("held %v for access %d on the way to node %d without need", Mode(h.mode), h.access, next)
		}
		if steps > 60 {
			return
		}
		node = next
	}
}

// profiled returns the mode of a pair; Free if it was not profiled.
func profiled(v Variable, first, second int) Mode {
	mode := Mode(255)
	for _, p := range v.Pairs {
		if p.First == first && p.Second == second {
			mode = min(mode, p.Mode)
		}
	}
	if mode == 255 {
		return Free
	}
	return mode
}

// TestPlaceRandom follows random paths through random graphs, and checks at each step that the lock is held as
// pairs, accesses and holds need it, and no longer.
func TestPlaceRandom(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 1))
		g, v := randomCase(r)
		p, err := Place(g, v)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("succs %v\nvariable %+v\nplacement %+v", g.succs, v, p)
				}
			}()
			for range 20 {
				walk(t, r, g, v, p)
			}
		})
		if t.Failed() {
			return
		}
	}
}
