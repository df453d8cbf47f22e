package main

import (
	"context"
	"sync"
)

// worker runs tasks, one after the other.
type worker struct {
	mu   sync.Mutex
	stop func() // ends its task, nil if it has none; the bug: mu does not guard it
}

// run runs a task.
func (w *worker) run(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.stop = cancel // race:start
	t.run(ctx)
	w.stop = nil // race:end
}

// runFixed is run with stop guarded.
func (w *worker) runFixed(ctx context.Context, t *task) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.setStop(cancel)
	t.run(ctx)
	w.setStop(nil)
}

func (w *worker) setStop(stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = stop
}

// cancel ends the worker's task, if it has one.
func (w *worker) cancel() {
	if w.stop != nil { // race:test
		w.stop() // race:call
	}
}

// cancelFixed is cancel with stop guarded.
func (w *worker) cancelFixed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
}
