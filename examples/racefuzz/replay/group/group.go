package main

import (
	"context"
	"sync"
)

// group is goroutines that work on one thing. The first that fails cancels the others.
type group struct {
	cancel  context.CancelCauseFunc
	working sync.WaitGroup
	places  chan struct{} // one is taken by each goroutine

	once sync.Once
	err  error // of the first that failed
}

// newGroup returns a group of which at most limit goroutines run at a time, and the
// context that they are to work under.
func newGroup(ctx context.Context, limit int) (*group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &group{cancel: cancel, places: make(chan struct{}, limit)}, ctx
}

// start runs f when there is a place.
func (g *group) start(f func() error) {
	g.places <- struct{}{}
	g.run(f)
}

// tryStart runs f if there is a place, and reports whether it does.
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

// wait returns the first error when all have ended.
func (g *group) wait() error {
	g.working.Wait()
	g.cancel(g.err)
	return g.err
}
