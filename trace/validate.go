package trace

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Kinds of problems that are errors. No execution has such a trace, because locks and threads do
// not behave so.
var (
	ErrOp                = heisen.ErrOp
	ErrReleaseUnheld     = heisen.ErrReleaseUnheld
	ErrAcquireHeld       = errors.New("acquire of a lock that is held")
	ErrMode              = errors.New("release in another mode than the acquire")
	ErrBeforeFork        = errors.New("thread acts before its fork")
	ErrForkTwice         = errors.New("thread is forked twice")
	ErrSelf              = errors.New("thread forks or joins itself")
	ErrBeginNotFirst     = errors.New("begin is not the thread's first event")
	ErrAfterEnd          = errors.New("thread acts after its end")
	ErrJoinUnknown       = errors.New("join of an unknown thread")
	ErrAfterJoin         = errors.New("thread acts after it was joined")
	ErrExitWithoutEnter  = errors.New("exit without enter")
	ErrReturnWithoutCall = errors.New("return without call")
	ErrRevealWithoutHide = errors.New("reveal without hide")
	ErrRevealOther       = errors.New("reveal of another call than the one hidden last")
	ErrReach             = errors.New("set of objects is not in the symbols")
	ErrRange             = errors.New("address range is empty or wraps around")
)

// Kinds of problems that are warnings. An execution can have such a trace, but that is rare or
// means that the trace was cut short. A lock that one thread acquired and another releases is an
// unowned lock, as those of Go's package sync are.
var (
	ErrReleaseForeign = errors.New("release of a lock that another thread holds")
	ErrFreeUnknown    = errors.New("free of a range that no alloc started")
	ErrStillHeld      = errors.New("trace ends while a lock is held")
	ErrStillInside    = errors.New("trace ends within a transaction")
	ErrStillHidden    = errors.New("trace ends within hidden code")
)

// A ValidationError is a problem of a trace. It wraps its Kind.
type ValidationError struct {
	Event     uint64        // number of the event that shows the problem, from 1
	Thread    heisen.Thread // thread of that event
	Kind      error         // one of the kinds of problems of this package, such as ErrReleaseUnheld
	Warning   bool          // whether an execution can have such a trace
	Object    heisen.Object // the lock, thread or address concerned, or 0
	Earlier   uint64        // number of an earlier event that contradicts this one, or 0
	who, what string
}

// Error implements error.
func (e *ValidationError) Error() string {
	who := e.who
	if who == "" {
		who = fmt.Sprintf("T%d", e.Thread)
	}
	s := fmt.Sprintf("event %d: thread %s: %v", e.Event, who, e.Kind)
	if e.what != "" {
		s += ": " + e.what
	}
	if e.Earlier != 0 {
		s += fmt.Sprintf(" (see event %d)", e.Earlier)
	}
	return s
}

// Unwrap returns the Kind.
func (e *ValidationError) Unwrap() error {
	return e.Kind
}

// ValidatorOption changes what a [Validator] does.
type ValidatorOption func(*validatorConfig) error

type validatorConfig struct{ keep int }

// WithMaxProblems sets how many problems a Validator keeps. It counts the others. The default is
// 100.
func WithMaxProblems(n int) ValidatorOption {
	return func(c *validatorConfig) error {
		if n < 0 {
			return option.Errorf("WithMaxProblems: %d, want at least 0", n)
		}
		c.keep = n
		return nil
	}
}

const defaultKeep = 100

// Validator is a heisen.Detector that checks whether a stream of events can be that of an
// execution: a lock has one owner, and is released only while it is held; a thread is forked,
// begins, ends and is joined at most once and in this order; calls and transactions nest. After a
// problem it continues with the most likely state, so that one mistake is reported once. The zero
// Validator is ready to use and prints numbers for names.
//
// Locks are not reentrant, except that a thread may hold a lock for reading more than once. A
// Receive without a Send is no problem: a Go program receives from the slots of a channel's buffer
// before the first send. Nor is an Alloc of a range that is alive, because garbage collectors
// report no Free.
//
// It takes memory in proportion to the threads, the locks and the live allocations.
type Validator struct {
	symbols  *heisen.Symbols
	keep     int
	events   uint64
	threads  map[heisen.Thread]*threadCheck
	order    []heisen.Thread // by first mention, for Flush
	locks    map[heisen.Object]*lockCheck
	allocs   map[heisen.Object]bool
	problems []*ValidationError
	total    uint64
	errors   uint64
}

// threadCheck is the state of a thread. The number of an event that has not happened is 0.
type threadCheck struct {
	first, forked, ended, joined uint64
	calls                        uint64   // open ones
	enters                       []uint64 // numbers of the open Enter events
	hides                        []opened
}

// opened is a Hide that is still open.
type opened struct {
	event uint64
	call  heisen.Object
}

// lockCheck is the state of a lock.
type lockCheck struct {
	exclusive bool
	owner     hold   // if exclusive
	readers   []hold // otherwise
}

type hold struct {
	thread heisen.Thread
	event  uint64
}

// NewValidator returns a Validator. symbols has the names for its messages; if it is nil, numbers
// take their place.
func NewValidator(symbols *heisen.Symbols, opts ...ValidatorOption) (*Validator, error) {
	return newValidator("trace.NewValidator", symbols, opts)
}

// newValidator is NewValidator. Errors name function, which the user called.
func newValidator(function string, symbols *heisen.Symbols, opts []ValidatorOption) (*Validator, error) {
	c := validatorConfig{keep: defaultKeep}
	if err := option.Apply(function, &c, opts); err != nil {
		return nil, err
	}
	return &Validator{
		symbols: symbols,
		keep:    c.keep,
		threads: map[heisen.Thread]*threadCheck{},
		locks:   map[heisen.Object]*lockCheck{},
		allocs:  map[heisen.Object]bool{},
	}, nil
}

// Validate runs a Validator over source, until the end of the source or of ctx. If source has a
// method Symbols, as the readers of this package have, messages contain its names. The error is
// that of the source, of ctx or of an option; problems of the trace are no error. A nil ctx or source
// is an error that wraps heisen.ErrOption.
func Validate(ctx context.Context, source heisen.Source, opts ...ValidatorOption) (*Validator, error) {
	switch {
	case ctx == nil:
		return nil, fmt.Errorf("trace.Validate: %w", option.Errorf("the context is nil"))
	case source == nil:
		return nil, fmt.Errorf("trace.Validate: %w", option.Errorf("the source is nil"))
	}
	var symbols *heisen.Symbols
	if s, ok := source.(interface{ Symbols() *heisen.Symbols }); ok {
		symbols = s.Symbols()
	}
	v, err := newValidator("trace.Validate", symbols, opts)
	if err != nil {
		return nil, err
	}
	_, err = heisen.Run(ctx, source, v)
	return v, err
}

// Problems returns the first problems, in the order in which they were found.
func (v *Validator) Problems() []*ValidationError {
	return v.problems
}

// Total returns how many problems there were, warnings included.
func (v *Validator) Total() uint64 {
	return v.total
}

// Errors returns how many problems there were, without warnings.
func (v *Validator) Errors() uint64 {
	return v.errors
}

// Events returns the number of events checked.
func (v *Validator) Events() uint64 {
	return v.events
}

// Handle implements heisen.Detector.
func (v *Validator) Handle(e heisen.Event) {
	v.check(heisen.AsRecord(e))
}

// Flush implements heisen.Detector: it reports what the trace left open. Its error is nil unless v
// is.
func (v *Validator) Flush() error {
	for _, t := range v.order {
		c := v.threads[t]
		for _, event := range c.enters {
			v.warn(ErrStillInside, event, t, 0, "")
		}
		for _, h := range c.hides {
			v.warn(ErrStillHidden, h.event, t, 0, "")
		}
	}
	for _, o := range sortedLocks(v.locks) {
		l := v.locks[o]
		if l.exclusive {
			v.warn(ErrStillHeld, l.owner.event, l.owner.thread, o, v.symbols.Name(o))
		}
		for _, h := range l.readers {
			v.warn(ErrStillHeld, h.event, h.thread, o, v.symbols.Name(o))
		}
	}
	return nil
}

func (v *Validator) report(e *ValidationError) {
	v.total++
	if !e.Warning {
		v.errors++
	}
	if len(v.problems) < v.keep {
		e.who = threadName(v.symbols, e.Thread)
		v.problems = append(v.problems, e)
	}
}

// problem reports an error that the current event shows.
func (v *Validator) problem(kind error, rec *heisen.Record, earlier uint64, what string) {
	v.report(&ValidationError{Event: v.events, Thread: rec.Thread, Kind: kind, Object: rec.Object, Earlier: earlier, what: what})
}

// foreign reports that the current event releases what another thread holds.
func (v *Validator) foreign(rec *heisen.Record, holder hold) {
	v.report(&ValidationError{
		Event: v.events, Thread: rec.Thread, Kind: ErrReleaseForeign, Warning: true,
		Object: rec.Object, Earlier: holder.event, what: v.symbols.Name(rec.Object),
	})
}

func (v *Validator) warn(kind error, event uint64, t heisen.Thread, o heisen.Object, what string) {
	v.report(&ValidationError{Event: event, Thread: t, Kind: kind, Warning: true, Object: o, what: what})
}

func (v *Validator) thread(t heisen.Thread) *threadCheck {
	c := v.threads[t]
	if c == nil {
		c = &threadCheck{}
		v.threads[t] = c
		v.order = append(v.order, t)
	}
	return c
}

func (v *Validator) check(rec *heisen.Record) {
	if v.threads == nil {
		fresh, _ := NewValidator(nil)
		*v = *fresh
	}
	v.events++
	if !rec.Op.Valid() {
		v.problem(ErrOp, rec, 0, fmt.Sprintf("op %d", rec.Op))
		return
	}
	t := v.thread(rec.Thread)
	switch {
	case t.ended != 0:
		v.problem(ErrAfterEnd, rec, t.ended, rec.Op.String())
		t.ended = 0
	case t.joined != 0:
		v.problem(ErrAfterJoin, rec, t.joined, rec.Op.String())
		t.joined = 0
	}
	switch rec.Op {
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared:
		v.checkLock(rec)
	case heisen.Fork, heisen.Join:
		v.checkForkJoin(rec)
	case heisen.Begin:
		if t.first != 0 {
			v.problem(ErrBeginNotFirst, rec, t.first, "")
		}
	case heisen.End:
		t.ended = v.events
	case heisen.Call:
		t.calls++
	case heisen.Return:
		if t.calls == 0 {
			v.problem(ErrReturnWithoutCall, rec, 0, "")
		} else {
			t.calls--
		}
	case heisen.Enter:
		t.enters = append(t.enters, v.events)
	case heisen.Exit:
		if !pop(&t.enters) {
			v.problem(ErrExitWithoutEnter, rec, 0, "")
		}
	case heisen.Hide:
		t.hides = append(t.hides, opened{v.events, rec.Object})
		if v.symbols != nil && !knownReach(rec.Value, uint64(v.symbols.NumReaches())) {
			v.problem(ErrReach, rec, 0, fmt.Sprintf("set %d", rec.Value))
		}
	case heisen.Reveal:
		v.checkReveal(t, rec)
	case heisen.Alloc, heisen.Free:
		v.checkRange(rec)
	}
	if t.first == 0 {
		t.first = v.events
	}
}

func pop(open *[]uint64) bool {
	if len(*open) == 0 {
		return false
	}
	*open = (*open)[:len(*open)-1]
	return true
}

// checkReveal ends the latest Hide of rec's call, and those within it, or the latest of all if
// there is none.
func (v *Validator) checkReveal(t *threadCheck, rec *heisen.Record) {
	last := len(t.hides) - 1
	if last < 0 {
		v.problem(ErrRevealWithoutHide, rec, 0, "")
		return
	}
	i := last
	for i > 0 && t.hides[i].call != rec.Object {
		i--
	}
	if t.hides[i].call != rec.Object {
		i = last
	}
	if i < last || t.hides[i].call != rec.Object {
		v.problem(ErrRevealOther, rec, t.hides[last].event, v.symbols.Name(rec.Object))
	}
	t.hides = t.hides[:i]
}

func (v *Validator) checkForkJoin(rec *heisen.Record) {
	other := rec.Object.Thread()
	name := rec.Op.String() + " of " + threadName(v.symbols, other)
	if heisen.Object(other) == rec.Object && other == rec.Thread {
		v.problem(ErrSelf, rec, 0, name)
		return
	}
	if rec.Op == heisen.Join {
		if c := v.threads[other]; c == nil {
			v.problem(ErrJoinUnknown, rec, 0, name)
		} else if c.ended == 0 {
			c.joined = v.events
		}
		return
	}
	c := v.thread(other)
	switch {
	case c.forked != 0:
		v.problem(ErrForkTwice, rec, c.forked, name)
	case c.first != 0:
		v.problem(ErrBeforeFork, rec, c.first, name)
	}
	if c.forked == 0 {
		c.forked = v.events
	}
}

func (v *Validator) checkRange(rec *heisen.Record) {
	switch {
	case rec.Value == 0 || rec.Value-1 > math.MaxUint64-uint64(rec.Object):
		v.problem(ErrRange, rec, 0, fmt.Sprintf("%v of %d bytes at %s", rec.Op, rec.Value, v.symbols.Name(rec.Object)))
	case rec.Op == heisen.Alloc:
		v.allocs[rec.Object] = true
	case v.allocs[rec.Object]:
		delete(v.allocs, rec.Object)
	default:
		v.warn(ErrFreeUnknown, v.events, rec.Thread, rec.Object, v.symbols.Name(rec.Object))
	}
}

// threadName returns the text for a thread.
func threadName(symbols *heisen.Symbols, t heisen.Thread) string {
	if name := symbols.Thread(t).Name; name != "" {
		return name
	}
	return fmt.Sprintf("T%d", t)
}
