package waitreason

import (
	"testing"

	"github.com/heisen-go/heisen"
)

func TestOp(t *testing.T) {
	for reason, want := range map[string]heisen.Op{
		"chan send":               heisen.Send,
		"chan send (nil chan)":    heisen.Send,
		"chan receive":            heisen.Receive,
		"select":                  heisen.Receive,
		"select (no cases)":       heisen.Receive,
		"sync.Mutex.Lock":         heisen.Acquire,
		"sync.RWMutex.Lock":       heisen.Acquire,
		"sync.RWMutex.RLock":      heisen.AcquireShared,
		"sync.WaitGroup.Wait":     heisen.Receive,
		"sync.Mutex.Lock (scans)": heisen.Acquire,
	} {
		if got := Op(reason); got != want {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
}
