package main

import (
	"context"
	"time"
)

// archive is an archive with its number of events and the time that its answer takes.
type archive struct {
	name   string
	events int
	after  time.Duration
}

// ask waits for the archive's answer.
func (a archive) ask(ctx context.Context) (int, error) {
	timer := time.NewTimer(a.after)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return a.events, nil
	}
}

// task is a query to one archive.
type task struct {
	from   archive
	found  int
	failed error
}

func (t *task) run(ctx context.Context) {
	t.found, t.failed = t.from.ask(ctx) // race:found
}
