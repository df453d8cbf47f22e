package racetag

import (
	"slices"
	"testing"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct{ tags, want []string }{
		{nil, []string{"race"}},
		{[]string{"a", "b"}, []string{"race", "a", "b"}},
		{[]string{"!race"}, nil},
		{[]string{"a", "!race", "b"}, []string{"a", "b"}},
	} {
		if got := Add(c.tags); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("Add(%q) = %q, want %q", c.tags, got, c.want)
		}
	}
}
