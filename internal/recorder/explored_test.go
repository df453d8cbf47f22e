package recorder

import (
	"reflect"
	"testing"

	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/dpor"
)

// TestSteps reads a log of steps in two messages.
func TestSteps(t *testing.T) {
	s := &Stream{}
	for _, words := range [][]uint64{
		{wire.ExploreEnabled | 3, wire.ExploreChosen | 3, wire.ExploreUse | 1<<56 | 0xc000010000, wire.ExploreUse | 8, wire.ExploreCase | 3<<32 | 2, wire.ExploreEnabled | 4},
		{wire.ExploreEnabled | 3, wire.ExploreChosen | 1<<32 | 4, wire.ExploreEnd | wire.UnsureRandom | wire.UnsureMain},
	} {
		if err := s.addSteps(words); err != nil {
			t.Fatal(err)
		}
	}
	x := s.execution.Explored
	want := []ExploredStep{
		{Enabled: []uint32{3}, Step: dpor.Step{Task: 3, Uses: []dpor.Use{{Object: 0xc000010000, Mode: dpor.Read}, {Object: 8, Mode: dpor.Write}}}, Ready: 3, Case: 2},
		{Enabled: []uint32{4, 3}, Step: dpor.Step{Task: 4, Since: 1}},
	}
	if !reflect.DeepEqual(x.Steps, want) || !x.Complete() || x.Doubts != DrawsNumbers || !x.MainSynchronizes {
		t.Errorf("%+v", x)
	}
}

// TestBadSteps: what no program sends is an error.
func TestBadSteps(t *testing.T) {
	for name, words := range map[string][]uint64{
		"a use before the first step":  {wire.ExploreUse | 8},
		"a step of the future":         {wire.ExploreChosen | 1<<32 | 3},
		"an unknown doubt":             {wire.ExploreEnd | 1<<20},
		"an unknown flag":              {wire.ExploreEnd | 1<<33},
		"words after the end":          {wire.ExploreEnd, wire.ExploreEnabled | 3},
		"a case before the first step": {wire.ExploreCase | 2<<32},
		"a case beyond the last one":   {wire.ExploreChosen | 3, wire.ExploreCase | 2<<32 | 2},
		"a single case":                {wire.ExploreChosen | 3, wire.ExploreCase | 1<<32},
		"two choices of a case":        {wire.ExploreChosen | 3, wire.ExploreCase | 2<<32, wire.ExploreCase | 2<<32},
		"an unknown word":              {7 << 60},
		"nothing":                      {0},
	} {
		if err := (&Stream{}).addSteps(words); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	s := &Stream{}
	if err := s.addSteps([]uint64{wire.ExploreEnd | 1<<32}); err != nil || s.execution.Explored.Complete() {
		t.Errorf("goroutines that could go on: %v", err)
	}
}
