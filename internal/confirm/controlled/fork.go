package controlled

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/recorder"
)

// forks makes executions in processes that are forked where the prologue is over (recorder.Schedule). It keeps some processes that
// wait there, for different tests, modes and prologues.
type forks struct {
	mu      sync.Mutex
	known   bool           // it is known whether the program can be forked
	refuses error          // why it cannot, if it is known
	differs error          // why it is not forked any more; nil if it is
	made    int            // executions
	rewound int            // of these, how many were made by a process that had made one before
	vain    map[string]int // points against rewinding, by arguments; see mayRewind
	idle    []*waiting     // the one that was used last is the last one
	closed  bool
}

// errNotForked means that an execution was not made, and is to be made in a process of its own.
var errNotForked = errors.New("no process was forked")

const (
	maxIdle       = 8                // processes that wait and make nothing
	prologueLimit = 10 * time.Second // how long a prologue may take
	prologues     = 4                // with different random numbers
	checked       = 256              // one of so many executions is repeated in a process of its own
	vain          = 4                // points against rewinding for an execution after which a process could not go back; one less for another
	mostVain      = 12               // with so many points, processes are not rewound
	neverAgain    = 1 << 30          // points of tests whose processes once had another state than at the start
)

// Prologue returns the Prologue of a schedule for a program: 0 if the program cannot be forked.
func (p *Program) Prologue(seed uint64) uint64 {
	if p.forks == nil || !p.forks.can(p) {
		return 0
	}
	return 1 + seed%prologues
}

// can reports whether the program can be forked. It tries that first.
func (f *forks) can(p *Program) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		f.known = true
		plan := Plan{Schedule: &recorder.Schedule{Prologue: 1}, Mode: recorder.FindingsOnly}
		w, err := f.start(context.Background(), p, &plan)
		if f.refuses = err; err == nil {
			f.idle = append(f.idle, w)
		}
	}
	return f.refuses == nil
}

// forkKey is what executions have in common that are forked from the same process.
type forkKey struct {
	args, prologue string
	mode           recorder.Mode
}

func keyOf(p *Program, plan *Plan) forkKey {
	return forkKey{strings.Join(append(p.Args[:len(p.Args):len(p.Args)], plan.Tests), "\x00"), plan.Schedule.PrologueKey(), plan.Mode}
}

// waiting is a process that waits at the end of its prologue, or makes an execution at the moment.
type waiting struct {
	key     forkKey
	program *recorder.Program
	forker  *recorder.Forker
	places  *workplaces
	place   workplace
	rewound *recorder.Rewinder // a process that can make the next execution; nil if there is none
	again   bool               // the last execution was made by such a process
	gone    chan struct{}      // closed once the process has ended; nil if there is none
	ignored chan struct{}      // closed once no other program can connect any more; nil before that is waited for
	printed []byte             // by the prologue
}

// take returns a process for a plan.
func (f *forks) take(ctx context.Context, p *Program, plan *Plan) (*waiting, error) {
	key := keyOf(p, plan)
	f.mu.Lock()
	if f.closed || f.refuses != nil || f.differs != nil {
		f.mu.Unlock()
		return nil, errNotForked
	}
	for i, w := range slices.Backward(f.idle) {
		if w.key == key {
			f.idle = slices.Delete(f.idle, i, i+1)
			f.mu.Unlock()
			return w, nil
		}
	}
	f.mu.Unlock()
	w, err := f.start(ctx, p, plan)
	if err != nil { // such as that no test begins, and so all would be the prologue
		f.mu.Lock()
		f.refuses = err
		f.mu.Unlock()
		return nil, errors.Join(errNotForked, err)
	}
	return w, nil
}

// giveBack keeps a process for further executions.
func (f *forks) giveBack(w *waiting) {
	var old *waiting
	f.mu.Lock()
	switch {
	case f.closed:
		old = w
	case len(f.idle) == maxIdle:
		old, f.idle = f.idle[0], append(f.idle[1:], w)
	default:
		f.idle = append(f.idle, w)
	}
	f.mu.Unlock()
	if old != nil {
		old.end()
	}
}

// close ends all processes, and keeps none from now on.
func (f *forks) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.endIdle()
}

// endIdle ends the processes that make nothing.
func (f *forks) endIdle() {
	f.mu.Lock()
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	for _, w := range idle {
		w.end()
	}
}

// start starts a process and lets it run to the end of its prologue.
func (f *forks) start(ctx context.Context, p *Program, plan *Plan) (_ *waiting, err error) {
	place, err := p.places.take()
	if err != nil {
		return nil, err
	}
	w := &waiting{key: keyOf(p, plan), places: p.places, place: place}
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	defer in.Close()
	// The context of one execution does not end the process, which others use.
	cmd := p.command(context.WithoutCancel(ctx), plan.Tests, in, in)
	cmd.Env = append(recorder.Environ(cmd.Environ()), place.temporary.env(), place.listener.Env())
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	dog := watch(prologueLimit, func() { cmd.Cancel() })
	defer dog.stop()
	w.gone = make(chan struct{})
	go func() {
		defer close(w.gone)
		cmd.Wait()
		cmd.Cancel()
		place.listener.Stop()
	}()
	if w.program, err = place.listener.Accept(); err != nil {
		return nil, err
	}
	if w.forker, err = w.program.Wait(p.want(plan, 0)); err != nil {
		return nil, err
	}
	if w.printed, err = written(in, out); err != nil {
		return nil, err
	}
	if !place.temporary.untouched() {
		return nil, errors.New("it has temporary files before its first test")
	}
	w.ignored = make(chan struct{})
	go func() {
		defer close(w.ignored)
		ignoreAll(place.listener)
	}()
	return w, nil
}

// end ends the process.
func (w *waiting) end() {
	w.endRewound()
	if w.program != nil {
		w.program.Close(0)
	}
	if w.gone != nil {
		<-w.gone
	}
	if w.ignored != nil {
		<-w.ignored
	}
	w.places.putBack(w.place)
}

// endRewound ends the process that can make the next execution.
func (w *waiting) endRewound() {
	if w.rewound != nil {
		w.rewound.Close()
		w.rewound.Process.Kill() // it does nothing
		w.rewound.Process.Wait()
		w.rewound = nil
	}
}

// begin begins an execution: in a process that was rewound, or else in a new one. The Rewinder is nil if that is not to be rewound.
func (w *waiting) begin(rewind bool, stdout, stderr *os.File) (*recorder.Program, *os.Process, *recorder.Rewinder, error) {
	w.again = false
	if r := w.rewound; r != nil && rewind {
		if program, err := r.Next(stdout, stderr); err == nil {
			w.rewound, w.again = nil, true
			return program, r.Process, r, nil
		}
	}
	w.endRewound()
	if rewind {
		program, r, err := w.forker.Rewind(stdout, stderr)
		if err != nil {
			return nil, nil, nil, err
		}
		return program, r.Process, r, nil
	}
	program, process, err := w.forker.Fork(stdout, stderr)
	return program, process, nil, err
}

// mayRewind reports whether processes for the executions of some tests are to be rewound: not if many of them cannot go back.
func (f *forks) mayRewind(args string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.vain[args] < mostVain
}

// written returns what was written to a pipe so far, of which out is the end to read from. Nobody else writes to it at the moment.
func written(in, out *os.File) (text []byte, err error) {
	end := []byte("\x00heisen: end of the prologue\x00")
	failed := make(chan error, 1)
	go func() { // if the pipe is full, somebody must read
		_, err := in.Write(end)
		failed <- err
	}()
	var buf [4096]byte
	for !bytes.HasSuffix(text, end) {
		n, err := out.Read(buf[:])
		if text = append(text, buf[:n]...); err != nil {
			return nil, err
		}
	}
	return bytes.TrimSuffix(text, end), <-failed
}

// execute makes an execution. The error wraps errNotForked if it was not made, or is not to be trusted. Now and then it makes an
// execution in a process of its own, too. If that is another one, the program is not forked any more.
func (f *forks) execute(ctx context.Context, r *receiver) (*Execution, error) {
	w, err := f.take(ctx, r.program, r.plan)
	if err != nil {
		return nil, err
	}
	e, err := w.execute(ctx, r, f)
	again := w.again
	if err != nil || w.place.temporary.clear() != nil {
		w.end()
	} else {
		f.giveBack(w)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		f.mu.Lock()
		f.differs = err
		f.mu.Unlock()
		return nil, errors.Join(errNotForked, err)
	case f.isChecked(again) || e.Outcome.Class == Killed || e.Outcome.Class == Fatal: // of which the fork may be the cause
		return e, f.check(ctx, r, e, w.key.args, again)
	}
	return e, nil
}

// isChecked reports whether the last execution is repeated in a process of its own: now and then, and when processes were rewound
// for the first times.
func (f *forks) isChecked(rewound bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made%checked == 0 || rewound && f.rewound <= 2
}

// check repeats an execution, without telling anybody what happens in it. It returns an error if that could not be done, and
// errNotForked if a process that was rewound has made another execution, or if a program has been killed, or has failed fatally, in
// the forked process only.
func (f *forks) check(ctx context.Context, r *receiver, e *Execution, args string, rewound bool) error {
	plan := Plan{Schedule: r.plan.Schedule, Mode: r.plan.Mode, Tests: r.plan.Tests, Limit: r.plan.Limit}
	again, err := r.program.executeAfresh(ctx, &receiver{plan: &plan, resolver: r.resolver, program: r.program})
	if err != nil {
		return err
	}
	if again.Hash != e.Hash && onlyByPlan(e) && onlyByPlan(again) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if rewound {
			f.vain[args] = neverAgain
			return errNotForked
		}
		f.differs = fmt.Errorf("an execution of %d steps has %d in a process of its own", e.Steps, again.Steps)
	}
	if (e.Outcome.Class == Killed || e.Outcome.Class == Fatal) && again.Outcome.Class != e.Outcome.Class {
		return errNotForked
	}
	return nil
}

// onlyByPlan reports whether an execution depends on nothing besides its plan.
func onlyByPlan(e *Execution) bool { return len(e.Outside) == 0 && e.Measured == "" && e.Stuck == nil }

// Processes says in a sentence in which processes the executions of the program were made; empty if there were none.
func (p *Program) Processes() string {
	if p.forks == nil {
		return ""
	}
	p.forks.mu.Lock()
	defer p.forks.mu.Unlock()
	switch err := cmp.Or(p.forks.refuses, p.forks.differs); {
	case err != nil:
		return "each execution has a process of its own: " + err.Error()
	case p.forks.made > 0:
		return fmt.Sprintf("%d executions in processes that were forked, %d of them in one that had made another execution before", p.forks.made, p.forks.rewound)
	}
	return ""
}

// Forks reports whether processes are forked for the executions of the program.
func (p *Program) Forks() bool {
	if p.Prologue(0) == 0 {
		return false
	}
	p.forks.mu.Lock()
	defer p.forks.mu.Unlock()
	return p.forks.differs == nil
}

// execute makes an execution in a new process, or one that was rewound.
func (w *waiting) execute(ctx context.Context, r *receiver, f *forks) (*Execution, error) {
	var printed output
	stdout, stderr := r.plan.writers(&printed)
	pipes, err := newPipes(stdout, stderr)
	if err != nil {
		return nil, err
	}
	defer pipes.close()
	start := time.Now()
	program, process, rewinder, err := w.begin(r.plan.Process == AnyProcess && f.mayRewind(w.key.args), pipes.in[0], pipes.in[1])
	if err != nil {
		return nil, errors.Join(errNotForked, err)
	}
	kill := func() {
		processes.KillGroupOf(process)
		process.Kill() // it may not lead a group yet
	}
	stdout.Write(w.printed)
	pipes.copy()
	r.met = true
	received := make(chan struct{})
	go func() {
		defer close(received)
		r.failed = r.receive(ctx, program)
	}()
	release := context.AfterFunc(ctx, kill)
	defer release()
	dog := watch(r.plan.Limit, kill)
	end, err := w.ending(process, rewinder)
	hung := dog.stop()
	pipes.wait()
	if w.rewound == nil {
		processes.KillGroupOf(process) // the processes that the program left behind
	}
	<-received
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	e, err := r.ended(start, hung, end, w.place.temporary.hide(printed.text()))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	if w.again {
		f.rewound++
	}
	// A failure ends the process in any case.
	if key := w.key.args; w.rewound != nil {
		f.vain[key] = max(f.vain[key]-1, 0)
	} else if rewinder != nil && !e.Outcome.Class.Failed() {
		f.vain[key] += vain
	}
	return e, err
}

// ending waits for the end of an execution. If the process can make another one, it keeps it for that.
func (w *waiting) ending(process *os.Process, rewinder *recorder.Rewinder) (ending, error) {
	if rewinder != nil {
		if status, again := rewinder.Ended(); again {
			w.rewound = rewinder
			return ending{code: status}, nil
		}
		rewinder.Close()
	}
	state, err := process.Wait()
	if err != nil {
		return ending{}, err
	}
	return endingOf(state), nil
}

// pipes carry what a process prints.
type pipes struct {
	to      [2]io.Writer
	out, in [2]*os.File // the ends; the second ones are the first ones if the writers are the same
	copied  sync.WaitGroup
}

func newPipes(stdout, stderr io.Writer) (p *pipes, err error) {
	p = &pipes{to: [2]io.Writer{stdout, stderr}}
	if p.out[0], p.in[0], err = os.Pipe(); err != nil {
		return nil, err
	}
	p.out[1], p.in[1] = p.out[0], p.in[0]
	if stdout != stderr {
		if p.out[1], p.in[1], err = os.Pipe(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// copy begins to copy, once the process has the pipes.
func (p *pipes) copy() {
	p.each(func(i int) {
		p.in[i].Close()
		p.copied.Go(func() { io.Copy(p.to[i], p.out[i]) })
	})
}

// wait waits for the end of what is printed, but not for long.
func (p *pipes) wait() {
	late := time.AfterFunc(waitDelay, p.closeOut)
	p.copied.Wait()
	late.Stop()
}

func (p *pipes) each(do func(i int)) {
	do(0)
	if p.out[1] != p.out[0] {
		do(1)
	}
}

func (p *pipes) closeOut() { p.each(func(i int) { p.out[i].Close() }) }

func (p *pipes) close() {
	p.each(func(i int) {
		p.in[i].Close()
		p.out[i].Close()
	})
}
