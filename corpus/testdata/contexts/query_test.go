package contexts

import (
	"context"
	"testing"
	"time"
)

// query sends its rows to a channel, whether or not anybody still wants them.
func query(ctx context.Context, rows chan<- int) {
	for i := range 4 {
		if ctx.Err() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
		rows <- i // want leak
	}
	close(rows)
}

func queryUntilDone(ctx context.Context, rows chan<- int) {
	defer close(rows)
	for i := range 4 {
		time.Sleep(10 * time.Millisecond)
		select {
		case rows <- i:
		case <-ctx.Done():
			return
		}
	}
}

func firstRows(t *testing.T, query func(context.Context, chan<- int)) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	rows := make(chan int)
	go query(ctx, rows)
	for {
		select {
		case _, ok := <-rows:
			if !ok {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// TestQuery reads rows until a deadline.
func TestQuery(t *testing.T) { firstRows(t, query) }

func TestQueryFixed(t *testing.T) { firstRows(t, queryUntilDone) }
