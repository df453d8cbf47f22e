package locksets_test

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// A Table and its Tracker report what a thread holds.
func ExampleTracker() {
	table := locksets.NewTable()
	tracker := locksets.NewTracker(table)
	for _, r := range []heisen.Record{
		{Thread: 1, Op: heisen.Acquire, Object: 0x2000},
		{Thread: 1, Op: heisen.AcquireShared, Object: 0x3000},
	} {
		tracker.Handle(&r)
	}
	held := tracker.HeldBy(1)
	fmt.Printf("%#x, exclusively %#x\n", table.Locks(held.Any), table.Locks(held.Exclusive))
	// Output: [0x2000 0x3000], exclusively [0x2000]
}
