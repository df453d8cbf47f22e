package vclock_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

// FastTrack over a recorded trace, of either format.
func ExampleNewFastTrack() {
	r, err := trace.Open("testdata/bank.std")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	detector := vclock.NewFastTrack(func(f heisen.Finding) {
		earlier, later := f.Accesses[0], f.Accesses[1]
		fmt.Println(f.Message, "of", r.Symbols().Name(f.Object), "at",
			r.Symbols().Site(later.Site), "and", r.Symbols().Site(earlier.Site))
	})
	events, err := heisen.Run(context.Background(), r, detector)
	fmt.Println(events, "events, error:", err)
	// Output:
	// read races with earlier write of balance at bank.go:12 and bank.go:13
	// write races with earlier write of balance at bank.go:13 and bank.go:13
	// 10 events, error: <nil>
}
