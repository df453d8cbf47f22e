package controlled

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/report"
)

func exited(code int) ending { return ending{code: code} }

func TestOutcome(t *testing.T) {
	for _, test := range []struct {
		name   string
		status ending
		output string
		want   Outcome
	}{
		{"passes", exited(0), "panic: in its log only\n", Outcome{Class: Passed}},
		{"panic", exited(2), "start\npanic: ERROR1\n\ngoroutine 7 [running]:\n", Outcome{Class: Panicked, Message: "ERROR1"}},
		{"panic again", exited(2), "panic: one [recovered]\n\tpanic: two\n", Outcome{Class: Panicked, Message: "one"}},
		{"the same panic again", exited(2), "panic: one [recovered, repanicked]\n", Outcome{Class: Panicked, Message: "one"}},
		{"panic in a test", exited(2), "--- FAIL: TestA (0.00s)\npanic: boom\n", Outcome{Class: Panicked, Message: "boom"}},
		{"deadlock", exited(2), "fatal error: all goroutines are asleep - deadlock!\n", Outcome{Class: Deadlocked, Message: "all goroutines are asleep"}},
		{"map", exited(2), "fatal error: concurrent map writes\n", Outcome{Class: Fatal, Message: "concurrent map writes"}},
		{"test", exited(1), "=== RUN TestA\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\nFAIL\n", Outcome{Class: TestFailed, Message: "TestA/sub"}},
		{"two tests", exited(1), "--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n", Outcome{Class: TestFailed, Message: "TestA"}},
		{"exit", exited(3), "sorry\n", Outcome{Class: Exited, Message: "status 3"}},
		{"the word only", exited(1), "panic: said log\n", Outcome{Class: Exited, Message: "status 1"}},
		{"signal", ending{by: processes.Signal(syscall.SIGSEGV)}, "", Outcome{Class: Killed, Message: "segmentation fault"}},
	} {
		got := outcomeOf(test.status, []byte(test.output))
		if got.Tests = ""; got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestOutcomeIsOneLine(t *testing.T) {
	long := "panic: a\tb\x80 " + strings.Repeat("é", maxMessage) + "\n"
	got := outcomeOf(exited(2), []byte(long))
	if !strings.HasPrefix(got.Message, "a b? é") || len(got.Message) > maxMessage+len("…") || !strings.HasSuffix(got.Message, "é…") {
		t.Errorf("%q", got.Message)
	}
}

func TestSame(t *testing.T) {
	a := Outcome{Class: Panicked, Message: "index 5 out of range [5] at 0xc000012"}
	if !a.Same(Outcome{Class: Panicked, Message: "index 7 out of range [3] at 0xc0000ff"}) {
		t.Error("numbers count")
	}
	if a.Same(Outcome{Class: Panicked, Message: "index out of range"}) || a.Same(Outcome{Class: Fatal, Message: a.Message}) {
		t.Error("different outcomes are the same")
	}
	stuck := func(at ...string) Outcome {
		var blocked []report.Blocked
		for _, function := range at {
			name := fmt.Sprint("name ", len(blocked))
			blocked = append(blocked, report.Blocked{Reason: "chan send", Variable: name, Start: 10, Stack: []report.Frame{{Func: function, File: "/x.go", Line: 12}}})
		}
		return Outcome{Class: Deadlocked, Message: "no goroutine can go on", Waits: waitsOf(blocked)}
	}
	for _, other := range []Outcome{stuck("f", "g"), stuck("g", "f"), stuck("g"), stuck("f", "f", "g", "h"), stuck()} {
		if a := stuck("f", "g"); !a.Same(other) || !other.Same(a) {
			t.Errorf("%q and %q differ", a.Waits, other.Waits)
		}
	}
	if stuck("f", "g").Same(stuck("f", "h")) || stuck("f").Same(stuck("g")) {
		t.Error("goroutines that wait elsewhere are the same")
	}
	p := &Program{Package: "p"}
	if NewFailure(p, stuck("f")).Fingerprint == NewFailure(p, stuck("g")).Fingerprint || NewFailure(p, stuck("f", "g")).Fingerprint != NewFailure(p, stuck("g", "f", "f")).Fingerprint {
		t.Error("the fingerprint of a deadlock is not that of its places")
	}
	at := func(line, start int) string {
		return waitsOf([]report.Blocked{{Reason: "chan send", Start: start, Stack: []report.Frame{{Func: "f", File: "/x.go", Line: line}}}})
	}
	if at(12, 10) != at(32, 30) || at(12, 10) == at(13, 10) || at(12, 0) == at(13, 0) {
		t.Error("places are not counted from where functions begin")
	}
}

// TestSameFailure: failures at one place are the same, whatever a program says there. What the runtime says counts.
func TestSameFailure(t *testing.T) {
	at := func(place, message string, ownText bool) Outcome {
		return Outcome{Class: Panicked, Message: message, Place: place, OwnText: ownText}
	}
	for _, test := range []struct {
		a, b Outcome
		same bool
	}{
		{at("p", "order abc", true), at("p", "order cba", true), true},
		{at("p", "order abc", true), at("q", "order abc", true), false},
		{at("p", "index out of range [3] with length 0", false), at("p", "index out of range [1] with length 0", false), true},
		{at("p", "index out of range [3] with length 0", false), at("p", "close of closed channel", false), false},
		{at("p", "order abc", true), at("", "order abc", false), true},
		{at("p", "order abc", true), Outcome{Class: Exited, Message: "order abc", Place: "p"}, false},
	} {
		if test.a.Same(test.b) != test.same || test.b.Same(test.a) != test.same {
			t.Errorf("%+v and %+v: want same %v", test.a, test.b, test.same)
		}
		p := &Program{Package: "p"}
		if a, b := NewFailure(p, test.a), NewFailure(p, test.b); test.b.Place != "" && (a.Fingerprint == b.Fingerprint) != test.same {
			t.Errorf("%+v and %+v: fingerprints %s, %s", test.a, test.b, a.Fingerprint, b.Fingerprint)
		}
	}
}

// TestMessages finds the messages of a failed test in what package testing prints.
func TestMessages(t *testing.T) {
	for name, test := range map[string]struct{ printed, test, want string }{
		"below":        {"--- FAIL: TestA (0.00s)\n    a_test.go:1: one\n        more\n--- FAIL: TestB (0.00s)\n    a_test.go:2: two\nFAIL\n", "TestA", "a_test.go:1: one|more"},
		"a subtest":    {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n        a_test.go:1: one\n    a_test.go:3: later\nFAIL\n", "TestA/sub", "a_test.go:1: one"},
		"verbose":      {"=== RUN   TestA\n    a_test.go:1: one\n=== RUN   TestB\n    a_test.go:2: two\n--- FAIL: TestB (0.00s)\n--- FAIL: TestA (0.00s)\n", "TestA", "a_test.go:1: one"},
		"none":         {"--- FAIL: TestA (0.00s)\nFAIL\n", "TestA", ""},
		"other output": {"start\n--- FAIL: TestA (0.00s)\n    a_test.go:1: one\nexit status 1\n    not this\n", "TestA", "a_test.go:1: one"},
	} {
		if got := strings.Join(messagesOf([]byte(test.printed), test.test), "|"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestOfLateUse knows the panics of package testing.
func TestOfLateUse(t *testing.T) {
	for message, want := range map[string]bool{
		"Log in goroutine after TestA has completed: x": true,
		"Fail in goroutine after has completed":         true,
		"Output called after TestA/b has completed":     true,
		"Write called after TestA has completed":        true,
		"it has completed":                              false,
		"Log in goroutine":                              false,
	} {
		if got := OfLateUse(Outcome{Class: Panicked, Message: message}); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
	if OfLateUse(Outcome{Class: TestFailed, Message: "Log in goroutine after TestA has completed"}) {
		t.Error("a failed test")
	}
}
