package lockset_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
)

// One goroutine increments a counter under its own lock, another under another
// one.
var twoLocks = []heisen.Record{
	{Thread: 0, Op: heisen.Write, Object: 0x1000, Site: 1},
	{Thread: 0, Op: heisen.Fork, Object: 1},
	{Thread: 0, Op: heisen.Fork, Object: 2},
	{Thread: 1, Op: heisen.Acquire, Object: 0x2000},
	{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 10},
	{Thread: 1, Op: heisen.Release, Object: 0x2000},
	{Thread: 2, Op: heisen.Acquire, Object: 0x3000},
	{Thread: 2, Op: heisen.Write, Object: 0x1000, Site: 20},
	{Thread: 2, Op: heisen.Release, Object: 0x3000},
}

func ExampleEraser() {
	detector := lockset.NewEraser(func(f heisen.Finding) {
		fmt.Printf("site %d: %s: %#x\n", f.Accesses[1].Site, f.Message, f.Locks)
	})
	if _, err := heisen.Run(context.Background(), heisen.Slice(twoLocks), detector); err != nil {
		fmt.Println(err)
	}
	// Output: site 20: write without the lock that was held at all accesses since it is shared: [0x2000]
}

func ExampleHybrid() {
	detector := lockset.NewHybrid(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	})
	if _, err := heisen.Run(context.Background(), heisen.Slice(twoLocks), detector); err != nil {
		fmt.Println(err)
	}
	// Output: write may race with write, sites 10 and 20
}

// A Table and its Holds say what a thread holds, for a detector of one's own.
func ExampleTracker() {
	table := lockset.NewTable()
	holds := lockset.NewTracker(table)
	for _, r := range []heisen.Record{
		{Thread: 1, Op: heisen.Acquire, Object: 0x2000},
		{Thread: 1, Op: heisen.AcquireShared, Object: 0x3000},
	} {
		holds.Handle(&r)
	}
	held := holds.HeldBy(1)
	fmt.Printf("%#x, exclusively %#x\n", table.Locks(held.Any), table.Locks(held.Exclusive))
	// Output: [0x2000 0x3000], exclusively [0x2000]
}
