package explore_test

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/explore"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/quick"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestExplore compares the answers with all states of small windows, whatever earlier queries have left in the store.
func TestExplore(t *testing.T) {
	var c *quick.Closure
	var x *explore.Explorer
	var yes, no, near, known int
	begin := func(m *model.Model) {
		c = quick.NewClosure(m, model.NewValueSets(m))
		x = explore.New(m, c.Rows, modeltest.Never)
	}
	modeltest.Small(t, 600, 13, begin, func(m *model.Model, i, j int, meet bool) {
		q := candidate.Together(m.Node[i], m.Node[j])
		at := c.Mark()
		defer c.Undo(at)
		if !c.AddQuery(&q) {
			return
		}
		check := func(how string, nodes []order.Node) bool {
			if nodes == nil {
				return false
			}
			err := modeltest.ReplayNodes(m, nodes, i, j)
			if err == nil && !meet || err != nil && x.Exact {
				t.Fatalf("%s: records %d and %d meet after %v; in some state: %v, replayed: %v\n%v", how, i, j, nodes, meet, err, m.Records)
			}
			return err == nil
		}
		if check("store", slices.Clone(x.Witness(&q))) {
			known++
		}
		if check("near", slices.Clone(x.Near(&q, 100))) {
			near++
		}
		verdict, nodes := x.All(&q, 1<<20)
		found := check("all states", slices.Clone(nodes))
		if x.Exact && (verdict != model.Possible) == meet || verdict == model.Impossible && meet {
			t.Fatalf("records %d and %d: verdict %v, meet in some state: %v\n%v", i, j, verdict, meet, m.Records)
		}
		switch {
		case found:
			yes++
		case !meet:
			no++
		}
	})
	t.Logf("%d pairs meet: %d near the observed order, %d known before; %d do not", yes, near, known, no)
	if yes < 300 || no < 30 || near < yes/2 || known < yes/10 {
		t.Errorf("%d pairs meet: %d near the observed order, %d known before; %d do not", yes, near, known, no)
	}
}

// TestBudget: a search with few states expands no more, and has no answer that it does not know.
func TestBudget(t *testing.T) {
	m, _ := modeltest.FewThreads(t, 6, 300, 4)
	c := quick.NewClosure(m, model.NewValueSets(m))
	x := explore.New(m, c.Rows, modeltest.Never)
	const states = 20
	unknown, answered := 0, 0
	for _, p := range modeltest.CandidatePairs(m) {
		q := candidate.Together(m.Node[p[0]], m.Node[p[1]])
		at := c.Mark()
		if !c.AddQuery(&q) {
			t.Fatalf("%v are ordered", p)
		}
		before := x.Expanded
		verdict, nodes := x.All(&q, states)
		if x.Expanded > before+states || verdict == model.Impossible || (verdict == model.Possible) != (nodes != nil) {
			t.Fatalf("%v: %d states, verdict %v", p, x.Expanded-before, verdict)
		}
		c.Undo(at)
		if verdict == model.Unknown {
			unknown++
		} else {
			answered++
		}
	}
	if unknown < 50 || answered < 50 {
		t.Errorf("%d queries answered, %d not", answered, unknown)
	}
}
