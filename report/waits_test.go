package report

import (
	"slices"
	"testing"
)

// TestWaitCycle finds goroutines that wait for each other at locks.
func TestWaitCycle(t *testing.T) {
	blocked := func(reason, object string, held ...Lock) Blocked {
		return Blocked{Reason: reason, Object: object, Locks: held}
	}
	w := func(lock string) Lock { return Lock{Lock: lock, Mode: "write"} }
	r := func(lock string) Lock { return Lock{Lock: lock, Mode: "read"} }
	const mutex, write, read = "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"
	for _, c := range []struct {
		name string
		all  []Blocked
		want []int
	}{
		{"none", nil, nil},
		{"itself", []Blocked{blocked("chan receive", "c"), blocked(mutex, "a", w("a"))}, []int{1}},
		{"two", []Blocked{blocked(mutex, "b", w("a")), blocked(mutex, "a", w("b"))}, []int{0, 1}},
		{"two, and one that waits for them", []Blocked{blocked(mutex, "a"), blocked(mutex, "b", w("a")), blocked(mutex, "a", w("b"))}, []int{1, 2}},
		{"three", []Blocked{blocked(mutex, "b", w("a")), blocked(mutex, "a", w("c")), blocked(mutex, "c", w("b"))}, []int{0, 2, 1}},
		{"a chain", []Blocked{blocked(mutex, "b", w("a")), blocked("chan send", "c", w("b"))}, nil},
		{"a lock with the name of a channel", []Blocked{blocked("chan send", "a", w("a"))}, nil},
		{"an object that is not known", []Blocked{blocked(mutex, "", w(""))}, nil},
		{"a reader behind a writer behind the reader", []Blocked{blocked(read, "a", r("a")), blocked(write, "a")}, []int{0, 1}},
		{"a writer that reads", []Blocked{blocked(write, "a", r("a"))}, []int{0}},
		{"two readers that write", []Blocked{blocked(write, "a", r("b")), blocked(write, "b", r("a"))}, []int{0, 1}},
		{"readers do not wait for readers", []Blocked{blocked(read, "a", r("b")), blocked(read, "b", r("a"))}, nil},
		{"in a bubble", []Blocked{blocked(mutex+" (durable)", "a", w("a"))}, []int{0}},
	} {
		if got := waitCycle(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
