package racefuzz

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Program is what the first goroutine of a model does. It makes the objects that it
// shares with others and starts them. Programs run in many executions: each has to do
// the same whenever the operations of its goroutines come in the same order and its
// random numbers are the same, and so must not depend on anything that outlives an
// execution.
type Program func(*G)

// DefaultLimit is after how many steps Run cuts an execution off unless told otherwise.
const DefaultLimit = 1 << 20

// ErrStrategy is the error of Run for a strategy that chooses none of the tasks.
var ErrStrategy = errors.New("racefuzz: strategy is at fault")

// RunOption sets up a run of a model.
type RunOption func(*run) error

// Limit sets after how many steps an execution is cut off, at least 1.
func Limit(steps uint64) RunOption {
	return func(r *run) error {
		if steps == 0 {
			return fmt.Errorf("%w: a limit of no steps", ErrConfig)
		}
		r.limit = steps
		return nil
	}
}

// At gives roles to places, which have the names that G.At says. A place can get
// roles by several options.
func At(roles Roles, places ...string) RunOption {
	return func(r *run) error {
		if roles == 0 || roles >= Inner<<1 {
			return fmt.Errorf("%w: roles %#x", ErrConfig, uint8(roles))
		}
		for _, name := range places {
			if name == "" {
				return fmt.Errorf("%w: a place without a name", ErrConfig)
			}
			r.site(name)
			r.roles[r.sites[name]] |= roles
		}
		return nil
	}
}

// Trace hands the execution's events to the detector while it happens, its Symbols
// being those of Result; with them the states of channels and wait groups that goroutines
// depend on (heisen.Change). The detector's Flush is for the caller.
func Trace(d heisen.Detector) RunOption {
	return func(r *run) error {
		if d == nil {
			return fmt.Errorf("%w: no detector", ErrConfig)
		}
		r.detector = d
		return nil
	}
}

// Run executes the program as a model: one goroutine at a time, each a coroutine, and
// strategy says who makes its next operation. The execution ends when all goroutines
// have returned, when none can go on, when one panics or fails an assertion, or at the
// limit of steps; what came of it is the result. It is sequentially consistent.
//
// Every operation is a step, and only those that can be made are offered to the
// strategy: not to take a lock that another holds, say. That is the Enabled of the
// paper.
//
// Run leaves no goroutine behind: those of an execution that is cut off are unwound,
// their deferred calls made, with a panic that a program must not recover in order to go
// on. What a goroutine does between two operations is not interrupted, and so has to
// end. Calls of Run may be concurrent if they share neither strategy nor detector nor
// what the program uses besides the model.
//
// The error is that of ctx, or wraps ErrConfig or ErrStrategy.
func Run(ctx context.Context, program Program, strategy Strategy, seed uint64, options ...RunOption) (*Result, error) {
	if program == nil || strategy == nil {
		return nil, fmt.Errorf("%w: no program, or no strategy", ErrConfig)
	}
	r := &run{strategy: strategy, limit: DefaultLimit, sites: map[string]heisen.Site{}, roles: make([]Roles, 1),
		result: &Result{Symbols: heisen.NewSymbols(), Seed: seed, events: map[uint32][]int{}}, objects: 8}
	for _, o := range options {
		if err := o(r); err != nil {
			return nil, err
		}
	}
	defer r.unwind()
	strategy.Start(seed)
	r.record.Start(&strategies.Config{Log: make([]Choice, 64)})
	r.start("main", nil, program)
	for r.result.Outcome == 0 {
		if err := r.step(ctx); err != nil {
			return nil, err
		}
	}
	r.flush()
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

	record  strategies.Scheduler // takes down what was chosen
	gs      []*G                 // by ID
	alive   []*G                 // those that have not returned, by ID
	current *G                   // who is running, nil while it is the scheduler
	running uint32               // who went on last
	tasks   []Task               // who can go on
	ready   []*G                 // whose operation has been made, to run to the next

	sites   map[string]heisen.Site
	roles   []Roles // by site
	objects heisen.Object
}

// step chooses a goroutine, makes its operation, and runs it to the next.
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
		return fmt.Errorf("%w: it chose %d of %d tasks", ErrStrategy, i, len(r.tasks))
	}
	r.record.Record(r.tasks, i, r.running)
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
	g.op.do(g)
	for k := 0; k < len(r.ready) && r.result.Outcome == 0; k++ {
		r.advance(r.ready[k])
	}
	return nil
}

// offer puts those into tasks that can go on.
func (r *run) offer() {
	r.alive = slices.DeleteFunc(r.alive, func(g *G) bool { return g.returned })
	r.tasks = r.tasks[:0]
	for _, g := range r.alive {
		if !g.queued && g.op.can(g) {
			r.tasks = append(r.tasks, g.task)
		}
	}
}

// flush takes over what has been recorded.
func (r *run) flush() {
	r.result.Meetings = append(r.result.Meetings, r.record.Meetings[:r.record.NumMeetings]...)
	r.result.Choices = append(r.result.Choices, r.record.Log[:r.record.NumLog]...)
	r.record.NumMeetings, r.record.NumLog = 0, 0
}

// start makes a goroutine; advance runs it.
func (r *run) start(name string, parent *G, program Program) *G {
	g := &G{run: r, id: uint32(len(r.gs)), name: name, program: program}
	g.task.ID = g.id
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

// advance runs the goroutine to its next operation or to its end.
func (r *run) advance(g *G) {
	r.current = g
	_, more := g.next()
	r.current = nil
	if !more {
		g.returned = true
		r.emit(g, heisen.Record{Op: heisen.End})
		return
	}
	g.task.OpState, g.task.Since = 0, r.record.Steps()
	g.task.Seq++
}

// unwind ends the goroutines that have not returned.
func (r *run) unwind() {
	for _, g := range r.gs {
		g.unwinding = true
		g.stop()
	}
}

// site returns the number of the place with the name.
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

// object returns a number for an object of so many bytes; it is a multiple of 8.
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
		r.result.note(g, &x)
		r.detector.Handle(x.Event())
	}
}

// deadlock says who waits for what.
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
