package quick_test

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/quick"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestQuick compares the answers with all states of small windows: what the closure refutes is impossible, schedules that replay are
// answers, and most queries have one or the other.
func TestQuick(t *testing.T) {
	var c *quick.Closure
	var s *quick.Scheduler
	var yes, no, refuted, preserving, greedy int
	begin := func(m *model.Model) {
		c = quick.NewClosure(m, model.NewValueSets(m))
		s = quick.NewScheduler(m, c)
	}
	modeltest.Small(t, 600, 11, begin, func(m *model.Model, i, j int, meet bool) {
		q := candidate.Together(m.Node[i], m.Node[j])
		at, rows := c.Mark(), slices.Clone(c.Rows)
		replays := func(nodes []order.Node) bool { return modeltest.ReplayNodes(m, nodes, i, j) == nil }
		possible := c.AddQuery(&q)
		if nodes := s.SyncPreserving(&q); possible && nodes != nil && replays(nodes) {
			preserving++
			if !meet {
				t.Fatalf("records %d and %d meet after %v, but in no state\n%v", i, j, nodes, m.Records)
			}
			if !inObservedOrder(m, nodes) {
				t.Fatalf("%v is not in the observed order", nodes)
			}
		}
		possible = possible && c.Saturate()
		switch {
		case !possible && meet:
			t.Fatalf("records %d and %d meet, and are refuted\n%v", i, j, m.Records)
		case !possible:
			refuted++
		default:
			if nodes := s.Greedy(replays); nodes != nil {
				greedy++
				if !meet {
					t.Fatalf("records %d and %d meet after %v, but in no state\n%v", i, j, nodes, m.Records)
				}
			}
		}
		if c.Undo(at); !slices.Equal(c.Rows, rows) {
			t.Fatal("Undo leaves edges of the query")
		}
		if meet {
			yes++
		} else {
			no++
		}
	})
	t.Logf("%d pairs meet: %d found by sync-preserving, %d by greedy schedules; %d do not: %d refuted", yes, preserving, greedy, no, refuted)
	if yes < 500 || no < 100 || preserving < yes/2 || greedy < yes*8/10 || refuted < no*9/10 {
		t.Errorf("%d pairs meet: %d found by sync-preserving, %d by greedy schedules; %d do not: %d refuted", yes, preserving, greedy, no, refuted)
	}
}

// inObservedOrder reports whether nodes come in the order of their records.
func inObservedOrder(m *model.Model, nodes []order.Node) bool {
	return slices.IsSortedFunc(nodes, func(a, b order.Node) int { return int(m.Event[a] - m.Event[b]) })
}
