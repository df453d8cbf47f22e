package modeltest

import (
	"iter"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/internal/reach"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/mcm/order"
)

// Never returns false. It is for searches that are not interrupted.
func Never() bool { return false }

// ModelOf returns the model of a window.
func ModelOf(t testing.TB, w *window.Window) *model.Model {
	t.Helper()
	m, err := model.New(w, window.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// FewThreads returns the model of a random window, and the name of its profile. Every other seed gives
// the profile hot, whose reads have many choices.
func FewThreads(t testing.TB, threads, events int, seed uint64) (m *model.Model, name string) {
	t.Helper()
	name = []string{"hot", "mixed", "hot", "locky"}[seed%4]
	p := workload.Params{Threads: threads, Events: events, Seed: seed}
	if name != "hot" {
		p.Vars = 4
	}
	return ModelOf(t, &window.Window{Records: windowtest.Profiles[name](p)}), name
}

// CandidatePairs returns the pairs of records that may race.
func CandidatePairs(m *model.Model) (pairs [][2]int) {
	candidate.Races(m, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
		pairs = append(pairs, [2]int{int(c.Records[0]), int(c.Records[1])})
	})
	return pairs
}

// Answers yields the pairs of records that may race, with the verdicts of searches with one thread
// held back, or of a solver where these have no answer.
func Answers(t testing.TB, m *model.Model, solver func(*model.Query) (model.Verdict, []order.Node, error)) iter.Seq2[[2]int, model.Verdict] {
	return func(yield func([2]int, model.Verdict) bool) {
		x := moves.New(m, Never)
		if !x.Exact {
			t.Fatal("the states of the model are not exact")
		}
		reaches := map[int32]*reach.Search{}
		for _, p := range CandidatePairs(m) {
			a, b := m.Node[p[0]], m.Node[p[1]]
			r := reaches[m.Chain[a]]
			if r == nil {
				r = reach.New(x, int(m.Chain[a]))
				reaches[m.Chain[a]] = r
			}
			r.Explore(a, 1<<22)
			verdict := model.Unknown
			if r.Refutes(a, b) {
				verdict = model.Impossible
			} else if nodes := r.Witness(a, b); nodes != nil && ReplayNodes(m, nodes, p[0], p[1]) == nil {
				verdict = model.Possible
			}
			if verdict == model.Unknown {
				var err error
				if verdict, _, err = solver(&model.Query{Pending: []order.Node{a, b}}); err != nil || verdict == model.Unknown {
					t.Fatalf("the solver has no answer for %v: %v", p, err)
				}
			}
			if !yield(p, verdict) {
				return
			}
		}
	}
}

// ReplayNodes replays the nodes before the goal, after which two records must be pending.
func ReplayNodes(m *model.Model, nodes []order.Node, i, j int) error {
	prefix := make([]int, len(nodes))
	for k, n := range nodes {
		prefix[k] = int(m.Event[n])
	}
	x := window.NewThreads(m.Records).Witness(prefix, []int{i, j})
	return replay.New(m.Window, m.Rules).Replay(x)
}

// CheckReplay ends a test if ReplayNodes returns an error.
func CheckReplay(t testing.TB, m *model.Model, nodes []order.Node, i, j int) {
	t.Helper()
	if err := ReplayNodes(m, nodes, i, j); err != nil {
		t.Fatal(err)
	}
}
