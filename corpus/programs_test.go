package corpus

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestPrograms has at least four programs in each class, and no two with the same name.
func TestPrograms(t *testing.T) {
	programs, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	number, names := map[string]int{}, map[string]bool{}
	for _, p := range programs {
		number[p.Class]++
		if names[p.Class+p.Test] {
			t.Errorf("%s: two programs are called %s", p.Class, p.Test)
		}
		names[p.Class+p.Test] = true
	}
	for _, class := range Classes() {
		if number[class] < 4 {
			t.Errorf("%s has %d programs", class, number[class])
		}
	}
}

// TestReadProgram reads comments that say what is expected, and refuses what it cannot understand.
func TestReadProgram(t *testing.T) {
	const twins = "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { %s }\n\nfunc TestAFixed(t *testing.T) {}\n"
	for _, test := range []struct {
		comment string // in the body of the test
		wants   []Want // none if the file is refused
	}{
		{"\n// want race\n", []Want{{Kind: heisen.Race, Line: 6}}},
		{"\n\nprintln() // want leak, deadlock\n", []Want{{Kind: heisen.Leak, Line: 7}, {Kind: heisen.Deadlock, Line: 7}}},
		{"\n// want failure \"closed channel\"\n", []Want{{Kind: heisen.Failure, Line: 6, Text: "closed channel"}}},
		{"", nil},
		{"\n// want accident\n", nil},
		{"\n// want failure\n", nil},
		{"\n// want race \"closed channel\"\n", nil},
		{"\n// want failure closed\n", nil},
	} {
		p, err := readProgram("p_test.go", []byte(strings.Replace(twins, "%s", test.comment, 1)))
		if (err == nil) != (test.wants != nil) || err == nil && !slices.Equal(p.Wants, test.wants) {
			t.Errorf("%q: %v, error %v", test.comment, p.Wants, err)
		}
	}
}

// TestReadProgramTwins refuses a file without a fixed twin.
func TestReadProgramTwins(t *testing.T) {
	const text = "package p\n\nimport \"testing\"\n\n// want race\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n"
	if _, err := readProgram("p_test.go", []byte(text)); err == nil {
		t.Error("a file without a fixed twin is accepted")
	}
}

// TestExpects distinguishes findings by kind, file, line and message.
func TestExpects(t *testing.T) {
	p := &Program{Class: "mutex", File: "a_test.go", Wants: []Want{
		{Kind: heisen.Race, Line: 7}, {Kind: heisen.Deadlock, Line: 9}, {Kind: heisen.Failure, Line: 11, Text: "closed channel"},
	}}
	at := func(file string, line int) [][]report.Frame {
		return [][]report.Frame{{{File: "/src/x/other.go", Line: 1}, {File: file, Line: line}}}
	}
	for _, test := range []struct {
		what    string
		kind    heisen.Kind
		message string
		stacks  [][]report.Frame
		want    bool
	}{
		{"a race at the line", heisen.Race, "", at("/src/mutex/a_test.go", 7), true},
		{"a race at another line", heisen.Race, "", at("/src/mutex/a_test.go", 9), false},
		{"a race in another file", heisen.Race, "", at("/src/mutex/b_test.go", 7), false},
		{"a race in another folder", heisen.Race, "", at("/src/cond/a_test.go", 7), false},
		{"a leak where a race is wanted", heisen.Leak, "", at("/src/mutex/a_test.go", 7), false},
		{"a deadlock", heisen.Deadlock, "", at("/src/mutex/a_test.go", 9), true},
		{"a stuck program", heisen.Failure, "deadlock: no goroutine can go on", at("/src/mutex/a_test.go", 9), true},
		{"a program stuck elsewhere", heisen.Failure, "deadlock: no goroutine can go on", at("/src/mutex/a_test.go", 8), false},
		{"the failure", heisen.Failure, "panic: close of closed channel", nil, true},
		{"another failure", heisen.Failure, "panic: nil map", nil, false},
	} {
		f := report.Finding{Kind: test.kind, Message: test.message}
		for _, stack := range test.stacks {
			if test.kind == heisen.Failure {
				f.Blocked = append(f.Blocked, report.Blocked{Stack: stack})
			} else {
				f.Accesses = append(f.Accesses, report.Access{Stack: stack})
			}
		}
		if got := p.Expects(&f); got != test.want {
			t.Errorf("%s: expected %v", test.what, got)
		}
	}
}
