package racefuzz

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/option"
)

// Program is the function of the first goroutine of a model. It makes the objects of the model and
// starts the other goroutines. A program runs in many executions. It must behave the same whenever
// the operations of its goroutines come in the same order and its random numbers are the same, so
// it must not depend on state that outlives an execution.
type Program func(*G)

// DefaultStepLimit is the default of WithStepLimit.
const DefaultStepLimit = 1 << 20

// RunOption configures Run.
type RunOption func(*runConfig) error

type runConfig struct {
	limit    uint64
	places   []rolesOf
	detector heisen.Detector
}

// rolesOf is a place and its roles.
type rolesOf struct {
	place string
	roles Roles
}

// WithStepLimit sets the number of steps after which an execution is cut off, at least 1. The
// default is DefaultStepLimit.
func WithStepLimit(steps uint64) RunOption {
	return func(c *runConfig) error {
		if steps == 0 {
			return option.Errorf("WithStepLimit: 0 steps, want at least 1")
		}
		c.limit = steps
		return nil
	}
}

// WithRoles gives roles to places, by the names that G.At gives to operations. There must be at
// least one role, and no name may be empty. A name that no operation has is no error. Several
// options can give roles to the same place.
func WithRoles(roles Roles, places ...string) RunOption {
	return func(c *runConfig) error {
		if roles == 0 || roles >= Inner<<1 {
			return option.Errorf("WithRoles: roles %#x, want at least one of First, Second, Entry, Remote, End and Inner", uint8(roles))
		}
		for _, place := range places {
			if place == "" {
				return option.Errorf("WithRoles: a place with an empty name")
			}
			c.places = append(c.places, rolesOf{place, roles})
		}
		return nil
	}
}

// WithDetector passes the events of the execution to a detector while the program runs. The events
// refer to Result.Symbols. They include the states of channels and wait groups that goroutines
// depend on (heisen.Change). Run does not call the detector's Flush. The detector must not be nil.
func WithDetector(d heisen.Detector) RunOption {
	return func(c *runConfig) error {
		if d == nil {
			return option.Errorf("WithDetector: the detector is nil")
		}
		c.detector = d
		return nil
	}
}

// Run executes the program as a model under the strategy. One goroutine runs at a time, each as a
// coroutine. The execution ends when all goroutines have returned, when none is runnable, when one
// panics or fails an assertion, or at the step limit. The execution is sequentially consistent.
//
// Every operation is a step. The strategy chooses only among operations that can be made; for
// example, a Lock of a held mutex is not offered. This is the set Enabled of the RaceFuzzer paper.
//
// Run leaves no goroutine behind. If an execution is cut off, its goroutines are unwound with a
// panic, which runs their deferred calls; a program must not recover from it in order to continue.
// Run cannot interrupt code between two operations, so that code must terminate.
//
// Run stops when ctx is done and returns its error. Other errors wrap heisen.ErrOption, also for a
// nil context, program or strategy, or ErrStrategy.
func Run(ctx context.Context, program Program, strategy Strategy, seed uint64, opts ...RunOption) (*Result, error) {
	if ctx == nil {
		return nil, fmt.Errorf("racefuzz.Run: %w: the context is nil", heisen.ErrOption)
	}
	if program == nil {
		return nil, fmt.Errorf("racefuzz.Run: %w: the program is nil", heisen.ErrOption)
	}
	if strategy == nil {
		return nil, fmt.Errorf("racefuzz.Run: %w: the strategy is nil", heisen.ErrOption)
	}
	c := runConfig{limit: DefaultStepLimit}
	if err := option.Apply("racefuzz.Run", &c, opts); err != nil {
		return nil, err
	}
	r := &run{strategy: strategy, limit: c.limit, detector: c.detector, sites: map[string]heisen.Site{}, roles: make([]Roles, 1),
		result: &Result{Symbols: heisen.NewSymbols(), Seed: seed, events: map[uint32][]int{}}, objects: 8}
	for _, p := range c.places {
		r.roles[r.site(p.place)] |= p.roles
	}
	defer r.unwind()
	strategy.Start(seed)
	if r.dpor, _ = strategy.(*DPOR); r.dpor != nil {
		r.dpor.run = r
	}
	r.record.Start(&strategies.Config{Log: make([]strategies.Choice, 64)})
	r.start("main", nil, program)
	for r.result.Outcome == 0 {
		if err := r.step(ctx); err != nil {
			return nil, err
		}
	}
	r.flush()
	if r.dpor != nil {
		r.dpor.end()
	}
	r.result.Steps, r.result.Hash = r.record.Steps(), r.record.Hash
	if d, ok := strategy.(Diverger); ok {
		r.result.Diverged = d.Diverged()
	}
	return r.result, nil
}

// run is an execution.
type run struct {
	strategy Strategy
	limit    uint64
	detector heisen.Detector
	result   *Result

	record  strategies.Scheduler // records the choices; it makes none
	gs      []*G                 // by ID
	alive   []*G                 // those that have not returned, by ID
	current *G                   // the goroutine that is running, nil while Run is
	running uint32               // the goroutine that continued last
	tasks   []Task               // the runnable tasks
	core    []strategies.Task    // the same for record
	ready   []*G                 // goroutines whose operation is done; they run to the next one

	sites   map[string]heisen.Site
	roles   []Roles // by site
	objects heisen.Object
	over    bool

	dpor     *DPOR // the strategy, if it is one
	negative bool  // the count of a wait group would have become negative
}

// step has the strategy choose a goroutine, makes its operation and runs it to the next one.
func (r *run) step(ctx context.Context) error {
	steps := r.record.Steps()
	if steps%1024 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	r.offer()
	switch {
	case len(r.alive) == 0:
		r.result.Outcome = Finished
		return nil
	case len(r.tasks) == 0:
		r.deadlock()
		return nil
	case steps == r.limit:
		r.result.Outcome = CutOff
		return nil
	}
	i := r.strategy.Next(r.tasks, r.running)
	if i < 0 || i >= len(r.tasks) {
		return fmt.Errorf("%w: %d of %d tasks", ErrStrategy, i, len(r.tasks))
	}
	r.core = appendTasks(r.core[:0], r.tasks)
	r.record.Record(r.core, i, r.running)
	r.flush()
	for j := range r.tasks {
		t := &r.tasks[j]
		g := r.gs[t.ID]
		g.task.OpState, g.task.TaskState = t.OpState, t.TaskState
	}
	r.running = r.tasks[i].ID
	r.result.Order = append(r.result.Order, r.running)
	g := r.gs[r.running]
	r.ready = append(r.ready[:0], g)
	since := g.task.Since
	g.op.do(g)
	for k := 0; k < len(r.ready) && r.result.Outcome == 0; k++ {
		r.advance(r.ready[k])
	}
	if r.dpor != nil {
		r.dpor.did(g, since)
	}
	return nil
}

// offer collects the runnable tasks.
func (r *run) offer() {
	r.alive = slices.DeleteFunc(r.alive, func(g *G) bool { return g.returned })
	r.tasks = r.tasks[:0]
	for _, g := range r.alive {
		if !g.queued && g.op.enabled(g) {
			r.tasks = append(r.tasks, g.task)
		}
	}
}

// flush moves the recorded meetings and deviations to the result.
func (r *run) flush() {
	for i := range r.record.NumMeetings {
		r.result.Meetings = append(r.result.Meetings, meetingOf(&r.record.Meetings[i]))
	}
	for _, c := range r.record.Log[:r.record.NumLog] {
		r.result.Choices = append(r.result.Choices, Choice(c))
	}
	r.record.NumMeetings, r.record.NumLog = 0, 0
}

// start starts a goroutine.
func (r *run) start(name string, parent *G, program Program) *G {
	g := &G{run: r, id: uint32(len(r.gs)), name: name, program: program}
	g.task.ID, g.key = g.id, keyOf(g.id)
	g.next, g.stop = iter.Pull(g.body)
	r.gs = append(r.gs, g)
	r.alive = append(r.alive, g)
	info := heisen.ThreadInfo{Name: name}
	if parent != nil {
		info.Forked, info.Parent, info.Site = true, heisen.Thread(parent.id), parent.op.site
		parent.emit(heisen.Fork, heisen.Object(g.id))
	}
	r.result.Symbols.SetThread(heisen.Thread(g.id), info)
	r.result.Names = append(r.result.Names, name)
	r.emit(g, heisen.Record{Op: heisen.Begin})
	if parent == nil {
		r.advance(g)
	} else {
		r.ready = append(r.ready, g)
	}
	return g
}

// advance runs the goroutine to its next operation or its end.
func (r *run) advance(g *G) {
	r.current = g
	_, more := g.next()
	r.current = nil
	if !more {
		g.returned, g.ended = true, r.record.Steps()
		r.emit(g, heisen.Record{Op: heisen.End})
		return
	}
	g.task.OpState, g.task.Since = 0, r.record.Steps()
	g.task.Seq++
}

// unwind unwinds the goroutines that have not returned.
func (r *run) unwind() {
	for _, g := range r.gs {
		g.unwinding = true
		g.stop()
	}
	r.over = true
}

// site returns the number of the place with a name.
func (r *run) site(name string) heisen.Site {
	s, ok := r.sites[name]
	if !ok {
		s = r.result.Symbols.AddSite(heisen.SiteInfo{Text: name})
		r.sites[name] = s
		for len(r.roles) <= int(s) {
			r.roles = append(r.roles, 0)
		}
	}
	return s
}

// object returns a number for an object with a size in bytes. Numbers are multiples of 8.
func (r *run) object(name string, size uint64) heisen.Object {
	o := r.objects
	r.objects += heisen.Object(size+7) / 8 * 8
	if name != "" {
		r.result.Symbols.SetName(o, name)
	}
	return o
}

func (r *run) emit(g *G, x heisen.Record) {
	if r.detector != nil {
		x.Thread = heisen.Thread(g.id)
		r.result.addEvent(g, &x)
		r.detector.Handle(x.Event())
	}
}

// deadlock records what each goroutine waits for.
func (r *run) deadlock() {
	r.result.Outcome = Deadlocked
	for _, g := range r.alive {
		w := Waiting{ID: g.id, Name: g.name, Place: g.place(), Operation: g.op.code.String(), Object: g.op.object()}
		for _, l := range g.held {
			w.Held = append(w.Held, l.name)
		}
		r.result.Waiting = append(r.result.Waiting, w)
	}
}
