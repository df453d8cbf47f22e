package mcm

import (
	"iter"
	"os"
	"strconv"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// count returns how many random cases a test looks at: few, unless the environment
// variable HEISEN_MCM_CASES says how many.
func count(t testing.TB, few int) int { return amount(t, "HEISEN_MCM_CASES", few) }

// amount returns the number in an environment variable, few if it is not set.
func amount(t testing.TB, variable string, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

var profiles = map[string]func(workload.Params) []heisen.Record{
	"mixed": workload.Mixed, "hot": workload.Hot, "locky": workload.Locky,
}

// never is for searches that are not interrupted.
func never() bool { return false }

// modelOf returns the model of a window.
func modelOf(t testing.TB, w *window.Window) *causal {
	t.Helper()
	m, err := newCausal(w, window.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fewThreads returns the model of a window, of which half are hot, and the name of its kind.
func fewThreads(t testing.TB, threads, events int, seed uint64) (m *causal, name string) {
	t.Helper()
	name = []string{"hot", "mixed", "hot", "locky"}[seed%4]
	p := workload.Params{Threads: threads, Events: events, Seed: seed}
	if name != "hot" {
		p.Vars = 4
	}
	return modelOf(t, &window.Window{Records: profiles[name](p)}), name
}

// pairsToAsk returns the pairs of records that are worth a query.
func pairsToAsk(m *causal) (pairs [][2]int) {
	racePairs(m, func(places) bool { return true }, func(c candidate) {
		pairs = append(pairs, [2]int{int(c.at[0]), int(c.at[1])})
	})
	return pairs
}

// answers returns, by pair of accesses, what searches with one thread held back say of a window and,
// where they say nothing, a solver.
func answers(t testing.TB, m *causal, solver func(*query) (outcome, []order.Node, error)) iter.Seq2[[2]int, outcome] {
	return func(yield func([2]int, outcome) bool) {
		x := newMoves(m, never)
		if !x.exact {
			t.Fatal("states do not say all that matters")
		}
		reaches := map[int32]*reach{}
		for _, p := range pairsToAsk(m) {
			a, b := m.node[p[0]], m.node[p[1]]
			r := reaches[m.chain[a]]
			if r == nil {
				r = newReach(x, int(m.chain[a]))
				reaches[m.chain[a]] = r
			}
			r.explore(a, 1<<22)
			verdict := unknown
			if r.never(a, b) {
				verdict = impossible
			} else if nodes := r.meeting(a, b); nodes != nil && replayNodes(m, nodes, p[0], p[1]) == nil {
				verdict = possible
			}
			if verdict == unknown {
				var err error
				if verdict, _, err = solver(&query{next: []order.Node{a, b}}); err != nil || verdict == unknown {
					t.Fatalf("the solver says nothing of %v: %v", p, err)
				}
			}
			if !yield(p, verdict) {
				return
			}
		}
	}
}

// replayNodes replays the nodes up to where two records are next.
func replayNodes(m *causal, nodes []order.Node, i, j int) error {
	prefix := make([]int, len(nodes))
	for k, n := range nodes {
		prefix[k] = int(m.event[n])
	}
	x := window.NewThreads(m.records).Witness(prefix, []int{i, j})
	return replay.New(m.window, m.Rules).Replay(x)
}

// checkReplay ends a test if the nodes up to where two records are next do not replay.
func checkReplay(t testing.TB, m *causal, nodes []order.Node, i, j int) {
	t.Helper()
	if err := replayNodes(m, nodes, i, j); err != nil {
		t.Fatal(err)
	}
}
