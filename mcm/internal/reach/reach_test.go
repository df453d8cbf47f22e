package reach_test

import (
	"testing"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/internal/reach"
)

// TestReach compares the answers with all states of small windows. Each search serves all queries about its thread.
func TestReach(t *testing.T) {
	var x *moves.Machine
	var searches map[int32]*reach.Search
	var yes, no, found, refuted int
	begin := func(m *model.Model) { x, searches = moves.New(m, modeltest.Never), map[int32]*reach.Search{} }
	modeltest.Small(t, 600, 17, begin, func(m *model.Model, i, j int, meet bool) {
		a, b := m.Node[i], m.Node[j]
		r := searches[m.Chain[a]]
		if r == nil {
			r = reach.New(x, int(m.Chain[a]))
			searches[m.Chain[a]] = r
		}
		for looked := 1; looked > 0; { // in small pieces
			looked = r.Explore(a, 5)
		}
		if r.Refutes(a, b) {
			refuted++
			if meet && x.Exact {
				t.Fatalf("records %d and %d meet, and are refuted\n%v", i, j, m.Records)
			}
		}
		if nodes := r.Witness(a, b); nodes != nil {
			err := modeltest.ReplayNodes(m, nodes, i, j)
			if err == nil && !meet || err != nil && x.Exact {
				t.Fatalf("records %d and %d meet after %v; in some state: %v, replayed: %v\n%v", i, j, nodes, meet, err, m.Records)
			}
			found++
		}
		if meet {
			yes++
		} else {
			no++
		}
	})
	t.Logf("%d pairs meet, %d of them found; %d do not, %d of them refuted", yes, found, no, refuted)
	if yes < 500 || no < 100 || found < yes*6/10 || refuted < no*5/10 {
		t.Errorf("%d pairs meet, %d of them found; %d do not, %d of them refuted", yes, found, no, refuted)
	}
}
