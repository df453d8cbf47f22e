package atomicity

import (
	"sync"
	"sync/atomic"
	"testing"
)

// An issuer numbers tickets.
type issuer struct{ last atomic.Int64 }

// next loads and stores atomically, but not both at once.
func (i *issuer) next() int64 {
	n := i.last.Load() + 1
	i.last.Store(n)
	return n
}

func (i *issuer) nextAtOnce() int64 { return i.last.Add(1) }

func issue(t *testing.T, next func(*issuer) int64) {
	var i issuer
	var numbers sync.Map
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			n := next(&i)
			if _, taken := numbers.LoadOrStore(n, true); taken {
				t.Errorf("ticket %d was issued twice", n) // want failure "test failed: TestTickets"
			}
		})
	}
	wg.Wait()
}

// TestTickets issues three tickets at the same time.
func TestTickets(t *testing.T) { issue(t, (*issuer).next) }

func TestTicketsFixed(t *testing.T) { issue(t, (*issuer).nextAtOnce) }
