package confirm

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestUsualOfEachTest: a test that fails under the default schedule fails so in any executions with it, also if others fail before it
// or end the process.
func TestUsualOfEachTest(t *testing.T) {
	failing := func(name string, all ...string) Outcome {
		return Outcome{Class: TestFailed, Message: name, failed: strings.Join(all, "\n")}
	}
	passed := Outcome{Class: Passed}
	both := failing("TestA", "TestA", "TestB", "TestB/sub")
	b, sub := failing("TestB", "TestB"), failing("TestB/sub", "TestB", "TestB/sub")
	c, panics := failing("TestC", "TestC"), Outcome{Class: Panicked, Message: "a"}
	for name, test := range map[string]struct {
		program Outcome
		alone   *Outcome // of the test of the race
		ending  Outcome
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
		s := &Suspect{Program: &Program{Usual: test.program, units: []*Unit{{Test: "TestB", Alone: test.alone}}}}
		endings := []Ending{{Outcome: test.ending, First: -1, Confirmed: true, Count: 1}}
		if got := harmful(heisen.Race, endings, s.Usual()...); got != test.harmful {
			t.Errorf("%s: harmful %v", name, got)
		}
	}
}
