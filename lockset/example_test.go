package lockset_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
)

// Two goroutines write a counter, each under a lock of its own.
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

// All three detectors run over a trace together.
func Example() {
	sink := lockset.WithSink(func(f heisen.Finding) { fmt.Printf("%s: %s\n", f.Detector, f.Message) })
	eraser, err1 := lockset.NewEraser(sink)
	hybrid, err2 := lockset.NewHybrid(sink, lockset.WithMaxAccesses(64))
	lockOrder, err3 := lockset.NewLockOrder(sink)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(twoLocks), eraser, hybrid, lockOrder); err != nil {
		fmt.Println(err)
	}
	// Output:
	// eraser: write without the lock that was held at all accesses since it became shared
	// hybrid: write may race with write
}

// The finding of an Eraser has the locks that protected the variable before.
func ExampleEraser() {
	detector, err := lockset.NewEraser(lockset.WithSink(func(f heisen.Finding) {
		fmt.Printf("site %d: %s: %#x\n", f.Accesses[1].Site, f.Message, f.Locks)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(twoLocks), detector); err != nil {
		fmt.Println(err)
	}
	// Output: site 20: write without the lock that was held at all accesses since it became shared: [0x2000]
}

func ExampleHybrid() {
	detector, err := lockset.NewHybrid(lockset.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(twoLocks), detector); err != nil {
		fmt.Println(err)
	}
	// Output: write may race with write, sites 10 and 20
}

// Two goroutines take two locks in opposite orders. They did not deadlock this time.
func ExampleLockOrder() {
	const a, b = 0x2000, 0x3000
	trace := []heisen.Record{
		{Thread: 1, Op: heisen.Acquire, Object: a, Site: 10},
		{Thread: 1, Op: heisen.Acquire, Object: b, Site: 11},
		{Thread: 1, Op: heisen.Release, Object: b},
		{Thread: 1, Op: heisen.Release, Object: a},
		{Thread: 2, Op: heisen.Acquire, Object: b, Site: 20},
		{Thread: 2, Op: heisen.Acquire, Object: a, Site: 21},
		{Thread: 2, Op: heisen.Release, Object: a},
		{Thread: 2, Op: heisen.Release, Object: b},
	}
	detector, err := lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) {
		fmt.Println(f.Message)
		for _, acquisition := range f.Accesses {
			fmt.Printf("thread %d waits for %#x at site %d\n", acquisition.Thread, acquisition.Object, acquisition.Site)
		}
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), detector); err != nil {
		fmt.Println(err)
	}
	// Output:
	// two threads can wait for each other's locks
	// thread 1 waits for 0x3000 at site 11
	// thread 2 waits for 0x2000 at site 21
}
