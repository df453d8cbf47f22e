package heal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Profiler finds the atomic pairs of the variables in a stream of a correct execution. It is a
// heisen.Detector that reports no findings; its result is the Profile. It implements the rules of figure 5
// of Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011).
//
// Two accesses that a thread makes to a variable one after the other are a pair. If no other thread accessed
// the variable in between, the pair is Exclusive; if others only read it, Shared; otherwise it is not atomic.
// What was seen least atomic counts. Atomic operations are accesses, and so are plain ones.
//
// The calling contexts of two accesses may differ. The pair then consists of the calls, or a call and an
// access, in the innermost function that contains both: the frontier of the contexts. A lock around these can
// be released in the function that acquires it.
//
// A variable that only one thread accesses has no pairs. Memory that is allocated anew is another instance of
// the variable; instances are profiled apart and then put together.
//
// An access takes some 100 ns and, after the first one of a thread at a place, no memory. Each byte range of
// the program takes about 200 bytes, and 100 for each thread that accesses it and for each pair. A Profiler
// belongs to one goroutine.
type Profiler struct {
	symbols *heisen.Symbols
	name    func([]Use) string                    // names a variable once all accesses are known; nil for the name of the object
	makes   func(string, Use) bool                // may be nil
	joined  func(first, second heisen.Frame) bool // may be nil; see WithDeferred

	memory    *shadow.Memory[*instance]
	intake    intake.Check
	threads   map[heisen.Thread]*profiledThread
	instances uint64                         // of locks: their acquisitions
	places    map[accessPlace][]heisen.Frame // outermost first
	frontiers map[frontierKey]pairKey
	ended     Profile  // of instances that are no more
	objects   *objects // nil if they are not followed; see WithObjects
}

// accessPlace is where in the program an access was made, with its calls.
type accessPlace struct {
	site    heisen.Site
	context heisen.Context
}

// frontierKey is two accesses, in the order in which a thread made them.
type frontierKey struct {
	first, second     accessPlace
	firstOp, secondOp heisen.Op
}

// profiledThread is what a Profiler knows of a thread.
type profiledThread struct {
	held []heldInstance // not changed once an access has a copy
}

// heldInstance is a lock that is held, and the acquisition that took it.
type heldInstance struct {
	lock     heisen.Object
	instance uint64
	shared   bool
}

// instance is a range of bytes that is accessed as one.
type instance struct {
	name             string
	variable         string // by its place in an object; empty if that does not tell
	accesses, writes uint64
	threads          map[heisen.Thread]*latestAccess
	locks            lockSet // held at all accesses
	pairs            map[pairKey]*observedPair
	places           []Use     // of accesses, each once, if the instance is named by them
	byPlace          []lockSet // held at all accesses at each of these places; if it matters whether they make variables
}

// latestAccess is the latest access of a thread to an instance, and how many accesses and writes there had been.
type latestAccess struct {
	place            accessPlace
	op               heisen.Op // Read or Write
	held             []heldInstance
	accesses, writes uint64
}

// pairKey names a pair within a variable.
type pairKey struct{ first, second Location }

// lockSet is a set of locks, or all locks.
type lockSet struct {
	some  bool // not all
	locks []heisen.Object
}

// keep removes the locks for which in is false. candidates are all locks for which it may be true.
func (s *lockSet) keep(candidates []heldInstance, in func(heldInstance) bool) {
	if !s.some {
		s.some = true
		for _, h := range candidates {
			if in(h) && !slices.Contains(s.locks, h.lock) {
				s.locks = append(s.locks, h.lock)
			}
		}
		return
	}
	s.locks = slices.DeleteFunc(s.locks, func(o heisen.Object) bool {
		return !slices.ContainsFunc(candidates, func(h heldInstance) bool { return h.lock == o && in(h) })
	})
}

// intersect removes the locks that are not in other.
func (s *lockSet) intersect(other lockSet) {
	switch {
	case !other.some:
	case !s.some:
		*s = lockSet{true, slices.Clone(other.locks)}
	default:
		s.locks = slices.DeleteFunc(s.locks, func(o heisen.Object) bool { return !slices.Contains(other.locks, o) })
	}
}

// observedPair is what was observed of a pair.
type observedPair struct {
	mode  Mode
	locks lockSet // held from the first to the second access, each time
}

// ProfilerOption is an option of NewProfiler.
type ProfilerOption func(*Profiler) error

// Use is a place of the program where a variable is accessed.
type Use struct {
	Site  heisen.Site
	Write bool
}

// WithUses sets a function that names a variable by all places where it was accessed, each once. It is called once for
// each range of bytes that several threads have accessed, when its memory is released or a Profile is made. Ranges for
// which it returns the same name concern the same variable, or instances of the same type or field; those for which it
// returns an empty name are left out. Each range takes memory for its places. Without this option, the name is that of
// the object in the Symbols when it is first accessed.
func WithUses(name func([]Use) string) ProfilerOption {
	return func(p *Profiler) error {
		if name == nil {
			return option.Errorf("WithUses: the function is nil")
		}
		p.name = name
		return nil
	}
}

// WithDeferred sets a function that reports whether two frames, which one call seems to have entered, belong to one call of
// a function and to calls that it defers: the stacks of deferred calls may lack the function that defers them. A pair then
// has its locations in these frames. Without this option, it is the call with itself.
func WithDeferred(joined func(first, second heisen.Frame) bool) ProfilerOption {
	return func(p *Profiler) error {
		if joined == nil {
			return option.Errorf("WithDeferred: the function is nil")
		}
		p.joined = joined
		return nil
	}
}

// WithMaking sets a function that reports whether all accesses at a place make the variable with a name: no other thread
// can know of it yet. Such accesses need no lock, so they do not keep a variable from being one that a lock
// protects. It is used with WithUses, and called as that function is. Each range takes memory for the locks at its places.
func WithMaking(makes func(variable string, at Use) bool) ProfilerOption {
	return func(p *Profiler) error {
		if makes == nil {
			return option.Errorf("WithMaking: the function is nil")
		}
		p.makes = makes
		return nil
	}
}

// NewProfiler returns a Profiler for one stream, whose symbols say what its numbers stand for. If symbols is
// nil or an option is wrong, the error wraps heisen.ErrOption.
func NewProfiler(symbols *heisen.Symbols, opts ...ProfilerOption) (*Profiler, error) {
	if symbols == nil {
		return nil, fmt.Errorf("heal.NewProfiler: %w: the symbols are nil", heisen.ErrOption)
	}
	p := &Profiler{
		symbols:   symbols,
		threads:   map[heisen.Thread]*profiledThread{},
		places:    map[accessPlace][]heisen.Frame{},
		frontiers: map[frontierKey]pairKey{},
	}
	p.memory = shadow.New(cloneInstance, p.endInstance)
	if err := option.Apply("heal.NewProfiler", p, opts); err != nil {
		return nil, err
	}
	return p, nil
}

// cloneInstance copies the state of a range that is split.
func cloneInstance(state **instance) {
	if *state == nil {
		return
	}
	copied := **state
	copied.threads = map[heisen.Thread]*latestAccess{}
	for t, latest := range (*state).threads {
		l := *latest
		copied.threads[t] = &l
	}
	copied.locks.locks = slices.Clone(copied.locks.locks)
	copied.places = slices.Clone(copied.places)
	copied.byPlace = slices.Clone(copied.byPlace)
	for i := range copied.byPlace {
		copied.byPlace[i].locks = slices.Clone(copied.byPlace[i].locks)
	}
	copied.pairs = map[pairKey]*observedPair{}
	for key, pair := range (*state).pairs {
		o := *pair
		o.locks.locks = slices.Clone(o.locks.locks)
		copied.pairs[key] = &o
	}
	*state = &copied
}

// Handle implements heisen.Detector.
func (p *Profiler) Handle(e heisen.Event) {
	if p.memory != nil {
		p.handle(heisen.AsRecord(e))
	}
}

// HandleRecords implements heisen.RecordHandler.
func (p *Profiler) HandleRecords(records []heisen.Record) {
	if p.memory == nil {
		return
	}
	for i := range records {
		p.handle(&records[i])
	}
}

// Flush implements heisen.Detector. Its error wraps heisen.ErrZero if p was not made by NewProfiler.
// The others are those that heisen.Detector names.
func (p *Profiler) Flush() error {
	if p.memory == nil {
		return fmt.Errorf("Profiler.Flush: %w", heisen.ErrZero)
	}
	return p.intake.Flush()
}

func (p *Profiler) handle(r *heisen.Record) {
	if !p.intake.Take(r, 0) {
		return
	}
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		t := p.thread(r.Thread)
		p.instances++
		t.held = append(slices.Clone(t.held), heldInstance{r.Object, p.instances, r.Op == heisen.AcquireShared})
	case heisen.Release, heisen.ReleaseShared:
		t := p.thread(r.Thread)
		for i := len(t.held) - 1; i >= 0; i-- {
			if h := t.held[i]; h.lock == r.Object && h.shared == (r.Op == heisen.ReleaseShared) {
				t.held = slices.Delete(slices.Clone(t.held), i, i+1)
				break
			}
		}
	case heisen.Alloc, heisen.Free:
		p.memory.Clear(r.Object, r.Value)
		if p.objects != nil {
			p.objects.alloc(r.Object, r.Value, r.Op == heisen.Free)
		}
	case heisen.End:
		delete(p.threads, r.Thread)
	default:
		if r.Op.IsAccess() {
			p.access(r)
		}
	}
}

func (p *Profiler) thread(t heisen.Thread) *profiledThread {
	state := p.threads[t]
	if state == nil {
		state = &profiledThread{}
		p.threads[t] = state
	}
	return state
}

// access takes an access to a variable.
func (p *Profiler) access(r *heisen.Record) {
	held := p.thread(r.Thread).held
	place := accessPlace{r.Site, r.Context}
	write := r.Op.IsWrite()
	op := heisen.Read
	if write {
		op = heisen.Write
	}
	variable := ""
	if p.objects != nil {
		variable = p.objects.access(r, place, op, held)
	}
	for c := p.memory.Range(r.Object, r.Size()); c.Next(); {
		state := c.State()
		if *state == nil {
			*state = &instance{
				threads: map[heisen.Thread]*latestAccess{},
				pairs:   map[pairKey]*observedPair{},
			}
			if p.name == nil {
				(*state).name = p.symbols.Name(c.Object())
			}
		}
		v := *state
		if v.name == "" && p.name == nil {
			continue
		}
		if variable != "" {
			v.variable = variable
		}
		// A lock that is held for reading protects reads only.
		protects := func(h heldInstance) bool { return !write || !h.shared }
		if p.name != nil {
			at := slices.Index(v.places, Use{r.Site, write})
			if at < 0 {
				at = len(v.places)
				v.places = append(v.places, Use{r.Site, write})
				if p.makes != nil {
					v.byPlace = append(v.byPlace, lockSet{})
				}
			}
			if p.makes != nil {
				v.byPlace[at].keep(held, protects)
			}
		}
		if p.name == nil || p.makes == nil {
			v.locks.keep(held, protects)
		}
		latest := v.threads[r.Thread]
		if latest == nil {
			latest = &latestAccess{}
			v.threads[r.Thread] = latest
		} else {
			p.pair(v, latest, place, op, held)
		}
		v.accesses++
		if write {
			v.writes++
		}
		*latest = latestAccess{place, op, held, v.accesses, v.writes}
	}
}

// pair takes the accesses of a thread at latest and at place, which come one after the other.
func (p *Profiler) pair(v *instance, latest *latestAccess, place accessPlace, op heisen.Op, held []heldInstance) {
	mode := Exclusive
	switch {
	case v.writes > latest.writes:
		mode = Free
	case v.accesses > latest.accesses:
		mode = Shared
	}
	key := p.frontier(latest.place, place, latest.op, op)
	pair := v.pairs[key]
	if pair == nil {
		pair = &observedPair{mode: mode}
		v.pairs[key] = pair
	}
	pair.mode = min(pair.mode, mode)
	pair.locks.keep(held, func(h heldInstance) bool { return slices.Contains(latest.held, h) })
}

// frontier returns the pair of two places: the innermost calls or accesses in a common function.
func (p *Profiler) frontier(first, second accessPlace, firstOp, secondOp heisen.Op) pairKey {
	both := frontierKey{first, second, firstOp, secondOp}
	if key, ok := p.frontiers[both]; ok {
		return key
	}
	a, b := p.stack(first), p.stack(second)
	i := 0
	for i < min(len(a), len(b))-1 && a[i] == b[i] {
		i++
	}
	if i > 0 && a[i].Func != b[i].Func && (p.joined == nil || !p.joined(a[i], b[i])) {
		i-- // one call, of a function value or of an interface method, has entered both
	}
	if i < len(a)-1 {
		firstOp = heisen.Call
	}
	if i < len(b)-1 {
		secondOp = heisen.Call
	}
	key := pairKey{locationOf(a[i], firstOp), locationOf(b[i], secondOp)}
	p.frontiers[both] = key
	return key
}

// stack returns the frames of a place, outermost first. There is at least one.
func (p *Profiler) stack(place accessPlace) []heisen.Frame {
	stack := p.places[place]
	if stack == nil {
		stack = slices.Clone(p.symbols.Stack(place.site, place.context))
		if len(stack) == 0 {
			stack = []heisen.Frame{{Func: p.symbols.Site(place.site).String()}}
		}
		slices.Reverse(stack)
		last := len(stack) - 1
		// Deferred calls are made by functions of the runtime.
		stack = append(slices.DeleteFunc(stack[:last:last], func(f heisen.Frame) bool { return strings.HasPrefix(f.Func, "runtime.") }), stack[last])
		p.places[place] = stack
	}
	return stack
}

// endInstance puts an instance into the profile.
func (p *Profiler) endInstance(state **instance) { p.add(&p.ended, *state) }

// add puts what was observed of an instance into a profile.
func (p *Profiler) add(profile *Profile, v *instance) {
	if v == nil || len(v.threads) < 2 {
		return
	}
	switch {
	case v.variable != "":
		v.name = p.objects.Name(v.variable, v.places)
	case p.name != nil:
		v.name = p.name(v.places)
	}
	if v.name == "" {
		return
	}
	for i, at := range v.places {
		if p.makes != nil && !p.makes(v.name, at) {
			v.locks.intersect(v.byPlace[i])
		}
	}
	observed := ProfiledVariable{Name: v.name, Locks: p.names(v.locks.locks)}
	for key, pair := range v.pairs {
		guards := slices.DeleteFunc(slices.Clone(pair.locks.locks), func(o heisen.Object) bool { return !slices.Contains(v.locks.locks, o) })
		observed.Pairs = append(observed.Pairs, ProfiledPair{key.first, key.second, pair.mode, p.names(guards)})
	}
	profile.add(observed)
}

// names returns the names of locks, sorted and without duplicates. Locks without a name have the name
// Unnamed.
func (p *Profiler) names(locks []heisen.Object) (names []string) {
	for _, o := range locks {
		name := p.symbols.Name(o)
		if strings.HasPrefix(name, "0x") {
			name = Unnamed
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Profile returns what has been profiled so far. It takes a step for each range of bytes and each pair. Its
// error wraps heisen.ErrZero if p was not made by NewProfiler.
func (p *Profiler) Profile() (*Profile, error) {
	if p.memory == nil {
		return nil, fmt.Errorf("Profiler.Profile: %w", heisen.ErrZero)
	}
	profile := &Profile{}
	profile.Merge(&p.ended)
	p.memory.Each(func(state **instance) { p.add(profile, *state) })
	if p.objects != nil {
		profile.Merge(&p.objects.ended)
		p.objects.observed(profile)
	}
	return profile, nil
}
