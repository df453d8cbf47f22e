// Package controlled makes one execution of a program under one schedule, and judges how it ended.
//
// A Source is built into Programs, which have Units: tests, or the program itself. Program.Execute follows a Plan; the Execution has the
// Outcome, what met, what was observed, and on what it depended besides the schedule. Origin and Restore translate between schedules and
// their text form, which may come from anybody. Which schedules are worth an execution is the business of other packages.
//
// An execution costs what the program costs with the recorder on one processor. Several goroutines may use a Program.
package controlled

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/overlap"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/waitreason"
	"github.com/heisen-go/heisen/report"
)

// Plan describes one execution of a program.
type Plan struct {
	Schedule *recorder.Schedule
	Mode     recorder.Mode
	Tests    string        // which tests run, as -test.run takes it; empty for all
	Process  Process       // in which it is made
	Limit    time.Duration // real time after which it ends, or is stopped if it does not; 0 for none
	Output   io.Writer     // gets a copy of its standard output; may be nil
	Errors   io.Writer     // gets a copy of its standard error; may be nil

	// Detect returns detectors for the recording; it may be nil.
	Detect func(symbols *heisen.Symbols) ([]heisen.Detector, error)
	// OnMeeting is called at each Meeting, between the events of the recording; it may be nil.
	OnMeeting func(recorder.Meeting)
	// OnRace is called at each race by happens-before, likewise; it may be nil.
	OnRace func(f *heisen.Finding, symbols *heisen.Symbols)
	// Finish is called at the end of the recording, while its symbols are still valid, with the execution as far as it is known
	// from that; it may be nil.
	Finish func(e *Execution, symbols *heisen.Symbols)
}

// Process says in what kind of process an execution is made. The execution is the same in each of them.
type Process int

const (
	AnyProcess Process = iota // in the cheapest one
	Forked                    // at best in one that is forked for it
	Afresh                    // in one that is started for it
)

// Execution is the result of a Plan.
type Execution struct {
	recorder.Execution
	Outcome   Outcome
	Blocked   []report.Blocked // the goroutines that had not ended, if the program got stuck, or that wait for ever
	Observed  []report.Finding // bugs that it has shown by itself, each once
	Unseen    recorder.Unseen  // what may synchronize besides
	Root      *report.Finding  // the leak because of which no goroutine can go on, if that is one, as far as it is known who holds which locks; otherwise nil
	Deadlocks []report.Finding // circles of goroutines that wait for each other's locks, as far as it is known who holds them
	Outside   []string         // inputs besides the schedule, with places
	// Awaited is what outside of the program could still answer when virtual time first went past the
	// real one nevertheless, with a place; empty if it never did.
	Awaited string
	// HeldBack says which goroutine could continue and did not, and how long, if it was starved.
	HeldBack string
	// Measured is what the program has measured of the runtime, with the first place; empty if nothing.
	Measured string
	Output   []byte // what the program printed; only start and end if it is long
	Meetings []Meeting
	Took     time.Duration

	Where *FailedAt // nil if it is not known where the program has failed, or if it has not
}

// Meeting is a bug that a strategy has made happen: operations that are next at the same time.
type Meeting struct {
	recorder.Meeting
	Finding report.Finding
}

// Findings returns the bugs that have happened in an execution.
func (e *Execution) Findings() (all []report.Finding) {
	for i := range e.Meetings {
		all = append(all, e.Meetings[i].Finding)
	}
	all = append(all, e.Deadlocks...)
	for i := range e.Observed {
		if e.DeadlockOf(&e.Observed[i]) == nil {
			all = append(all, e.Observed[i])
		}
	}
	return all
}

// DeadlockOf returns the deadlock that a failure, or a goroutine that waits for ever, belongs to, if the locks of the execution were recorded; nil
// if there is none.
func (e *Execution) DeadlockOf(f *report.Finding) *report.Finding {
	if f.Kind == heisen.Failure && e.Outcome.Class == Deadlocked && len(e.Deadlocks) > 0 {
		return &e.Deadlocks[0]
	}
	if f.Kind != heisen.Leak || len(f.Accesses) != 1 || len(f.Accesses[0].Stack) == 0 {
		return nil
	}
	at := f.Accesses[0].Stack[0]
	for i := range e.Deadlocks {
		if slices.ContainsFunc(e.Deadlocks[i].Blocked, func(b report.Blocked) bool { return len(b.Stack) > 0 && b.Stack[0] == at }) {
			return &e.Deadlocks[i]
		}
	}
	return nil
}

// LongExecution is a number of steps that take about a second.
const LongExecution = 1 << 20

// Late reports whether what the execution shows may be an assumption about time: a goroutine was held back
// while time passed, or time has passed while something outside of the program could still answer.
func (e *Execution) Late() bool { return e.Delays > 0 || e.Overtook() }

// starving is how long, by the program's clock, a goroutine that can continue is held back on a busy machine.
const starving = 10 * time.Millisecond

// WasStarved reports whether a goroutine that could continue was held back for longer than that, and the program may know.
func (e *Execution) WasStarved() bool { return e.Starved.Time > starving }

// Overtook reports whether virtual time went past the real one while something could still answer.
func (e *Execution) Overtook() bool { return e.Overtaken.Count > 0 }

// Long reports whether there can only be few executions like this one.
func (e *Execution) Long() bool {
	return e.Steps >= LongExecution || e.Stuck != nil && e.Stuck.Why == recorder.OutOfSteps
}

// grace is the time that a program has to end by itself at the limit of an execution. Then it reports
// the goroutines that wait for ever, and the execution can be repeated up to there.
const grace = time.Second

// maxMeetings bounds the meetings that are kept of an execution, the first ones.
const maxMeetings = 100

// findingOf returns a meeting as a finding.
func findingOf(m recorder.Meeting) heisen.Finding {
	f := heisen.Finding{Detector: DetectorName, Kind: heisen.Atomicity, Accesses: m.Accesses}
	if m.Kind == strategies.Race && len(m.Accesses) == 2 {
		f = overlap.Race(m.Accesses[0], m.Accesses[1])
		f.Detector = DetectorName
		f.Message = fmt.Sprintf("%v and %v happen at the same time", m.Accesses[0].Op.Words(), m.Accesses[1].Op.Words())
	}
	return f
}

// DetectorName is the Detector of confirmed findings.
const DetectorName = "racefuzz"

// Execute runs a program once, with an empty standard input: another kind of file would change its execution on Windows, where
// package os asks what it is. It returns an error if the execution could not be made or received.
// The program's own failure is in the Execution. If the schedule has a prologue, the process may be forked where that is over: the
// execution is the same, and costs less.
func (p *Program) Execute(ctx context.Context, plan Plan, resolver *observed.Resolver) (*Execution, error) {
	if plan.Schedule.Prologue != 0 && plan.Process != Afresh && p.forks != nil {
		e, err := p.forks.execute(ctx, &receiver{plan: &plan, resolver: resolver, program: p})
		if !errors.Is(err, errNotForked) {
			return e, err
		}
	}
	return p.executeAfresh(ctx, &receiver{plan: &plan, resolver: resolver, program: p})
}

// executeAfresh makes an execution in a process that is started for it.
func (p *Program) executeAfresh(ctx context.Context, r *receiver) (*Execution, error) {
	place, err := p.places.take()
	if err != nil {
		return nil, err
	}
	defer p.places.putBack(place)
	r.listener = place.listener
	var printed output
	stdout, stderr := r.plan.writers(&printed)
	cmd := p.command(ctx, r.plan.Tests, stdout, stderr)
	cmd.Env = append(recorder.Environ(cmd.Environ()), place.temporary.env(), place.listener.Env())
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		r.accept(ctx)
	}()
	dog := watch(r.plan.Limit, func() { cmd.Cancel() })
	err = cmd.Wait()
	hung := dog.stop()
	cmd.Cancel() // the processes that the program left behind
	place.listener.Stop()
	<-received
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	return r.ended(start, hung, endingOf(cmd.ProcessState), place.temporary.hide(printed.text()))
}

// A watchdog kills a program that goes on beyond the limit of its execution.
type watchdog struct {
	timer *time.Timer // nil if there is no limit
	bit   atomic.Bool
}

func watch(limit time.Duration, kill func()) *watchdog {
	w := &watchdog{}
	if limit > 0 {
		w.timer = time.AfterFunc(limit+grace, func() {
			w.bit.Store(true)
			kill()
		})
	}
	return w
}

// stop is called once the program has ended, and reports whether it was killed.
func (w *watchdog) stop() bool {
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.bit.Load()
}

// ended returns the execution of a program that has ended, and has printed something.
func (r *receiver) ended(start time.Time, hung bool, end ending, printed []byte) (*Execution, error) {
	e := &r.execution
	e.Took = time.Since(start)
	e.Output = printed
	// The messages are part of the fingerprints of failures.
	switch {
	case hung || e.Stuck != nil && e.Stuck.Why == recorder.OutOfSteps:
		e.Outcome = Outcome{Class: Hung, Message: "it does not end in its time"}
	case e.Stuck != nil && e.Stuck.Why == recorder.Deadlock:
		e.Outcome = Outcome{Class: Deadlocked, Message: "no goroutine can go on", Waits: waitsOf(e.Blocked)}
	case e.Stuck != nil:
		e.Outcome = Outcome{Class: Hung, Message: "it does not end by its own clock"}
	default:
		e.Outcome = outcomeOf(end, e.Output)
	}
	e.takeFailing()
	if !r.met && !hung { // on a busy machine it may have been stopped before
		return e, errors.Join(r.failed, fmt.Errorf("%s: the program has not connected to heisen", r.program.Path))
	}
	return e, r.failed
}

// writers returns what the program's standard output and standard error go to: a copy goes to printed.
func (plan *Plan) writers(printed io.Writer) (stdout, stderr io.Writer) {
	tee := func(w io.Writer) io.Writer {
		if w == nil {
			return printed
		}
		return io.MultiWriter(printed, w)
	}
	return tee(plan.Output), tee(plan.Errors)
}

// command returns the command of a process for executions.
func (p *Program) command(ctx context.Context, tests string, stdout, stderr io.Writer) *exec.Cmd {
	args := p.Args
	if p.Test {
		args = testArgs(p.Args, tests)
	}
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, stdout, stderr
	// Kill the program's process group, so that processes that it has started end with it.
	processes.OwnGroup(cmd)
	cmd.Cancel = func() error { return processes.KillGroup(cmd) }
	cmd.WaitDelay = waitDelay
	return cmd
}

// waitDelay is how long processes that a program has left behind may print.
const waitDelay = time.Second

// receiver receives the events of a program. It ignores programs that the program starts.
type receiver struct {
	listener  *recorder.Listener
	plan      *Plan
	resolver  *observed.Resolver
	program   *Program
	met       bool // the program has connected
	execution Execution
	failed    error
}

// accept returns when the listener is stopped and all programs have ended.
func (r *receiver) accept(ctx context.Context) {
	var others sync.WaitGroup
	var received error
	defer func() {
		others.Wait()
		r.failed = errors.Join(r.failed, received)
	}()
	for {
		p, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			r.failed = errors.Join(r.failed, err)
			return
		}
		if r.met { // a program that the program has started
			others.Go(func() { ignore(p) })
			continue
		}
		r.met = true
		others.Go(func() { received = r.receive(ctx, p) })
	}
}

// ignoreAll lets all programs run without recording them, until the listener is stopped and they have ended.
func ignoreAll(l *recorder.Listener) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		p, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() { ignore(p) })
	}
}

// ignore lets a program run without recording it.
func ignore(p *recorder.Program) {
	defer p.Close(0)
	if stream, err := p.Open(recorder.Want{Mode: recorder.FindingsOnly}); err == nil {
		drain(stream)
	}
}

// drain reads the rest of a stream, because the program waits until everything is read.
func drain(stream *recorder.Stream) {
	for {
		if _, err := stream.NextBatch(); err != nil {
			return
		}
	}
}

// want returns what a program is to do for a plan, within a limit of real time.
func (p *Program) want(plan *Plan, limit time.Duration) recorder.Want {
	schedule := *plan.Schedule
	schedule.ToEnd, schedule.AtMain, schedule.MaxTime = true, !p.Test, limit
	want := recorder.Want{Mode: plan.Mode | recorder.EverythingAndRaces, Schedule: &schedule}
	if p.symbols != nil {
		want.Symbolizer = p.symbols
	}
	return want
}

func (r *receiver) receive(ctx context.Context, p *recorder.Program) error {
	defer p.Close(0)
	stream, err := p.Open(r.program.want(r.plan, r.plan.Limit))
	if err != nil {
		return err
	}
	held := observed.NewScheduledLocks(stream.Symbols(), r.plan.Mode)
	stream.OnMeeting(func(m recorder.Meeting) {
		if len(r.execution.Meetings) == maxMeetings {
			return
		}
		held.Hold(m.Accesses)
		r.execution.Meetings = append(r.execution.Meetings, Meeting{Meeting: m})
		if r.plan.OnMeeting != nil {
			r.plan.OnMeeting(m)
		}
	})
	var found observed.RacesFound
	stream.OnOverlap(func(o recorder.Overlap) {
		if f, isRace := found.Add(o); isRace && r.plan.OnRace != nil {
			f = observed.Attributed(f, stream.Symbols())
			r.plan.OnRace(&f, stream.Symbols())
		}
	})
	var detectors []heisen.Detector
	if r.plan.Detect != nil {
		if detectors, err = r.plan.Detect(stream.Symbols()); err != nil {
			drain(stream)
			return err
		}
	}
	_, err = heisen.Run(ctx, stream, append(detectors, held)...)
	drain(stream)
	for i := range r.execution.Meetings { // after the end all goroutines have names
		m := &r.execution.Meetings[i]
		m.Finding = r.resolver.Resolve(findingOf(m.Meeting), stream.Symbols())
		r.knowLocks(&m.Finding)
	}
	r.execution.Execution = *stream.Execution()
	r.program.behaviors.add(r.execution.Behaviors, stream)
	if stuck := r.execution.Stuck; stuck != nil {
		r.execution.Blocked = held.Blocked(stuck.Goroutines, r.resolver)
		r.execution.Deadlocks = held.Deadlocks(stuck.Goroutines, r.resolver)
		if stuck.Why == recorder.Deadlock {
			r.execution.Root = held.Root(stuck.Goroutines, r.resolver)
		}
	} else {
		waiting := slices.DeleteFunc(slices.Clone(r.execution.Leaked), func(b recorder.Blocked) bool { return b.Unstoppable })
		r.execution.Blocked = held.Blocked(waiting, r.resolver)
		r.execution.Deadlocks = held.Deadlocks(waiting, r.resolver)
	}
	leaks := held.Leaks(r.execution.Leaked, r.resolver)
	for i := range leaks {
		r.knowLocks(&leaks[i])
		leaks[i].Count = 1 // executions count, not goroutines
	}
	// What the happens-before order leaves unordered is a race only if that order is complete. Then accesses
	// can still meet.
	if r.execution.Unseen = stream.Unseen(); !r.execution.Unseen.Any() {
		for i := range r.execution.Meetings {
			found.AddMeeting(&r.execution.Meetings[i].Meeting)
		}
		r.execution.Observed = found.Resolved(r.resolver, stream.Symbols())
	}
	r.execution.Observed = append(r.execution.Observed, leaks...)
	for _, m := range r.execution.Misuses {
		if f, is := observed.MisuseOf(m, stream.Symbols()); is {
			r.execution.Observed = observed.AddMisuse(r.execution.Observed, r.resolver.Resolve(f, stream.Symbols()))
		}
	}
	if at := r.execution.Failing; at != nil {
		r.execution.Where = failingAt(r.resolver, at, stream.Symbols())
	}
	for _, in := range r.execution.Influences {
		r.execution.Outside = append(r.execution.Outside, influenceOf(r.resolver, in, stream.Symbols()))
	}
	if in := r.execution.Overtaken; in.Count > 0 {
		r.execution.Awaited = influenceOf(r.resolver, in, stream.Symbols())
		if !slices.Contains(r.execution.Outside, r.execution.Awaited) {
			r.execution.Outside = append(r.execution.Outside, r.execution.Awaited)
		}
	}
	if r.execution.WasStarved() {
		r.execution.HeldBack = heldBack(r.resolver, r.execution.Starved, stream.Symbols())
	}
	r.execution.Measured = measuredBy(r.resolver, r.execution.Execution.Measured, stream.Symbols())
	if r.plan.Finish != nil {
		r.plan.Finish(&r.execution, stream.Symbols())
	}
	var lost *recorder.LostError
	if errors.As(err, &lost) { // the program was killed
		err = nil
	}
	if failed := stream.SymbolError(); failed != nil && err == nil {
		err = fmt.Errorf("its places cannot be named: %w", failed)
	}
	return err
}

// knowLocks notes in a finding if its locks are not known, because they were not recorded. The races
// that a program finds itself have them in any case.
func (r *receiver) knowLocks(f *report.Finding) {
	for i := range f.Accesses {
		f.Accesses[i].LocksUnknown = r.plan.Mode == recorder.FindingsOnly
	}
}

// AwaitedLocks returns the locks for which goroutines wait at the end of an execution.
func (e *Execution) AwaitedLocks() (locks []heisen.Object) {
	blocked := e.Leaked
	if e.Stuck != nil {
		blocked = e.Stuck.Goroutines
	}
	for i := range blocked {
		if g := &blocked[i]; waitreason.Op(g.Reason).IsLock() && !slices.Contains(locks, g.Object) {
			locks = append(locks, g.Object)
		}
	}
	return locks
}
