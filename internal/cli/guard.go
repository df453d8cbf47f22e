package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// A guard ends the work on files when it takes more than its allowance. Then its context ends, readers
// return an error, and detectors get no more events and report what they have found.
//
// Work that does not end soon after that, or after a second signal, is left alone: the command then
// reports what was found so far, and ends.
type guard struct {
	allowance *allowance
	ctx       context.Context
	cancel    context.CancelCauseFunc
	hurry     <-chan struct{} // closed by the second signal
	release   func()          // restores the default handling of signals

	size   atomic.Int64 // of the input; what was read of it, where that is not known before
	waited atomic.Int64 // nanoseconds for input from somebody else
	start  time.Time

	mu     sync.Mutex
	at     string // how far the input was read
	events uint64 // that were read of it
}

// limitError is the cause of the end of a guard's context.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// errMemory is the error of work that takes more memory than a limit.
func errMemory(limit int64) error {
	return &limitError{fmt.Sprintf("stopped at the limit of %s of memory, which -max-memory can raise", byteSize(limit))}
}

// errLeft is the error of work that was left alone.
var errLeft = errors.New("it did not end by itself: detectors may have found more than is reported, and counts may be too low")

// guardFiles returns a guard for work on files. stop ends it.
func (inv *invocation) guardFiles(a *allowance, files ...string) (g *guard, stop func()) {
	ctx, hurry, ignore := inv.interruptibleTwice()
	g = &guard{at: files[0], allowance: a, hurry: hurry, release: sync.OnceFunc(ignore), start: time.Now()}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	for _, file := range files {
		if info, err := os.Stat(file); file != stdStream && err == nil && info.Mode().IsRegular() {
			g.size.Add(info.Size())
		}
	}
	before := debug.SetMemoryLimit(-1)
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { g.watch(ended, before) })
	inv.guard = g
	return g, func() {
		close(ended)
		watcher.Wait()
		debug.SetMemoryLimit(before)
		g.cancel(nil)
		g.release()
		inv.guard = nil
	}
}

// period is how often a guard looks.
const period = 10 * time.Millisecond

// watch ends the context when a limit is passed. The collector works harder near the limit of memory, so
// that garbage does not count. before is its limit without the guard.
func (g *guard) watch(ended <-chan struct{}, before int64) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	set := int64(-1)
	for {
		select {
		case <-ended:
			return
		case <-g.ctx.Done():
			return
		case <-ticker.C:
		}
		if memory := g.allowance.memoryFor(g.size.Load()); memory != set {
			set = memory
			debug.SetMemoryLimit(min(memory, before))
		}
		g.look()
	}
}

// look ends the context if a limit is passed.
func (g *guard) look() {
	size := g.size.Load()
	memory, spent := g.allowance.memoryFor(size), g.allowance.timeFor(size)
	switch {
	case newMemoryUse().above(memory):
		g.cancel(errMemory(memory))
	case g.spent() > spent:
		g.cancel(&limitError{fmt.Sprintf("stopped at the limit of %v of time, which -max-time can raise", spent.Round(time.Millisecond))})
	}
}

// memoryUse measures the memory of this process.
type memoryUse []metrics.Sample

func newMemoryUse() memoryUse {
	return memoryUse{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
}

// above reports whether the memory in use is above a limit: what the latest collection has left is near
// the limit, or all together is well above it.
func (u memoryUse) above(limit int64) bool {
	metrics.Read(u)
	live, mapped := u[0].Value.Uint64(), u[1].Value.Uint64()-u[2].Value.Uint64()
	return float64(live) > 0.85*float64(limit) || float64(mapped) > 1.15*float64(limit)
}

// tooMany ends the work because there are too many findings.
func (g *guard) tooMany() {
	g.cancel(&limitError{fmt.Sprintf("stopped at the limit of %d findings", maxFindings)})
}

// spent returns the time since the start, without that of waiting for input.
func (g *guard) spent() time.Duration {
	return time.Since(g.start) - time.Duration(g.waited.Load())
}

// patience is how long work may take to end after the end of its context. A signal takes effect within a
// second.
const patience = 800 * time.Millisecond

// do does the work, and waits for its end. It returns the work's error, with the limit that was passed
// and the place in the input in the place of the context's error. After that, a signal ends heisen at once.
func (g *guard) do(work func() error) error {
	defer g.release()
	done := make(chan error, 1)
	go func() { done <- work() }()
	late := make(<-chan time.Time)
	ctx := g.ctx.Done()
	for {
		select {
		case err := <-done:
			return g.explain(err)
		case <-ctx:
			ctx, late = nil, time.After(patience)
		case <-g.hurry:
			return errors.Join(g.explain(g.ctx.Err()), errLeft)
		case <-late:
			return errors.Join(g.explain(g.ctx.Err()), errLeft)
		}
	}
}

// explain returns err with the cause of the context's end, and the place, in the place of the context's
// error.
func (g *guard) explain(err error) error {
	var limit *limitError
	if err == nil || !errors.As(context.Cause(g.ctx), &limit) {
		return err
	}
	others, _ := without(err, func(e error) bool { return errors.Is(e, context.Canceled) || errors.As(e, &limit) })
	g.mu.Lock()
	at := g.at
	if g.events > 0 {
		at += fmt.Sprintf(": after %d events", g.events)
	}
	g.mu.Unlock()
	if at != "" {
		at += ": "
	}
	return errors.Join(fmt.Errorf("%s%w", at, limit), others)
}

// without returns a joined error without the parts that drop chooses.
func without(err error, drop func(error) bool) (rest error, dropped bool) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			kept, some := without(e, drop)
			rest, dropped = errors.Join(rest, kept), dropped || some
		}
		return rest, dropped
	}
	if drop(err) {
		return nil, true
	}
	return err, false
}

// input returns a reader of a file, or of standard input, that returns the cause of the context's end as
// its error.
func (g *guard) input(r io.Reader, foreign bool) io.Reader {
	if g == nil {
		return r
	}
	return &guardedInput{g, r, foreign}
}

type guardedInput struct {
	g       *guard
	r       io.Reader
	foreign bool // somebody else may be writing it: its size is not known, and waiting for it does not count
}

func (i *guardedInput) Read(p []byte) (int, error) {
	if i.g.ctx.Err() != nil {
		return 0, context.Cause(i.g.ctx)
	}
	if !i.foreign {
		return i.r.Read(p)
	}
	before := time.Now()
	n, err := i.r.Read(p)
	i.g.waited.Add(int64(time.Since(before)))
	i.g.size.Add(int64(n))
	return n, err
}

// source returns a source of the events of a trace in small portions, so that the limits are kept between
// them. Without a guard, it is the reader itself.
func (g *guard) source(r *trace.Reader) heisen.BatchSource {
	if g == nil {
		return r
	}
	g.mu.Lock()
	g.at, g.events = r.Position(), 0
	g.mu.Unlock()
	return &guardedEvents{g: g, r: r, most: maxPortion, handed: time.Now()}
}

// maxPortion is how many events a portion has at most.
const maxPortion = 1024

// maxTouched is how much of the program's memory the events of a portion touch, in bytes: the memory of
// detectors is a multiple of it.
const maxTouched = 1 << 16

type guardedEvents struct {
	g      *guard
	r      *trace.Reader
	rest   []heisen.Record // of the reader
	err    error           // that comes after the rest
	most   int             // events in a portion: fewer if they take long
	handed time.Time       // when the latest portion was handed out
}

// longPortion is how long the events of a portion should not take.
const longPortion = 20 * time.Millisecond

// Next implements heisen.Source.
func (s *guardedEvents) Next(batch []heisen.Record) (int, error) {
	if len(batch) == 0 {
		return 0, nil
	}
	next, err := s.portion(len(batch))
	return copy(batch, next), err
}

// NextBatch implements heisen.BatchSource.
func (s *guardedEvents) NextBatch() ([]heisen.Record, error) { return s.portion(math.MaxInt) }

func (s *guardedEvents) portion(most int) ([]heisen.Record, error) {
	if time.Since(s.handed) > longPortion {
		s.most = max(s.most/4, 1)
	} else {
		s.most = min(2*s.most, maxPortion)
	}
	most = min(most, s.most)
	defer func() { s.handed = time.Now() }()
	s.g.look() // the watcher may not run for a while on a busy machine
	if len(s.rest) == 0 && s.err == nil {
		s.rest, s.err = s.r.NextBatch()
		at := s.r.Position()
		s.g.mu.Lock()
		s.g.at = at
		s.g.mu.Unlock()
	}
	if len(s.rest) == 0 {
		err := s.err
		if errors.Is(err, trace.ErrTruncated) {
			s.err = nil // the reader continues when the input has grown
		}
		return nil, err
	}
	n, touched := 0, 0
	for n < min(most, len(s.rest)) && touched < maxTouched {
		touched += int(s.rest[n].Len)
		n++
	}
	portion := s.rest[:n]
	s.rest = s.rest[n:]
	s.g.mu.Lock()
	s.g.events += uint64(n)
	s.g.mu.Unlock()
	return portion, nil
}
