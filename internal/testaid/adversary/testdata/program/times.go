package adversary

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// canceledTree cancels a tree of contexts from its root.
//
//adversary:fragment bubble
func canceledTree(r *run) {
	type key struct{}
	cause := errors.New("cause")
	root, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, 7))
	plain := 0
	var all sync.WaitGroup
	for range r.n(1, 3) {
		child, stop := context.WithCancel(root)
		all.Go(func() {
			defer stop()
			<-child.Done()
			check(r, plain, 3, "what cancel publishes")
			check(r, context.Cause(child), cause, "cause")
			check(r, child.Err(), context.Canceled, "error of a canceled context")
			check(r, child.Value(key{}), any(7), "value")
		})
	}
	detached := context.WithoutCancel(root)
	plain = 3
	cancel(cause)
	all.Wait()
	check(r, detached.Err(), nil, "a context without cancel")
}

// contextTimeouts lets deadlines pass, the shorter one first.
//
//adversary:fragment bubble
func contextTimeouts(r *run) {
	long, stopLong := context.WithTimeout(context.Background(), time.Hour)
	defer stopLong()
	short, stop := context.WithTimeoutCause(long, time.Duration(r.n(1, 50))*time.Microsecond, errors.New("short"))
	defer stop()
	<-short.Done()
	check(r, short.Err(), context.DeadlineExceeded, "error after the deadline")
	check(r, context.Cause(short).Error(), "short", "cause after the deadline")
	check(r, long.Err(), nil, "the parent of a context after its deadline")
}

// contextAfterFunc starts functions when a context ends, and stops one.
//
//adversary:fragment bubble
func contextAfterFunc(r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	plain, done := 0, make(chan struct{})
	stop := context.AfterFunc(ctx, func() { r.Errorf("a function that was stopped") })
	check(r, stop(), true, "stop before the end")
	stop = context.AfterFunc(ctx, func() { plain++; close(done) })
	plain = r.n(1, 9)
	was := plain
	cancel()
	<-done
	check(r, plain, was+1, "what a function of context.AfterFunc does")
	check(r, stop(), false, "stop after the end")
}

// timersReset resets, stops and drains timers.
//
//adversary:fragment bubble
func timersReset(r *run) {
	t := time.NewTimer(time.Hour)
	check(r, t.Reset(time.Microsecond), true, "Reset of an active timer")
	<-t.C
	check(r, t.Stop(), false, "Stop of an expired timer")
	t.Reset(time.Hour)
	check(r, t.Stop(), true, "Stop of an active timer")
	var fired atomic.Int32
	done := make(chan bool)
	f := time.AfterFunc(time.Hour, func() { fired.Add(1); done <- true })
	for range r.n(1, 3) {
		f.Reset(time.Duration(r.n(0, 20)) * time.Microsecond)
		<-done
	}
	f.Stop()
	if fired.Load() < 1 {
		r.Errorf("a function of a timer did not run")
	}
}

// timersOrder lets timers fire in their order, which only their times give.
//
//adversary:fragment bubble
func timersOrder(r *run) {
	begin := time.Now()
	first := time.Duration(r.n(1, 200)) * time.Microsecond
	<-time.After(first)
	if passed := time.Since(begin); passed < first {
		r.Errorf("%v have passed, want %v", passed, first)
	}
	x := 0
	done := make(chan bool)
	time.AfterFunc(first, func() { x++; close(done) })
	<-done
	check(r, x, 1, "what the function of a timer does")
}

// tickers counts some ticks. Their times may be out of order: a tick has the time at which it is sent, less the delay that
// was measured before.
//
//adversary:fragment bubble
func tickers(r *run) {
	begin := time.Now()
	t := time.NewTicker(10 * time.Microsecond)
	defer t.Stop()
	for range r.n(1, 4) {
		if at := <-t.C; at.Before(begin) {
			r.Errorf("a tick at %v, but the ticker began at %v", at, begin)
		}
	}
	t.Reset(5 * time.Microsecond)
	<-t.C
}

// sleepers sleep side by side.
//
//adversary:fragment bubble
func sleepers(r *run) {
	var all sync.WaitGroup
	for i := range r.n(2, 4) {
		d := time.Duration(r.n(1, 90)) * time.Microsecond
		all.Go(func() {
			begin := time.Now()
			time.Sleep(d)
			if passed := time.Since(begin); passed < d {
				r.Errorf("sleeper %d slept %v, want %v", i, passed, d)
			}
		})
	}
	all.Wait()
}

// A group is like errgroup: it has a bound, keeps the first error and cancels a context with it.
type group struct {
	all    sync.WaitGroup
	places chan struct{}
	once   sync.Once
	err    error
	cancel context.CancelCauseFunc
}

func newGroup(bound int) (*group, context.Context) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &group{places: make(chan struct{}, bound), cancel: cancel}, ctx
}

func (g *group) run(f func() error) {
	g.places <- struct{}{}
	g.all.Go(func() {
		defer func() { <-g.places }()
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err; g.cancel(err) })
		}
	})
}

func (g *group) wait() error {
	g.all.Wait()
	g.cancel(g.err)
	return g.err
}

// errorGroup ends when one of its functions fails.
//
//adversary:fragment bubble
func errorGroup(r *run) {
	g, ctx := newGroup(r.n(2, 4))
	fail := errors.New("fail")
	results := make([]int, 2)
	for i := range results {
		g.run(func() error { results[i] = i + 1; return nil })
	}
	g.run(func() error { return fail })
	g.run(func() error {
		<-ctx.Done()
		return ctx.Err()
	})
	check(r, g.wait(), fail, "the first error of a group")
	check(r, results[0]+results[1], 3, "results of a group")
	check(r, context.Cause(ctx), fail, "cause of a group's context")
}

// rateLimit lets a ticker's goroutine give out tokens until it is told to stop.
//
//adversary:fragment bubble
func rateLimit(r *run) {
	tokens, stop, stopped := make(chan int), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTicker(3 * time.Microsecond)
		defer t.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-t.C:
			}
			select {
			case tokens <- i:
			case <-stop:
				return
			}
		}
	}()
	last := -1
	for range r.n(1, 4) {
		i := <-tokens
		check(r, i, last+1, "number of a token")
		last = i
	}
	close(stop)
	<-stopped
}
