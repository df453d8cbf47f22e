package focus

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Mode says by which rule a Filter leaves out accesses.
type Mode uint8

const (
	// Combined leaves out what either of the other modes leaves out.
	Combined Mode = iota
	// FieldBased leaves out the accesses to variables that are safe, see Plan.Safe.
	FieldBased
	// MethodBased leaves out accesses in trusted executions of functions, see Properties: those to safe
	// variables, and those to guarded variables whose lock is known. It checks all other accesses
	// to these guarded variables by itself.
	MethodBased
)

// Names says what the numbers in the records of a stream mean in the source.
type Names struct {
	// Variable returns the variable to which all bytes belong that a record accesses; false if they
	// belong to several or to none that is known. All accesses to a byte must be of the same
	// variable. It must not be nil.
	Variable func(*heisen.Record) (Variable, bool)
	// Lock returns the lock that g says for the object that a record accesses: the object of its
	// Acquire events. It returns false if it does not know. Nil knows none.
	Lock func(r *heisen.Record, v Variable, g Guard) (heisen.Object, bool)
	// Symbols has the functions that sites and contexts stand for. If it is nil, no function is known.
	Symbols *heisen.Symbols
}

// Filter stands in front of a detector and leaves out accesses of which a Plan says that they need no
// checking: focused run-time checking (Agarwal, Sasturkar, Wang and Stoller, section 6.1). It never
// leaves out an event that can order others, so the order behind it is that of the whole stream.
//
// In the modes MethodBased and Combined it also checks whether accesses conform with the owner of
// their variable, for variables that are guarded and not safe: it reports an access without the lock of
// the Guard, and a change of the lock, if the object is shared and was written since, as Eraser does with
// that lock as the only candidate. These findings have Detector "focus" and Kind heisen.Discipline.
// There is at most one for each byte and allocation epoch. A finding has two accesses: the reported one, and
// the last one by another goroutine, of which the index is unknown and the size is 1. Locks has the lock.
//
// # Guarantee
//
// Assume that the plan is true of the program (see Protection and Properties), that the stream has all
// accesses, synchronization and allocations, that the contexts of accesses in functions that require locks
// have all callers, and that what Names returns is right. Then each byte on which lockset.Eraser or
// vclock.FastTrack has a finding in the whole stream has one of the Filter, or of the same detector behind
// it. The exception is what Eraser reports of safe variables that are Unique: they do not race, but Eraser
// knows no messages. What is left out never adds a finding: Eraser and FastTrack report no byte behind
// the Filter that they do not report in the whole stream.
//
// With lockset.WithObjectGranularity, this is so for each object that has a byte on which Eraser without that
// option has a finding. What it reports of other objects comes from accesses to different fields under
// different locks, which is no race.
//
// Detectors of transactions and of atomic sections need the accesses that a Filter leaves out.
//
// The paper checks at calls from untyped functions to typed ones that the locks are held which these
// require. A stream does not say which objects a call is about. In the place of that check, a function
// that requires locks is trusted only if its caller is, and accesses in an execution that is not trusted
// are checked completely. Nor does a Filter rely on a typed function for variables that are local,
// read-only or handed over, because other code decides about them.
//
// # Cost
//
// An access costs a call of Names.Variable and a few nanoseconds, and one that the Filter checks about as much as
// in Eraser, and about 80 bytes per byte or word. In steady state nothing is allocated.
type Filter struct {
	plan  *Plan
	next  heisen.Detector
	names Names
	mode  Mode
	sink  heisen.Sink

	handleNext func([]heisen.Record)
	skipper    heisen.Skipper // nil if next is none
	skipped    uint64         // events left out since the last one that was forwarded
	events     uint64
	dropped    uint64

	table     *locksets.Table
	locks     *locksets.Tracker
	memory    *shadow.Memory[conformance]
	variables variableNumbers
	planned   []planned // by number of the variable
	trust     trust
}

// planned is what the plan says of a variable.
type planned struct {
	safe    bool
	guarded bool
	guard   Guard
}

// FilterOption is an option of NewFilter.
type FilterOption func(*Filter) error

// WithMode sets the rule by which accesses are left out. The default is Combined.
func WithMode(mode Mode) FilterOption {
	return func(f *Filter) error {
		if mode > MethodBased {
			return option.Errorf("WithMode: mode %d is none of the constants", mode)
		}
		f.mode = mode
		return nil
	}
}

// WithSink sets where a Filter reports accesses that do not conform with the owner of their variable.
// Without it, or with nil, they are discarded.
func WithSink(sink heisen.Sink) FilterOption {
	return func(f *Filter) error {
		f.sink = sink
		return nil
	}
}

// NewFilter returns a Filter for one stream that forwards to next what plan does not make needless. Plan
// must not change afterwards. If plan, next or names.Variable is nil, the error wraps heisen.ErrOption, and
// if Check refuses the plan, ErrPlan.
func NewFilter(plan *Plan, next heisen.Detector, names Names, opts ...FilterOption) (*Filter, error) {
	const constructor = "focus.NewFilter"
	for argument, missing := range map[string]bool{"plan": plan == nil, "detector": next == nil, "function Names.Variable": names.Variable == nil} {
		if missing {
			return nil, fmt.Errorf("%s: %w: the %s is nil", constructor, heisen.ErrOption, argument)
		}
	}
	if err := plan.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", constructor, err)
	}
	f := &Filter{plan: plan, next: next, names: names}
	if err := option.Apply(constructor, f, opts); err != nil {
		return nil, err
	}
	f.skipper, _ = next.(heisen.Skipper)
	if h, ok := next.(heisen.RecordHandler); ok {
		f.handleNext = h.HandleRecords
	} else {
		f.handleNext = heisen.Tee(next).(heisen.RecordHandler).HandleRecords
	}
	f.table = locksets.NewTable()
	f.locks = locksets.NewTracker(f.table)
	f.memory = shadow.New[conformance](nil, nil)
	f.trust = trust{plan: plan, symbols: names.Symbols, known: map[place]bool{}, places: maxPlaces}
	f.variables.sites = maxSites
	return f, nil
}

// Handle implements heisen.Detector.
func (f *Filter) Handle(e heisen.Event) {
	if f.plan == nil {
		return
	}
	if f.drop(heisen.AsRecord(e)) {
		f.skipped++
		return
	}
	f.reportSkipped()
	f.next.Handle(e)
}

// HandleRecords implements heisen.RecordHandler. It forwards maximal runs of records without copying them.
func (f *Filter) HandleRecords(batch []heisen.Record) {
	if f.plan == nil {
		return
	}
	start := 0 // of the run
	for i := range batch {
		if !f.drop(&batch[i]) {
			continue
		}
		f.forward(batch[start:i])
		f.skipped++
		start = i + 1
	}
	f.forward(batch[start:])
}

func (f *Filter) forward(run []heisen.Record) {
	if len(run) > 0 {
		f.reportSkipped()
		f.handleNext(run)
	}
}

// reportSkipped tells the detector what was left out before the event that comes next.
func (f *Filter) reportSkipped() {
	if f.skipped > 0 && f.skipper != nil {
		f.skipper.Skip(f.skipped)
	}
	f.skipped = 0
}

// Skip implements heisen.Skipper, for a filter in front of this one. A filter of redundant accesses belongs
// behind a Filter, not in front of it.
func (f *Filter) Skip(events uint64) {
	f.skipped += events
	f.events += events
}

// LockUse implements heisen.LockUser: that of the detector, if the Filter needs no more.
func (f *Filter) LockUse() heisen.LockUse {
	if f.plan == nil {
		return heisen.LocksAsEvents
	}
	use := heisen.LocksAsEvents
	if u, ok := f.next.(heisen.LockUser); ok {
		use = u.LockUse()
	}
	if f.mode != FieldBased && use != heisen.LocksAsSets {
		return heisen.LocksAsEvents
	}
	return use
}

// Flush implements heisen.Detector. It flushes the detector and returns its error.
func (f *Filter) Flush() error {
	if f.plan == nil {
		return heisen.ErrZero
	}
	return f.next.Flush()
}

// Dropped returns how many events the Filter has left out.
func (f *Filter) Dropped() uint64 {
	return f.dropped
}

// drop handles an event and reports whether it is left out.
func (f *Filter) drop(r *heisen.Record) bool {
	f.events++
	access := r.Access()
	needless := access != heisen.Invalid && f.access(r, access) && !r.Op.IsSync()
	if needless {
		f.dropped++
		return true
	}
	if f.mode != FieldBased && r.Op != heisen.Read && r.Op != heisen.Write {
		f.locks.Handle(r)
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			f.memory.Clear(r.Object, r.Value)
		}
		f.compact()
	}
	return false
}

// access reports whether an access by op needs no further checking.
func (f *Filter) access(r *heisen.Record, op heisen.Op) bool {
	v, ok := f.names.Variable(r)
	if !ok {
		return false
	}
	p := f.of(r.Site, v)
	if f.mode == FieldBased || f.mode == Combined && p.safe {
		return p.safe
	}
	if !p.safe && !p.guarded {
		return false
	}
	trusted := f.trust.at(r)
	if p.safe || f.names.Lock == nil {
		return trusted && p.safe
	}
	lock, ok := f.names.Lock(r, v, p.guard)
	if !ok {
		return false
	}
	return f.check(r, op, lock, trusted, v) && trusted
}

// of returns what the plan says of a variable that is accessed at a site.
func (f *Filter) of(site heisen.Site, v Variable) *planned {
	number := f.variables.number(site, v)
	if int(number) == len(f.planned) {
		owner := f.plan.Variables[v].Owner
		f.planned = append(f.planned, planned{f.plan.Safe(v), owner.Kind == Guarded, owner.Guard})
	}
	return &f.planned[number]
}
