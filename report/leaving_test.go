package report

import "testing"

// TestDecidesLeaks: a bug decides what executions leave behind if all of one order do and none of another one.
func TestDecidesLeaks(t *testing.T) {
	zero, one := 0, 1
	of := func(first *int, confirmed bool, count, leaks int) Ending {
		return Ending{Outcome: "passed", Confirmed: confirmed, First: first, Count: count, Leaks: leaks}
	}
	for _, test := range []struct {
		name    string
		endings []Ending
		want    bool
	}{
		{"none", []Ending{of(&zero, true, 3, 0), of(&one, true, 3, 0)}, false},
		{"one order", []Ending{of(&zero, true, 3, 3), of(&one, true, 3, 0)}, true},
		{"only with the bug", []Ending{of(nil, true, 3, 3), of(nil, false, 3, 0)}, true},
		{"only without the bug", []Ending{of(nil, true, 3, 0), of(nil, false, 3, 3)}, false},
		{"always", []Ending{of(&zero, true, 3, 3), of(&one, true, 3, 3)}, false},
		{"sometimes", []Ending{of(&zero, true, 3, 2), of(&one, true, 3, 0)}, false},
		{"both orders at times", []Ending{of(&zero, true, 3, 3), of(&one, true, 3, 1)}, false},
		{"one order, which ends in two ways", []Ending{of(&zero, true, 3, 3), of(&zero, true, 1, 0), of(&one, true, 3, 0)}, false},
	} {
		if got := (&Trials{Endings: test.endings}).decidesLeaks(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
