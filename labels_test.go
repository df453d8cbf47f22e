package heisen_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
)

func TestLabels(t *testing.T) {
	s := heisen.NewSymbols()
	set := []heisen.Label{{Key: "a", Value: "1"}, {Key: "b", Value: ""}}
	first := s.AddLabels(set)
	second := s.AddLabels(set[:1])
	set[0].Value = "changed"
	if got, want := s.Labels(first), []heisen.Label{{Key: "a", Value: "1"}, {Key: "b"}}; !cmp.Equal(got, want) {
		t.Errorf("the first set is %v, want %v", got, want)
	}
	if got, want := s.Labels(second), []heisen.Label{{Key: "a", Value: "1"}}; !cmp.Equal(got, want) {
		t.Errorf("the second set is %v, want %v", got, want)
	}
	if got := s.AddLabels(nil); got != 0 {
		t.Errorf("the empty set has number %d", got)
	}
	for _, unknown := range []heisen.Labels{0, second + 1} {
		if got := s.Labels(unknown); got != nil {
			t.Errorf("set %d is %v", unknown, got)
		}
	}
	var none *heisen.Symbols
	if none.AddLabels(set) != 0 || none.Labels(first) != nil {
		t.Error("the nil table has labels")
	}
}
