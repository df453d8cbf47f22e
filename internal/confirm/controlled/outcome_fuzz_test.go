package controlled

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heisen-go/heisen/internal/processes"
)

// FuzzOutcome: whatever a program prints, and however it ends, its outcome is a short message on one line
// of valid text, and a program that ends with status 0 has passed.
func FuzzOutcome(f *testing.F) {
	f.Add(uint32(2<<8), []byte("panic: boom [recovered]\n\tpanic: again\n\ngoroutine 1 [running]:\n"))
	f.Add(uint32(1<<8), []byte("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n"))
	f.Add(uint32(2<<8), []byte("fatal error: all goroutines are asleep - deadlock!\n"))
	f.Add(uint32(9), []byte("fatal error: \xff\x1b[2J"))
	f.Add(uint32(0), []byte("panic: x"))
	f.Fuzz(func(t *testing.T, status uint32, printed []byte) {
		ended := ending{code: int(status >> 8 & 0xff), by: processes.Signal(status & 0x7f)}
		o := outcomeOf(ended, printed)
		if strings.ContainsAny(o.Message, "\n\r") || len(o.Message) > maxMessage+len("…") && o.Class != TestFailed {
			t.Errorf("message %q", o.Message)
		}
		if o.Class != TestFailed && !utf8.ValidString(o.Message) {
			t.Errorf("message %q is no text", o.Message)
		}
		if passed := ended == (ending{}); passed != (o.Class == Passed) {
			t.Errorf("status %#x is %v", status, o.Class)
		}
	})
}
