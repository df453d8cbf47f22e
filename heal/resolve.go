package heal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// Function is what Resolve needs to know about a function of a program.
type Function struct {
	Graph *Graph
	// Variables has the variables for which locks are placed, by name.
	Variables map[string]Variable
	// Locks has the operations on the program's own locks. A node has at most one, or a call, and then
	// accesses no variable that locks are placed for, unless in the call.
	Locks []LockOp
	// Calls has the calls of other functions, also of the function itself. Functions that are started in
	// another thread are not called.
	Calls []FunctionCall
}

// LockOp is an operation on a lock of the program.
type LockOp struct {
	Node    int
	Lock    string
	Mode    Mode // Shared or Exclusive
	Release bool
	Try     bool // an acquisition that fails rather than waits
}

// FunctionCall says that a node calls one of several functions, by their numbers.
type FunctionCall struct {
	Node    int
	Callees []int
}

// Resolution is the result of Resolve.
type Resolution struct {
	// Placements has the placement of each function and variable.
	Placements []map[string]*Placement
	// Hoists has the holds that were added, in the order in which Resolve found them necessary.
	Hoists []Hoist
	// Dropped has the variables that cannot be protected without a deadlock. They have no placement.
	Dropped []string
	// Cycles has the variables in the cycle for which each variable of Dropped was dropped, in order, itself among them. Leaving out
	// the pairs of another one may keep it.
	Cycles map[string][]string
}

// Hoist is a hold that Resolve has added: the lock of Variable is acquired before the lock Before.
type Hoist struct {
	Function         int
	Variable, Before string
	Hold             Hold
}

// Resolve places the locks of all variables so that they cannot deadlock, neither with each other nor with locks
// of the program. It implements section 8 of Weeratunge, Zhang and Jagannathan, Accentuating the Positive
// (OOPSLA 2011): where a cycle of the lock-order graph contains an inserted lock, that lock is acquired before
// the one that precedes it in the cycle, too. The locks of the program stay where they are. Deadlocks that the
// program has without the inserted locks remain.
//
// Of all orders that can be reversed in a cycle, Resolve reverses the one for which the lock is held at the
// fewest further nodes. If none can be reversed, it drops the variable whose lock is in the cycle.
//
// The cost is about that of Place for every function and variable, times the number of hoists. If anything in
// the functions is not about them, the error wraps heisen.ErrOption; it is that of ctx if ctx ends.
func Resolve(ctx context.Context, functions []Function) (*Resolution, error) {
	if ctx == nil {
		return nil, fmt.Errorf("heal.Resolve: %w: the context is nil", heisen.ErrOption)
	}
	r := newResolver(functions)
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("heal.Resolve: %w", err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("heal.Resolve: %w", err)
		}
		if err := r.place(); err != nil {
			return nil, fmt.Errorf("heal.Resolve: %w", err)
		}
		cycle := r.order().cycle()
		if cycle == nil {
			return r.result(), nil
		}
		r.reverse(cycle)
	}
}

// resolver resolves deadlocks of one program.
type resolver struct {
	given      []Function // by the caller
	functions  []Function // with the hoists
	placers    []map[string]*placer
	placements []map[string]*Placement
	hoists     []Hoist
	dropped    map[string][]string // with the variables in the cycle
	decided    map[lockPair]bool   // orders that have been reversed, and are not reversed back
	known      map[string]placed   // placements since begin, see placeIn
	variables  int
	numbers    map[string]int // of the variables

	program *programLocks // nil until it is wanted
}

func newResolver(functions []Function) *resolver {
	r := &resolver{given: functions, dropped: map[string][]string{}}
	all := map[string]bool{}
	for _, f := range functions {
		for name := range f.Variables {
			all[name] = true
		}
	}
	r.variables, r.numbers = len(all), map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		r.numbers[name] = i
	}
	r.begin()
	return r
}

// begin begins without hoists.
func (r *resolver) begin() {
	r.functions, r.hoists, r.decided = slices.Clone(r.given), nil, map[lockPair]bool{}
	r.known = map[string]placed{}
	for i := range r.functions {
		r.functions[i].Variables = maps.Clone(r.functions[i].Variables)
	}
}

// lockName names a lock: one of the program, or the inserted one of a variable.
type lockName struct {
	name     string
	inserted bool
}

// lockPair is two locks in the order in which a thread acquires them.
type lockPair struct{ first, second lockName }

// check returns an error if a number is out of range.
func (r *resolver) check() error {
	for i, f := range r.functions {
		for _, op := range f.Locks {
			if err := f.Graph.check(op.Node); err != nil {
				return fmt.Errorf("function %d: %w", i, err)
			}
			if op.Mode != Shared && op.Mode != Exclusive {
				return fmt.Errorf("%w: function %d: lock %s in mode %v", heisen.ErrOption, i, op.Lock, op.Mode)
			}
		}
		for _, c := range f.Calls {
			if err := f.Graph.check(c.Node); err != nil {
				return fmt.Errorf("function %d: %w", i, err)
			}
			for _, callee := range c.Callees {
				if callee < 0 || callee >= len(r.functions) {
					return fmt.Errorf("%w: function %d calls function %d of %d", heisen.ErrOption, i, callee, len(r.functions))
				}
			}
		}
	}
	return nil
}

// names returns the variables of a function that are not dropped, in order.
func (r *resolver) names(function int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.functions[function].Variables)), func(name string) bool { return r.dropped[name] != nil })
}

// place places all locks. What functions do with a lock in calls depends on the placements, and the placements
// on the modes in which callees take the lock; these only become stronger.
func (r *resolver) place() error {
	if r.program == nil {
		r.program = newProgramLocks(r.functions)
	}
	r.placers = make([]map[string]*placer, len(r.functions))
	r.placements = make([]map[string]*Placement, len(r.functions))
	modes := newStrongest(len(r.functions), r.variables)
	var work []int
	for i, f := range r.functions {
		r.placers[i], r.placements[i] = map[string]*placer{}, map[string]*Placement{}
		if len(f.Variables) > 0 {
			work = append(work, i)
		}
	}
	var failed error
	upwards(work, r.program.callers, func(i int) bool {
		for _, name := range r.names(i) {
			placed, err := r.placeIn(i, name, modes)
			if err != nil {
				failed = cmp.Or(failed, err)
				return false
			}
			r.placers[i][name], r.placements[i][name] = placed.placer, placed.placement
			for _, a := range placed.placement.Acquisitions {
				modes.raise(i, r.numbers[name], a.Mode)
			}
		}
		return modes.news(i)
	}, func(from, to int) bool {
		modes.merge(from, to)
		return modes.changed[to] || len(r.functions[to].Variables) > 0
	})
	return failed
}

// strongest has the strongest mode in which each function, or what it calls, takes the lock of each variable.
type strongest struct {
	modes     []Mode // by function, and then by variable
	variables int
	changed   []bool // functions whose modes have changed since news was called
}

func newStrongest(functions, variables int) *strongest {
	return &strongest{make([]Mode, functions*variables), variables, make([]bool, functions)}
}

func (s *strongest) of(function int) []Mode {
	return s.modes[function*s.variables : (function+1)*s.variables]
}

func (s *strongest) raise(function, variable int, mode Mode) {
	if of := s.of(function); mode > of[variable] {
		of[variable], s.changed[function] = mode, true
	}
}

// merge gives a caller the modes of a function.
func (s *strongest) merge(from, to int) {
	for variable, mode := range s.of(from) {
		s.raise(to, variable, mode)
	}
}

// news reports whether the modes of a function have changed since it was last asked about.
func (s *strongest) news(function int) bool {
	was := s.changed[function]
	s.changed[function] = false
	return was
}

// placed is how a variable's lock is placed in a function.
type placed struct {
	placer    *placer
	placement *Placement
}

// placeIn places the lock of a variable in a function, given the strongest modes in which functions take locks.
func (r *resolver) placeIn(function int, name string, modes *strongest) (placed, error) {
	f := r.functions[function]
	v := f.Variables[name]
	v.Calls = slices.Clone(v.Calls)
	for _, c := range f.Calls {
		for _, callee := range c.Callees {
			if mode := modes.of(callee)[r.numbers[name]]; mode > Free {
				v.Calls = append(v.Calls, Call{c.Node, mode})
			}
		}
	}
	key := fmt.Sprintf("%d %q %d %v", function, name, len(v.Holds), v.Calls)
	if known, ok := r.known[key]; ok {
		return known, nil
	}
	p, err := newPlacer(f.Graph, v)
	if err != nil {
		return placed{}, fmt.Errorf("function %d: variable %s: %w", function, name, err)
	}
	r.known[key] = placed{p, p.placement()}
	return r.known[key], nil
}

// reverse breaks a cycle of dependencies.
func (r *resolver) reverse(cycle []dependency) {
	holds := map[lockPair][]Hoist{}
	for _, d := range cycle {
		at := lockPair{d.held.lockName, d.wanted.lockName}
		if d.wanted.inserted && at.first != at.second && !r.decided[lockPair{at.second, at.first}] && d.rank < r.variables {
			holds[at] = append(holds[at], r.hoist(d))
		}
	}
	var best []Hoist
	var order lockPair
	least := 0
	orders := slices.SortedFunc(maps.Keys(holds), func(a, b lockPair) int {
		return cmp.Or(cmp.Compare(a.first.name, b.first.name), cmp.Compare(a.second.name, b.second.name))
	})
	for _, at := range orders {
		fresh := slices.DeleteFunc(holds[at], r.has)
		cost := 0
		for _, h := range fresh {
			cost += r.cost(h)
		}
		if len(fresh) > 0 && (best == nil || cost < least) {
			best, order, least = fresh, at, cost
		}
	}
	if best == nil {
		r.drop(cycle)
		return
	}
	r.decided[order] = true
	for _, h := range best {
		if r.has(h) { // the same twice
			continue
		}
		r.hoists = append(r.hoists, h)
		v := r.functions[h.Function].Variables[h.Variable]
		v.Holds = append(slices.Clone(v.Holds), h.Hold)
		r.functions[h.Function].Variables[h.Variable] = v
	}
}

// hoist returns the hold that reverses a dependency.
func (r *resolver) hoist(d dependency) Hoist {
	h := Hold{First: d.since, Second: d.node, Mode: d.wanted.mode, Rank: d.rank + 1}
	if !d.held.inserted {
		for _, op := range r.functions[d.function].Locks {
			if op.Release && op.Lock == d.held.name && op.Mode == d.held.mode {
				h.Ends = append(h.Ends, op.Node)
			}
		}
	}
	return Hoist{d.function, d.wanted.name, d.held.name, h}
}

// has reports whether a hoist has been added.
func (r *resolver) has(h Hoist) bool {
	return slices.ContainsFunc(r.functions[h.Function].Variables[h.Variable].Holds, func(old Hold) bool {
		return old.First == h.Hold.First && old.Second == h.Hold.Second && old.Mode >= h.Hold.Mode &&
			old.Rank >= h.Hold.Rank && slices.Equal(old.Ends, h.Hold.Ends)
	})
}

// cost returns the number of nodes at which a hoist holds a lock that was not held in the same mode before.
func (r *resolver) cost(h Hoist) (nodes int) {
	p := r.placers[h.Function][h.Variable]
	for node, ok := range r.functions[h.Function].Graph.held(h.Hold) {
		if ok && (p == nil || p.heldFor(node) < h.Hold.Mode) {
			nodes++
		}
	}
	return nodes
}

// drop leaves out a variable of a cycle that cannot be broken. Locks of other variables may have been hoisted
// because of it, so everything begins anew.
func (r *resolver) drop(cycle []dependency) {
	var names []string
	for _, d := range cycle {
		for _, l := range []heldLock{d.held, d.wanted} {
			if l.inserted {
				names = append(names, l.name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	r.dropped[names[0]] = names
	r.begin()
}

func (r *resolver) result() *Resolution {
	return &Resolution{r.placements, r.hoists, slices.Sorted(maps.Keys(r.dropped)), r.dropped}
}
