package controlled

import (
	"slices"
	"strings"
	"testing"
)

func TestTestFlags(t *testing.T) {
	for _, test := range []struct{ flags, want string }{
		{"", ""},
		{"-v -run TestA -short", "-test.v -test.run=TestA -test.short"},
		{"--run=TestA -test.count=2", "-test.run=TestA -test.count=2"},
		{"-v -args -x file", "-test.v -x file"},
		{"-race", "error: the go test flag -race cannot be combined with controlled schedules"},
		{"-run", "error: -run needs a value"},
		{"./...", "error: ./... is not a flag of go test; arguments of the tests follow -args"},
	} {
		got, err := TestFlags(strings.Fields(test.flags))
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != test.want {
			t.Errorf("%q: %q, want %q", test.flags, text, test.want)
		}
	}
}

func TestTestArgs(t *testing.T) {
	got := testArgs([]string{"-test.run=Test", "-test.v", "-x", "file"}, "^TestA$")
	want := []string{"-test.paniconexit0", "-test.run=Test", "-test.v", "-test.timeout=0", "-test.run=^TestA$", "-x", "file"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if again := testArgs(want, ""); !slices.Equal(again, want) { // as in a replay
		t.Errorf("the arguments of a schedule become %q, want %q", again, want)
	}
	limited := testArgs([]string{"-test.timeout=0", "-test.timeout=5s"}, "")
	if last := limited[len(limited)-1]; last != "-test.timeout=0" {
		t.Errorf("the time limit is on: %q", limited)
	}
}
