package vclock_test

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// Objects and threads of the rules below.
const (
	x    heisen.Object = 0x1000 // the variable that is written and read
	conn heisen.Object = 0x2000 // the channel, lock or flag
	slot heisen.Object = 0x2040 // a second one

	main  heisen.Thread = 0
	g     heisen.Thread = 1
	other heisen.Thread = 2
)

func do(t heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
	return heisen.Record{Thread: t, Op: op, Object: o}
}

func write(t heisen.Thread) heisen.Record { return do(t, heisen.Write, x) }
func read(t heisen.Thread) heisen.Record  { return do(t, heisen.Read, x) }
func start(t heisen.Thread) heisen.Record { return do(main, heisen.Fork, heisen.Object(t)) }

// TestGoMemoryModel goes through the rules of go.dev/ref/mem and of package
// sync. Each has an execution that the rule orders and one that it does not,
// usually because the same steps are taken in an order in which the rule says
// nothing.
func TestGoMemoryModel(t *testing.T) {
	for _, rule := range []struct {
		name     string
		ordered  []heisen.Record
		declined []heisen.Record
	}{
		{
			"a go statement comes before what its goroutine does",
			[]heisen.Record{write(main), start(g), read(g)},
			[]heisen.Record{start(g), write(main), read(g)},
		},
		{
			"a goroutine's exit by itself comes before nothing",
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, conn), do(g, heisen.End, 0), do(main, heisen.Receive, conn), read(main)},
			[]heisen.Record{start(g), write(g), do(g, heisen.End, 0), read(main)},
		},
		{
			"a send comes before the end of its receive",
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, conn), do(main, heisen.Receive, conn), read(main)},
			[]heisen.Record{start(g), do(g, heisen.Send, conn), write(g), do(main, heisen.Receive, conn), read(main)},
		},
		{
			"a send comes before the end of its own receive only",
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, slot), do(main, heisen.Receive, slot), read(main)},
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, slot), do(main, heisen.Receive, conn), read(main)},
		},
		{
			"a close comes before a receive that learns of it",
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, conn), do(main, heisen.Receive, conn), read(main)},
			[]heisen.Record{start(g), do(main, heisen.Receive, conn), write(g), do(g, heisen.Send, conn), read(main)},
		},
		{
			"a close comes before every receive that learns of it",
			[]heisen.Record{write(main), start(g), start(other), do(main, heisen.Send, conn), do(g, heisen.Receive, conn), do(other, heisen.Receive, conn), read(g), read(other)},
			[]heisen.Record{start(g), start(other), write(main), do(main, heisen.Send, conn), do(g, heisen.Receive, conn), read(g), read(other)},
		},
		{
			"a receive from an unbuffered channel comes before the end of the send",
			// The goroutine that arrives second publishes for both: the
			// receiver through one object, the sender through another.
			[]heisen.Record{start(g), write(g), do(g, heisen.Send, slot), do(main, heisen.Send, conn), do(g, heisen.Receive, conn), do(main, heisen.Receive, slot), read(main)},
			[]heisen.Record{start(g), write(g), do(main, heisen.Send, conn), do(g, heisen.Receive, conn), read(main)},
		},
		{
			"the k-th receive comes before the end of send k+C",
			// A buffered channel is its C slots; a send takes its slot over
			// from the receive that emptied it. Here C is 1.
			[]heisen.Record{start(g), do(main, heisen.Send, slot), write(g), do(g, heisen.Receive, slot), do(g, heisen.Send, slot), do(main, heisen.Receive, slot), do(main, heisen.Send, slot), read(main)},
			[]heisen.Record{start(g), do(main, heisen.Send, slot), do(main, heisen.Receive, conn), do(main, heisen.Send, conn), write(g), do(g, heisen.Receive, slot), do(g, heisen.Send, slot), read(main)},
		},
		{
			"an unlock comes before the return of a later lock",
			[]heisen.Record{start(g), do(g, heisen.Acquire, conn), write(g), do(g, heisen.Release, conn), do(main, heisen.Acquire, conn), read(main), do(main, heisen.Release, conn)},
			[]heisen.Record{start(g), do(main, heisen.Acquire, conn), read(main), do(main, heisen.Release, conn), write(g), do(g, heisen.Acquire, conn), do(g, heisen.Release, conn)},
		},
		{
			"an unlock of one lock says nothing to another",
			[]heisen.Record{start(g), do(g, heisen.Acquire, slot), write(g), do(g, heisen.Release, slot), do(main, heisen.Acquire, slot), read(main), do(main, heisen.Release, slot)},
			[]heisen.Record{start(g), do(g, heisen.Acquire, slot), write(g), do(g, heisen.Release, slot), do(main, heisen.Acquire, conn), read(main), do(main, heisen.Release, conn)},
		},
		{
			"an unlock comes before the return of a later read lock",
			[]heisen.Record{start(g), do(g, heisen.Acquire, conn), write(g), do(g, heisen.Release, conn), do(main, heisen.AcquireShared, conn), read(main), do(main, heisen.ReleaseShared, conn)},
			[]heisen.Record{start(g), do(g, heisen.Acquire, conn), do(g, heisen.Release, conn), write(g), do(main, heisen.AcquireShared, conn), read(main), do(main, heisen.ReleaseShared, conn)},
		},
		{
			"a read unlock comes before the return of the next lock",
			[]heisen.Record{start(g), do(g, heisen.AcquireShared, conn), read(g), do(g, heisen.ReleaseShared, conn), do(main, heisen.Acquire, conn), write(main), do(main, heisen.Release, conn)},
			[]heisen.Record{start(g), do(g, heisen.AcquireShared, conn), do(g, heisen.ReleaseShared, conn), read(g), do(main, heisen.Acquire, conn), write(main), do(main, heisen.Release, conn)},
		},
		{
			"read locks are not ordered with each other",
			[]heisen.Record{start(g), do(g, heisen.AcquireShared, conn), read(g), do(g, heisen.ReleaseShared, conn), do(main, heisen.AcquireShared, conn), read(main), do(main, heisen.ReleaseShared, conn)},
			[]heisen.Record{start(g), do(g, heisen.AcquireShared, conn), write(g), do(g, heisen.ReleaseShared, conn), do(main, heisen.AcquireShared, conn), read(main), do(main, heisen.ReleaseShared, conn)},
		},
		{
			"the end of Once's function comes before the return of every Do",
			[]heisen.Record{start(g), write(g), do(g, heisen.AtomicWrite, conn), do(main, heisen.AtomicRead, conn), read(main)},
			[]heisen.Record{start(g), do(main, heisen.AtomicRead, conn), write(g), do(g, heisen.AtomicWrite, conn), read(main)},
		},
		{
			"every Done comes before the return of the Wait it unblocks",
			[]heisen.Record{start(g), start(other), write(other), do(other, heisen.Send, conn), do(g, heisen.Send, conn), do(main, heisen.Receive, conn), read(main)},
			[]heisen.Record{start(g), start(other), do(other, heisen.Send, conn), write(other), do(g, heisen.Send, conn), do(main, heisen.Receive, conn), read(main)},
		},
		{
			"Done orders nothing between those that are done",
			[]heisen.Record{start(g), start(other), write(other), do(other, heisen.Send, conn), do(g, heisen.Receive, conn), read(g)},
			[]heisen.Record{start(g), start(other), write(other), do(other, heisen.Send, conn), do(g, heisen.Send, conn), read(g)},
		},
		{
			"an atomic operation comes before one that observes its effect",
			[]heisen.Record{start(g), write(g), do(g, heisen.AtomicWrite, conn), do(main, heisen.AtomicRead, conn), read(main)},
			[]heisen.Record{start(g), do(g, heisen.AtomicWrite, conn), write(g), do(main, heisen.AtomicRead, conn), read(main)},
		},
		{
			"an atomic update comes before one that observes its effect",
			[]heisen.Record{start(g), write(g), do(g, heisen.AtomicUpdate, conn), do(main, heisen.AtomicUpdate, conn), read(main)},
			[]heisen.Record{start(g), write(g), do(g, heisen.AtomicRead, conn), do(main, heisen.AtomicUpdate, conn), read(main)},
		},
		{
			"updates pass on what they observe, a store hides it",
			[]heisen.Record{start(g), start(other), write(g), do(g, heisen.AtomicUpdate, conn), do(other, heisen.AtomicUpdate, conn), do(main, heisen.AtomicRead, conn), read(main)},
			[]heisen.Record{start(g), start(other), write(g), do(g, heisen.AtomicWrite, conn), do(other, heisen.AtomicWrite, conn), do(main, heisen.AtomicRead, conn), read(main)},
		},
		{
			"atomic operations race with plain accesses only",
			[]heisen.Record{start(g), do(g, heisen.AtomicWrite, x), do(main, heisen.AtomicWrite, x), do(g, heisen.AtomicUpdate, x), do(main, heisen.AtomicRead, x)},
			[]heisen.Record{start(g), do(g, heisen.AtomicWrite, x), read(main)},
		},
		{
			"a plain write races with an atomic load",
			[]heisen.Record{start(g), do(g, heisen.AtomicRead, x), read(main)},
			[]heisen.Record{start(g), do(g, heisen.AtomicRead, x), write(main)},
		},
		{
			"setting a finalizer comes before its run",
			[]heisen.Record{start(g), write(main), do(main, heisen.Send, x), do(g, heisen.Receive, x), read(g)},
			[]heisen.Record{start(g), do(main, heisen.Send, x), write(main), do(g, heisen.Receive, x), read(g)},
		},
		{
			"memory that is given anew has no past",
			[]heisen.Record{start(g), write(g), {Thread: main, Op: heisen.Alloc, Object: x - 8, Value: 16}, read(main)},
			[]heisen.Record{start(g), write(g), {Thread: main, Op: heisen.Alloc, Object: x + 8, Value: 16}, read(main)},
		},
		{
			"a lock that is given anew orders nothing that was done before",
			[]heisen.Record{start(g), write(g), {Thread: g, Op: heisen.Alloc, Object: conn, Value: 8}, do(g, heisen.Release, conn), do(main, heisen.Acquire, conn), read(main)},
			[]heisen.Record{start(g), write(g), do(g, heisen.Release, conn), {Thread: main, Op: heisen.Alloc, Object: conn, Value: 8}, do(main, heisen.Acquire, conn), read(main)},
		},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for _, detector := range []func(heisen.Sink) heisen.Detector{fastTrack, reference} {
				if found, err := findingsOf(rule.ordered, detector); len(found) != 0 || err != nil {
					t.Errorf("ordered, but reported: %+v, %v", found, err)
				}
				if found, err := findingsOf(rule.declined, detector); len(found) != 1 || err != nil {
					t.Errorf("not ordered, want one finding: %+v, %v", found, err)
				}
			}
		})
	}
}
