package vclock_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

func ExampleFastTrack() {
	trace := []heisen.Record{
		{Thread: 0, Op: heisen.Fork, Object: 1, Site: 10},
		{Thread: 1, Op: heisen.Write, Object: 0x1000, Site: 11},
		{Thread: 0, Op: heisen.Read, Object: 0x1000, Site: 12},
	}
	detector := vclock.NewFastTrack(func(f heisen.Finding) {
		fmt.Printf("%s, sites %d and %d\n", f.Message, f.Accesses[0].Site, f.Accesses[1].Site)
	})
	if _, err := heisen.Run(context.Background(), heisen.Slice(trace), detector); err != nil {
		fmt.Println(err)
	}
	// Output: read races with earlier write, sites 11 and 12
}

// An Order answers happens-before questions for a detector of one's own.
func ExampleOrder() {
	order := vclock.NewOrder()
	trace := []heisen.Record{
		{Thread: 0, Op: heisen.Fork, Object: 1},
		{Thread: 0, Op: heisen.Send, Object: 0x2000},
		{Thread: 1, Op: heisen.Receive, Object: 0x2000},
	}
	order.Leave(&trace[0])
	sent := order.Touch(0)
	order.Leave(&trace[1])
	fmt.Println("before the receive:", order.Before(sent, 1))
	order.Arrive(&trace[2])
	fmt.Println("after the receive:", order.Before(sent, 1))
	// Output:
	// before the receive: false
	// after the receive: true
}
