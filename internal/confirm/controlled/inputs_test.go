package controlled

import (
	"testing"

	"github.com/heisen-go/heisen/internal/recorder"
)

// TestMayBeMeasured: what a program measures after its only failing test has failed does not count, and what a
// collection frees counts only if the program has asked for one.
func TestMayBeMeasured(t *testing.T) {
	const (
		collection, goroutines = recorder.MeasuredCollection, recorder.MeasuredGoroutines
		one                    = "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n"
		two                    = one + "--- FAIL: TestB (0.00s)\n"
	)
	for _, test := range []struct {
		class           Class
		printed         string
		before, kinds   recorder.MeasuredKinds
		failed, doubted bool
	}{
		{TestFailed, one, 0, goroutines, true, false},
		{TestFailed, one, 0, Freed, true, false},
		{TestFailed, one, collection, Freed, true, false},
		{TestFailed, one, Freed, Freed, true, true},
		{TestFailed, one, goroutines, Freed | goroutines, true, true},
		{TestFailed, one, 0, Freed, false, true}, // it is not known when it failed
		{TestFailed, two, 0, Freed, true, true},  // the other test may have failed first
		{TestFailed, "", 0, Freed, true, true},   // the output is not complete
		{Panicked, one, 0, Freed, true, true},
		{TestFailed, one, 0, 0, true, false},
	} {
		e := &Execution{Output: []byte(test.printed)}
		e.Execution.Measured = recorder.Measured{Kinds: test.kinds, Failed: test.failed, Before: test.before}
		if test.kinds != 0 {
			e.Measured = "something"
		}
		if got := (Outcome{Class: test.class, Message: "TestA/b"}).MayBeMeasured(e); got != test.doubted {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
