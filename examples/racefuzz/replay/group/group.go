package main

import (
	"context"
	"sync"
)

// group runs goroutines on one task. The first that fails cancels the others.
type group struct {
	cancel  context.CancelCauseFunc
	working sync.WaitGroup
	places  chan struct{} // each goroutine takes one

	once sync.Once
	err  error // of the first that failed
}

// newGroup returns a group that runs at most limit goroutines at a time, and the context for these.
func newGroup(ctx context.Context, limit int) (*group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &group{cancel: cancel, places: make(chan struct{}, limit)}, ctx
}

// start runs f when a slot is free.
func (g *group) start(f func() error) {
	g.places <- struct{}{}
	g.run(f)
}

// tryStart runs f if a slot is free, and reports whether it does.
func (g *group) tryStart(f func() error) bool {
	select {
	case g.places <- struct{}{}:
		g.run(f)
		return true
	default:
		return false
	}
}

func (g *group) run(f func() error) {
	g.working.Go(func() {
		defer func() { <-g.places }()
		if err := f(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel(err)
			})
		}
	})
}

// wait waits until all goroutines have ended and returns the first error.
func (g *group) wait() error {
	g.working.Wait()
	g.cancel(g.err)
	return g.err
}
