// Command timers sleeps, ticks and times out, and logs the order of events at the same time; see
// package replay.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

const unit = time.Millisecond

func main() {
	var j journal.Journal
	start := time.Now()
	note := func(format string, args ...any) {
		// Rounded, so that small differences of the clock do not matter.
		j.Notef("%2d: %s", time.Since(start).Round(unit)/unit, fmt.Sprintf(format, args...))
	}
	var wakings, fired atomic.Int64

	var working sync.WaitGroup
	for id := range 4 {
		working.Go(func() {
			for i := range 4 {
				time.Sleep(time.Duration(1+(id+i)%3) * unit)
				note("sleeper %d wakes", id)
				wakings.Add(1)
			}
		})
	}
	for id := range 3 {
		working.Add(1)
		time.AfterFunc(time.Duration(2*(id+1))*unit, func() {
			defer working.Done()
			note("function %d is called", id)
			fired.Add(1)
		})
	}
	stopped := time.AfterFunc(time.Hour, func() { panic("it was stopped") })
	working.Go(func() {
		ticker := time.NewTicker(2 * unit)
		defer ticker.Stop()
		timer := time.NewTimer(9 * unit)
		defer timer.Stop()
		for {
			select {
			case <-ticker.C:
				note("tick")
			case <-timer.C:
				note("the ticks end, and the function was stopped: %t", stopped.Stop())
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 6*unit)
	defer cancel()
	for id := range 2 {
		working.Go(func() {
			again := time.NewTimer(unit)
			defer again.Stop()
			for i := 1; ; i++ {
				select {
				case <-ctx.Done():
					note("waiter %d: %v", id, ctx.Err())
					return
				case <-again.C:
					note("waiter %d has waited %d times", id, i)
					again.Reset(unit)
				}
			}
		})
	}
	working.Wait()
	if wakings.Load() != 16 || fired.Load() != 3 || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		panic(fmt.Sprintf("woken %d times, called %d times, %v", wakings.Load(), fired.Load(), ctx.Err()))
	}
	if err := j.Print(os.Stdout, "timers"); err != nil {
		panic(err)
	}
}
