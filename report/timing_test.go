package report

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestTiming: a report says if the program fails only where a goroutine was held back.
func TestTiming(t *testing.T) {
	late := Ending{Outcome: "panic", Confirmed: true, Count: 1, Timing: true}
	passed := Ending{Outcome: "passed", Confirmed: true, Count: 2}
	early := Ending{Outcome: "test failed", Confirmed: true, Count: 1}
	for _, c := range []struct {
		endings []Ending
		only    bool
	}{
		{[]Ending{late, passed}, true},
		{[]Ending{late, early, passed}, false},
		{[]Ending{early}, false},
	} {
		f := Finding{Kind: heisen.Race, Trials: &Trials{Executions: 3, Confirmed: 3, Harmful: true, Endings: c.endings}}
		var b strings.Builder
		if err := WriteText(&b, &f); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "fails, if a goroutine goes on only after a timer has fired"); got != c.only {
			t.Errorf("%+v: %s", c.endings, b.String())
		}
	}
}
