package main

import (
	"context"
	"sync"
	"time"
)

// archive is what an archive knows of the event, and how long it takes to say so.
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

// task is a question to one archive.
type task struct {
	from archive

	mu     sync.Mutex
	stop   func() // ends the task, nil if it does not run; the bug: mu does not guard it
	found  int    // by the worker
	failed error  // by the worker
}

// run asks the archive.
func (t *task) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.stop = cancel                     // race:start
	t.found, t.failed = t.from.ask(ctx) // race:found
	t.stop = nil                        // race:end
	return t.failed
}

// runFixed does so with stop guarded.
func (t *task) runFixed(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.setStop(cancel)
	t.found, t.failed = t.from.ask(ctx) // race:found
	t.setStop(nil)
	return t.failed
}

func (t *task) setStop(stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = stop
}

// cancel ends the task early, if it runs.
func (t *task) cancel() {
	if t.stop != nil { // race:test
		t.stop() // race:call
	}
}

// cancelFixed does so with stop guarded.
func (t *task) cancelFixed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
	}
}

// result returns what came of a task that has ended.
func (t *task) result() (int, error) {
	if t.failed != nil { // race:result.failed
		return 0, t.failed // race:result.why
	}
	return t.found, nil // race:result.found
}
