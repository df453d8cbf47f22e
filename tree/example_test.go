package tree_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// loop returns the trace of a goroutine that writes a variable a hundred times under a lock, and of
// another one that writes it without the lock.
func loop() []heisen.Record {
	trace := []heisen.Record{{Thread: 0, Op: heisen.Fork, Object: 1, Site: 10}}
	for range 100 {
		trace = append(trace,
			heisen.Record{Thread: 0, Op: heisen.Acquire, Object: 0x2000, Site: 11},
			heisen.Record{Thread: 0, Op: heisen.Write, Object: 0x1000, Site: 12},
			heisen.Record{Thread: 0, Op: heisen.Release, Object: 0x2000, Site: 13})
	}
	return append(trace, heisen.Record{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 14})
}

// A detector finds the same races behind a filter.
func Example() {
	detector, err := vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	filter, err := tree.NewFilter(detector)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(loop()), filter); err != nil {
		fmt.Println(err)
	}
	s := filter.Stats()
	fmt.Printf("%d of %d accesses were redundant\n", s.DroppedAccesses, s.Accesses)
	// Output:
	// write races with earlier write, sites 12 and 14
	// 99 of 101 accesses were redundant
}

// In front of a detector that compares locksets and orders only by messages, it does not matter which
// thread takes the lock in between.
func ExampleWithMessageOrder() {
	detector, err := lockset.NewHybrid(lockset.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	filter, err := tree.NewFilter(detector, tree.WithMessageOrder(), tree.WithMemory(64<<20))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(loop()), filter); err != nil {
		fmt.Println(err)
	}
	fmt.Println(filter.Stats().DroppedAccesses, "accesses dropped")
	// Output:
	// write may race with write, sites 12 and 14
	// 99 accesses dropped
}

// In front of a detector that reports the first race of a variable, the first
// accesses of a span are enough.
func ExampleNewSpanFilter() {
	trace := []heisen.Record{
		{Thread: 0, Op: heisen.Write, Object: 0x1000, Site: 1},
		{Thread: 0, Op: heisen.Read, Object: 0x1000, Site: 2},
		{Thread: 0, Op: heisen.Write, Object: 0x1000, Site: 3},
	}
	detector, err := vclock.NewFastTrack()
	if err != nil {
		fmt.Println(err)
		return
	}
	filter, err := tree.NewSpanFilter(detector)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), filter); err != nil {
		fmt.Println(err)
	}
	fmt.Println(filter.Stats().DroppedAccesses, "of 3 accesses dropped")
	// Output: 2 of 3 accesses dropped
}
