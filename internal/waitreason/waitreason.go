// Package waitreason says what goroutines wait for, by the words of the runtime.
package waitreason

import (
	"strings"

	"github.com/heisen-go/heisen"
)

var ops = map[string]heisen.Op{
	"chan send":          heisen.Send,
	"sync.Mutex.Lock":    heisen.Acquire,
	"sync.RWMutex.Lock":  heisen.Acquire,
	"sync.RWMutex.RLock": heisen.AcquireShared,
}

// Op returns the operation that a goroutine waits to complete, by its reason to wait, such as "chan send",
// which may have a remark in parentheses. All others than locks and sends wait for some kind of message.
func Op(reason string) heisen.Op {
	name, _, _ := strings.Cut(reason, " (")
	if op, known := ops[name]; known {
		return op
	}
	return heisen.Receive
}
