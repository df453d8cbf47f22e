package confirm

import (
	"strings"
	"syscall"
	"testing"
)

func exited(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }

func TestOutcome(t *testing.T) {
	for _, test := range []struct {
		name   string
		status syscall.WaitStatus
		output string
		want   Outcome
	}{
		{"passes", exited(0), "panic: in its log only\n", Outcome{Class: Passed}},
		{"panic", exited(2), "start\npanic: ERROR1\n\ngoroutine 7 [running]:\n", Outcome{Panicked, "ERROR1"}},
		{"panic again", exited(2), "panic: one [recovered]\n\tpanic: two\n", Outcome{Panicked, "one"}},
		{"the same panic again", exited(2), "panic: one [recovered, repanicked]\n", Outcome{Panicked, "one"}},
		{"panic in a test", exited(2), "--- FAIL: TestA (0.00s)\npanic: boom\n", Outcome{Panicked, "boom"}},
		{"deadlock", exited(2), "fatal error: all goroutines are asleep - deadlock!\n", Outcome{Deadlocked, "all goroutines are asleep"}},
		{"map", exited(2), "fatal error: concurrent map writes\n", Outcome{Fatal, "concurrent map writes"}},
		{"test", exited(1), "=== RUN TestA\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\nFAIL\n", Outcome{TestFailed, "TestA/sub"}},
		{"two tests", exited(1), "--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n", Outcome{TestFailed, "TestA"}},
		{"exit", exited(3), "sorry\n", Outcome{Exited, "status 3"}},
		{"the word only", exited(1), "panic: said log\n", Outcome{Exited, "status 1"}},
		{"signal", syscall.WaitStatus(syscall.SIGSEGV), "", Outcome{Killed, "segmentation fault"}},
	} {
		if got := outcomeOf(test.status, []byte(test.output)); got != test.want {
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
	a := Outcome{Panicked, "index 5 out of range [5] at 0xc000012"}
	if !a.Same(Outcome{Panicked, "index 7 out of range [3] at 0xc0000ff"}) {
		t.Error("numbers count")
	}
	if a.Same(Outcome{Panicked, "index out of range"}) || a.Same(Outcome{Fatal, a.Message}) {
		t.Error("different outcomes are the same")
	}
}
