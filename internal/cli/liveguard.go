package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
)

// A liveGuard ends analyses of programs that run: that of the most events when heisen takes more memory than
// it may, and all of them some time after a signal. The programs go on, and what they find themselves still
// counts.
type liveGuard struct {
	limit   int64 // of memory, in bytes
	before  int64 // the collector's limit without the guard
	ended   chan struct{}
	watcher sync.WaitGroup

	mu          sync.Mutex
	running     map[*analysis]bool
	watched     bool
	interrupted bool
	someLeft    bool // an analysis did not end by itself
}

// newLiveGuard returns a guard with a limit of memory, in bytes. It must be stopped.
func newLiveGuard(limit int64) *liveGuard {
	return &liveGuard{limit: limit, ended: make(chan struct{}), running: map[*analysis]bool{}, before: debug.SetMemoryLimit(-1)}
}

func (g *liveGuard) stop() {
	close(g.ended)
	g.watcher.Wait()
	debug.SetMemoryLimit(g.before)
}

// interrupt ends all analyses, now and later.
func (g *liveGuard) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.interrupted = true
	for a := range g.running {
		a.cancel(errInterrupted)
	}
}

// left reports whether an analysis did not end by itself.
func (g *liveGuard) left() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.someLeft
}

// livePeriod is how often the guard looks.
const livePeriod = 50 * time.Millisecond

// watch ends one analysis after the other while there is too little memory.
func (g *liveGuard) watch() {
	debug.SetMemoryLimit(min(g.limit, g.before))
	ticker := time.NewTicker(livePeriod)
	defer ticker.Stop()
	use := newMemoryUse()
	for {
		select {
		case <-g.ended:
			return
		case <-ticker.C:
		}
		if !use.above(g.limit) {
			continue
		}
		largest := g.largest()
		if largest == nil {
			continue
		}
		largest.cancel(errMemory(g.limit))
		select {
		case <-g.ended:
			return
		case <-largest.done:
			runtime.GC() // so that the next look does not count it
		}
	}
}

// largest returns the running analysis that was given the most events, or nil.
func (g *liveGuard) largest() (largest *analysis) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for a := range g.running {
		if largest == nil || a.given() > largest.given() {
			largest = a
		}
	}
	return largest
}

// An analysis hands the events of a stream to detectors, until its context ends. It is a source of events.
type analysis struct {
	guard  *liveGuard
	stream heisen.Source
	ctx    context.Context // ends with a cause
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the detectors are no longer waited for

	reading sync.Mutex // held while the stream is read

	mu     sync.Mutex
	events uint64
	left   bool // the detectors are still at work, and what they find does not count any more
}

// begin returns an analysis of a stream. end ends it.
func (g *liveGuard) begin(ctx context.Context, stream heisen.Source) (a *analysis, end func()) {
	a = &analysis{guard: g, stream: stream, done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a, func() { a.cancel(nil) }
}

// sink returns a sink for the detectors of the analysis.
func (a *analysis) sink(to heisen.Sink) heisen.Sink {
	return func(f heisen.Finding) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.left {
			to(f)
		}
	}
}

// Next implements heisen.Source.
func (a *analysis) Next(batch []heisen.Record) (int, error) {
	a.reading.Lock()
	defer a.reading.Unlock()
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := a.stream.Next(batch)
	a.mu.Lock()
	a.events += uint64(n)
	a.mu.Unlock()
	return n, err
}

// interrupted reports whether a signal has ended the analysis.
func (a *analysis) interrupted() bool { return errors.Is(context.Cause(a.ctx), errInterrupted) }

func (a *analysis) given() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events
}

// run hands all events of the stream to the detectors in always, and those until the end of the context to
// the others.
func (a *analysis) run(always, others []heisen.Detector) error {
	if len(others) == 0 {
		_, err := heisen.Run(a.ctx, a.stream, always...)
		return err
	}
	a.guard.enter(a)
	err := a.analyze(append(always[:len(always):len(always)], others...))
	a.guard.exit(a)
	cause := context.Cause(a.ctx)
	if cause == nil {
		return err
	}
	err, _ = without(err, func(e error) bool { return errors.Is(e, context.Canceled) })
	_, more := heisen.Run(context.WithoutCancel(a.ctx), a.stream, always...)
	return errors.Join(fmt.Errorf("%w: detectors were given its first %d events only", cause, a.given()), err, more)
}

// analyze gives the detectors events until the context ends, and waits for them. Those that do not end soon
// after that are left alone, and its error is errLeft.
func (a *analysis) analyze(detectors []heisen.Detector) error {
	ended := make(chan error, 1)
	go func() {
		_, err := heisen.Run(a.ctx, a, detectors...)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-a.ctx.Done():
	}
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
		}
		if !a.reading.TryLock() { // it waits for the program
			continue
		}
		a.reading.Unlock()
		a.mu.Lock()
		a.left = true
		a.mu.Unlock()
		return errLeft
	}
}

func (g *liveGuard) enter(a *analysis) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[a] = true
	if g.interrupted {
		a.cancel(errInterrupted)
	}
	if !g.watched {
		g.watched = true
		g.watcher.Go(g.watch)
	}
}

func (g *liveGuard) exit(a *analysis) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, a)
	a.mu.Lock()
	g.someLeft = g.someLeft || a.left
	a.mu.Unlock()
	close(a.done)
}
