package vclock_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// A goroutine writes a variable that its parent reads without waiting for it.
func Example() {
	trace := []heisen.Record{
		{Thread: 0, Op: heisen.Fork, Object: 1, Site: 10},
		{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 11},
		{Thread: 0, Op: heisen.Read, Object: 0x1000, Site: 12},
	}
	detector, err := vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), detector); err != nil {
		fmt.Println(err)
	}
	// Output: read races with earlier write, sites 11 and 12
}

// A HappensBefore detector reports every racy pair. Here both writes race with the read.
func ExampleHappensBefore() {
	trace := []heisen.Record{
		{Thread: 0, Op: heisen.Fork, Object: 1},
		{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 11},
		{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 12},
		{Thread: 0, Op: heisen.Read, Object: 0x1000, Site: 13},
	}
	detector, err := vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		fmt.Printf("%s, events %d and %d\n", f.Message, f.Accesses[0].Index, f.Accesses[1].Index)
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), detector); err != nil {
		fmt.Println(err)
	}
	// Output:
	// read races with earlier write, events 2 and 4
	// read races with earlier write, events 3 and 4
}

// An Order answers happens-before questions for a detector of your own.
func ExampleOrder() {
	var order vclock.Order
	fork := heisen.Record{Thread: 0, Op: heisen.Fork, Object: 1}
	write := heisen.Record{Thread: 0, Op: heisen.Write, Object: 0x1000}
	send := heisen.Record{Thread: 0, Op: heisen.Send, Object: 0x2000}
	receive := heisen.Record{Thread: 1, Op: heisen.Receive, Object: 0x2000}

	order.Observe(&fork)
	order.Publish(&fork)

	order.Observe(&write)
	written := order.Access(write.Thread)
	order.Publish(&write)

	order.Observe(&send)
	order.Publish(&send)
	fmt.Println("before the receive:", order.Before(written, 1))

	order.Observe(&receive)
	fmt.Println("after the receive:", order.Before(written, 1))
	order.Publish(&receive)
	// Output:
	// before the receive: false
	// after the receive: true
}

// Two threads take steps, and the second one receives a message from the first.
func ExampleClock() {
	var first, second vclock.Clock
	sent := first.Tick(0)
	message := first.Copy()
	later := first.Tick(0)

	second.Tick(1)
	fmt.Println(&second, second.Covers(sent))
	second.Join(&message)
	fmt.Println(&second, second.Covers(sent), second.Covers(later))
	fmt.Println(message.LessEq(&second), second.LessEq(&message))
	// Output:
	// [1@1] false
	// [1@0 1@1] true false
	// true false
}

func ExampleEpoch() {
	e := vclock.MakeEpoch(3, 17)
	fmt.Println(e, e.Slot(), e.Time())
	// Output: 17@3 3 17
}
