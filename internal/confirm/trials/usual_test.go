package trials

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
)

// TestUsualOfEachTest: a test that fails under the default schedule fails so in any executions with it, also if others fail before it
// or end the process.
func TestUsualOfEachTest(t *testing.T) {
	failing := func(name string, all ...string) controlled.Outcome {
		return controlled.Outcome{Class: controlled.TestFailed, Message: name, Tests: strings.Join(all, "\n")}
	}
	passed := controlled.Outcome{Class: controlled.Passed}
	both := failing("TestA", "TestA", "TestB", "TestB/sub")
	b, sub := failing("TestB", "TestB"), failing("TestB/sub", "TestB", "TestB/sub")
	c, panics := failing("TestC", "TestC"), controlled.Outcome{Class: controlled.Panicked, Message: "a"}
	for name, test := range map[string]struct {
		program controlled.Outcome
		alone   *controlled.Outcome // of the test of the race
		ending  controlled.Outcome
		harmful bool
	}{
		"another test fails first":       {both, nil, b, false},
		"a subtest":                      {both, nil, sub, false},
		"a test that passes by default":  {both, nil, c, true},
		"another test ends the process":  {panics, &b, b, false},
		"and the test passes by default": {panics, &passed, b, true},
		"nothing is known of the test":   {panics, nil, b, true},
		"the test passes among others":   {both, nil, passed, false},
	} {
		s := &suspects.Suspect{Program: &controlled.Program{Usual: test.program, Units: []*controlled.Unit{{Test: "TestB", Alone: test.alone}}}}
		endings := []Ending{{Outcome: test.ending, First: -1, Confirmed: true, Count: 1}}
		if got := harmful(heisen.Race, endings, s.Usual()...); got != test.harmful {
			t.Errorf("%s: harmful %v", name, got)
		}
	}
}
