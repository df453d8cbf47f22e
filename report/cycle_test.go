package report

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestCycleNames: a name stands alone in a cycle if no other lock of the report has it.
func TestCycleNames(t *testing.T) {
	f := &heisen.Finding{Kind: heisen.Deadlock, Accesses: []heisen.Access{
		{Op: heisen.Acquire, Thread: 1, Object: 2}, {Op: heisen.Acquire, Thread: 2, Object: 1},
	}}
	access := func(wants, object, holds, lock string) Access {
		return Access{Variable: wants, Object: object, Locks: []Lock{{Variable: holds, Lock: lock}}}
	}
	for name, test := range map[string]struct {
		accesses []Access
		want     []string
	}{
		"held by the same names":      {[]Access{access("b", "0x2", "a", "0x1"), access("a", "0x1", "b", "0x2")}, []string{"a", "b", "a"}},
		"held by other names":         {[]Access{access("b", "0x2", "c", "0x1"), access("a", "0x1", "d", "0x2")}, []string{"a", "b", "a"}},
		"held by the other's name":    {[]Access{access("l", "0x2", "l", "0x1"), access("mu", "0x1", "c", "0x2")}, []string{"mu", "l 0x2", "mu"}},
		"wanted by one name":          {[]Access{access("b", "0x2", "a", "0x1"), access("b", "0x1", "a", "0x2")}, []string{"b 0x1", "b 0x2", "b 0x1"}},
		"without names":               {[]Access{access("", "0x2", "", "0x1"), access("", "0x1", "", "0x2")}, []string{"0x1", "0x2", "0x1"}},
		"one without a name, as held": {[]Access{access("", "0x2", "", "0x1"), access("a", "0x1", "b", "0x2")}, []string{"a", "0x2", "a"}},
	} {
		if got := cycle(f, test.accesses); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
