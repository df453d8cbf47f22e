package enforce

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/heal/lock"
)

// Plan says where the locks of variables are acquired and released in the source of a program.
type Plan struct {
	Variables []PlannedVariable // by name
	Refused   []Refusal         // by name
	// Interruptions has the waits in which pairs may be interrupted, in the order of the source.
	Interruptions []Interruption

	p         *Program
	names     []string // of the variables
	functions []heal.Function
	result    *heal.Resolution
	held      []map[int]map[string]bool // by function and step: locks that may be held in the step
	before    [][]map[reason]bool       // by function and step: for which locks may be held when control comes there
	passed    []map[string]bool         // by function: locks that its callers may hold
	needs     []map[string]bool         // by function: locks that it may acquire; waiting, if it may wait
	ends      map[endKey]bool
	stalls    map[string]bool // locks of the program whose holders may wait
}

// waiting is what a function needs that may wait.
const waiting = ""

// PlannedVariable is a variable that gets a lock.
type PlannedVariable struct {
	Name  string
	Pairs int // that the lock keeps atomic
	// Before and After have the number of acquisitions, before locks were brought into one order and after.
	Before, After int
}

// Refusal says why a variable gets no lock.
type Refusal struct {
	Variable string
	File     string // relative to the module; empty if the reason has no place
	Line     int
	Reason   string
	// Function is set if the variable gets a lock, and only its pairs in this function are left out.
	Function string

	function int // in which the reason is; -1 if it is in none
}

// String returns the refusal on one line.
func (r Refusal) String() string {
	what := r.Variable + " gets no lock"
	if r.Function != "" {
		what = fmt.Sprintf("%s: its pairs in %s are left out", r.Variable, r.Function)
	}
	if r.File == "" {
		return fmt.Sprintf("%s: %s", what, r.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", r.File, r.Line, what, r.Reason)
}

// endKey names an access after which the lock is not held any more for an earlier one.
type endKey struct {
	function int
	variable string
	node     int
}

// request is a variable whose pairs are to be atomic.
type request struct {
	name  string
	pairs map[int][]heal.Pair  // by function
	whole map[int]map[int]bool // nodes with a pair within; whether it is exclusive
	calls map[int]map[int]bool // nodes with calls that count as accesses; whether they write
}

// Plan places locks for the pairs of a profile that are atomic and that no lock of the program keeps so.
func (p *Program) Plan(ctx context.Context, profile *heal.Profile) (*Plan, error) {
	plan := &Plan{p: p, stalls: p.stalling()}
	var requests []*request
	for _, v := range profile.Atomic() {
		r, why := p.request(v)
		if why != nil {
			plan.Refused = append(plan.Refused, *why)
			continue
		}
		switch lies, err := p.reachable(r); {
		case err != nil:
			return nil, err
		case !lies:
			plan.Refused = append(plan.Refused, *p.refusal(v.Name, token.NoPos, "none of its atomic pairs lies within one call of a function"))
			continue
		}
		requests = append(requests, r)
	}
	for {
		refused, err := plan.try(ctx, requests)
		if err != nil {
			return nil, err
		}
		if len(refused) == 0 {
			break
		}
		requests = plan.refuse(requests, refused)
	}
	slices.SortStableFunc(plan.Refused, func(a, b Refusal) int { return strings.Compare(a.Variable, b.Variable) })
	plan.Interruptions = plan.interruptions()
	return plan, plan.count(requests)
}

// refuse notes refusals, one for each variable, and returns the requests that are left. If the function of a refusal has
// pairs, these are left out, and the variable only if that does not help.
func (plan *Plan) refuse(requests []*request, refused []Refusal) []*request {
	done := map[string]bool{}
	of := func(r Refusal) *request {
		return requests[slices.IndexFunc(requests, func(q *request) bool { return q.name == r.Variable })]
	}
	// Other locks may be in the way only because they come before one that is held for such pairs.
	held := func(r Refusal) bool { return r.function >= 0 && len(of(r).pairs[r.function]) > 0 }
	if slices.ContainsFunc(refused, held) {
		refused = slices.DeleteFunc(refused, func(r Refusal) bool { return !held(r) })
	}
	for _, r := range refused {
		if done[r.Variable] {
			continue
		}
		done[r.Variable] = true
		i := slices.IndexFunc(requests, func(q *request) bool { return q.name == r.Variable })
		q := requests[i]
		if r.function >= 0 && len(q.pairs[r.function]) > 0 {
			delete(q.pairs, r.function)
			delete(q.calls, r.function)
			if len(q.pairs)+len(q.whole) > 0 {
				r.Function = plan.p.name(plan.p.units[r.function])
				plan.Refused = append(plan.Refused, r)
				continue
			}
		}
		plan.Refused = slices.DeleteFunc(plan.Refused, func(old Refusal) bool { return old.Variable == r.Variable })
		plan.Refused = append(plan.Refused, r)
		requests = slices.Delete(requests, i, i+1)
	}
	return requests
}

func (p *Program) refusal(variable string, at token.Pos, format string, args ...any) *Refusal {
	r := &Refusal{Variable: variable, Reason: fmt.Sprintf(format, args...), function: -1}
	if at.IsValid() {
		pos := p.fset.PositionFor(at, false)
		r.File, r.Line = p.relative(pos.Filename), pos.Line
	}
	return r
}

// request finds the pairs of a variable in the source.
func (p *Program) request(v heal.ProfiledVariable) (*request, *Refusal) {
	if at, ok := p.addressed[v.Name]; ok {
		return nil, p.refusal(v.Name, at, "its address is taken")
	}
	r := &request{name: v.Name, pairs: map[int][]heal.Pair{}, whole: map[int]map[int]bool{}, calls: map[int]map[int]bool{}}
	found := false
	for _, pair := range v.Pairs {
		for _, u := range p.units {
			if u.file.name != pair.First.File || u.file.name != pair.Second.File {
				continue
			}
			first, second := p.stepsAt(u, v.Name, pair.First), p.stepsAt(u, v.Name, pair.Second)
			for _, a := range first {
				for _, b := range second {
					p.addPair(r, u, a, b, pair)
					found = true
				}
			}
		}
	}
	if !found {
		return nil, p.refusal(v.Name, token.NoPos, "the source has none of its atomic pairs")
	}
	return r, nil
}

// stepsAt returns the steps of a function that access a variable at a location, themselves or in calls.
func (p *Program) stepsAt(u *unit, variable string, at heal.Location) (out []*step) {
	for _, s := range u.flow.steps {
		on := slices.ContainsFunc(s.parts, func(n ast.Node) bool {
			first, last := p.lines(n)
			return first <= at.Line && at.Line <= last
		})
		if !on {
			continue
		}
		switch at.Op {
		case heisen.Read, heisen.Write:
			if slices.ContainsFunc(s.accesses, func(a access) bool {
				return a.variable == variable && !a.made && a.write == (at.Op == heisen.Write)
			}) {
				out = append(out, s)
			}
		default:
			if slices.ContainsFunc(s.calls, func(c *call) bool { return p.reaches(c, variable) > untouched }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// reaching is how a function accesses a variable, itself or in calls.
type reaching uint8

const (
	untouched reaching = iota
	reads
	writes
)

// reaches says how a call accesses a variable.
func (p *Program) reaches(c *call, variable string) (r reaching) {
	all, ok := p.reach[variable]
	if !ok {
		all = p.reaching(variable)
		p.reach[variable] = all
	}
	for _, target := range c.targets {
		r = max(r, all[target])
	}
	return r
}

// reaching says how each function and group accesses a variable.
func (p *Program) reaching(variable string) []reaching {
	out := make([]reaching, len(p.callers))
	var work []int
	for i, u := range p.units {
		if write, ok := u.direct[variable]; ok {
			out[i], work = reads, append(work, i)
			if write {
				out[i] = writes
			}
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range p.callers[at] {
			if out[at] > out[caller] {
				out[caller] = out[at]
				work = append(work, caller)
			}
		}
	}
	return out
}

// reachable removes the pairs of which the second access cannot follow the first one in one call. It reports whether
// any is left.
func (p *Program) reachable(r *request) (lies bool, err error) {
	for number := range r.pairs {
		f, _, err := p.function(p.units[number], []*request{r})
		if err != nil {
			return false, err
		}
		placed, err := heal.Place(f.Graph, f.Variables[r.name])
		if err != nil {
			return false, err
		}
		r.pairs[number] = slices.DeleteFunc(r.pairs[number], func(pair heal.Pair) bool {
			return slices.ContainsFunc(placed.Unreachable, func(u heal.Pair) bool { return u.First == pair.First && u.Second == pair.Second })
		})
		slices.SortFunc(r.pairs[number], func(a, b heal.Pair) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second), cmp.Compare(a.Mode, b.Mode))
		})
		r.pairs[number] = slices.CompactFunc(r.pairs[number], func(a, b heal.Pair) bool { return a.First == b.First && a.Second == b.Second })
		if len(r.pairs[number]) == 0 {
			delete(r.pairs, number)
		}
	}
	return len(r.pairs)+len(r.whole) > 0, nil
}

// addPair adds a pair of two steps.
func (p *Program) addPair(r *request, u *unit, a, b *step, pair heal.ProfiledPair) {
	for _, end := range []struct {
		s  *step
		op heisen.Op
	}{{a, pair.First.Op}, {b, pair.Second.Op}} {
		if end.op == heisen.Read || end.op == heisen.Write {
			continue
		}
		if r.calls[u.number] == nil {
			r.calls[u.number] = map[int]bool{}
		}
		for _, c := range end.s.calls {
			if how := p.reaches(c, r.name); how > untouched {
				r.calls[u.number][end.s.id] = r.calls[u.number][end.s.id] || how == writes
			}
		}
	}
	if a == b && within(a, r.name, pair.First.Op, pair.Second.Op) {
		if r.whole[u.number] == nil {
			r.whole[u.number] = map[int]bool{}
		}
		r.whole[u.number][a.id] = r.whole[u.number][a.id] || pair.Mode == heal.Exclusive
		return
	}
	r.pairs[u.number] = append(r.pairs[u.number], heal.Pair{First: a.id, Second: b.id, Mode: pair.Mode})
}

// within reports whether two accesses of one step come one after the other in it, rather than in a loop.
func within(s *step, variable string, first, second heisen.Op) bool {
	count := map[bool]int{}
	for _, a := range s.accesses {
		if a.variable == variable && !a.made {
			count[a.write]++
		}
	}
	switch {
	case first == heisen.Read && second == heisen.Write:
		return true
	case first == heisen.Write && second == heisen.Read:
		return count[true] > 1 || count[false] > 1
	case first == second && (first == heisen.Read || first == heisen.Write):
		return count[first == heisen.Write] > 1
	}
	return len(s.calls) > 1
}

// try places the locks of variables, and returns those that cannot get one.
func (plan *Plan) try(ctx context.Context, requests []*request) (refused []Refusal, err error) {
	p := plan.p
	plan.functions = nil
	plan.names = nil
	for _, r := range requests {
		plan.names = append(plan.names, r.name)
	}
	for _, u := range p.units {
		f, wrong, err := p.function(u, requests)
		if err != nil {
			return nil, err
		}
		refused = append(refused, wrong...)
		plan.functions = append(plan.functions, f)
	}
	groups, err := p.groupFunctions()
	if err != nil {
		return nil, err
	}
	plan.functions = append(plan.functions, groups...)
	if len(refused) > 0 {
		return refused, nil
	}
	plan.result, err = heal.Resolve(ctx, plan.functions)
	if err != nil {
		return nil, err
	}
	for _, name := range plan.result.Dropped {
		refused = append(refused, *p.refusal(name, token.NoPos, "locks could be acquired in two orders, and no order can be reversed"))
	}
	if len(refused) > 0 {
		return refused, nil
	}
	plan.findHeld()
	plan.findNeeds()
	plan.findPassed()
	return plan.check(), nil
}

// outline makes what the abstract function of a unit has whatever is requested.
func (p *Program) outline(u *unit) (f heal.Function, err error) {
	if u.outline != nil {
		return *u.outline, nil
	}
	if f.Graph, err = heal.NewGraph(len(u.flow.steps)); err != nil {
		return f, err
	}
	for _, e := range u.flow.edges {
		if err := f.Graph.AddEdge(e[0], e[1]); err != nil {
			return f, err
		}
	}
	for _, s := range u.flow.steps {
		if op := s.lock; op != nil {
			mode := heal.Exclusive
			if op.shared {
				mode = heal.Shared
			}
			f.Locks = append(f.Locks, heal.LockOp{Node: s.id, Lock: op.name, Mode: mode, Release: op.release, Try: op.try})
		}
		for _, c := range s.calls {
			if len(c.targets) > 0 {
				f.Calls = append(f.Calls, heal.FunctionCall{Node: s.id, Callees: c.targets})
			}
		}
	}
	u.outline = &f
	return f, nil
}

// function makes the abstract function of a unit.
func (p *Program) function(u *unit, requests []*request) (f heal.Function, refused []Refusal, err error) {
	if f, err = p.outline(u); err != nil {
		return f, nil, err
	}
	f.Variables = map[string]heal.Variable{}
	for _, r := range requests {
		if _, direct := u.direct[r.name]; !direct && r.whole[u.number] == nil && r.calls[u.number] == nil {
			continue
		}
		v := heal.Variable{Pairs: r.pairs[u.number]}
		for _, s := range u.flow.steps {
			a := heal.Access{Node: s.id}
			accessed := false
			for _, of := range s.accesses {
				if of.variable == r.name && !of.made {
					accessed, a.Write = true, a.Write || of.write
				}
			}
			if exclusive, ok := r.whole[u.number][s.id]; ok {
				accessed, a.Write = true, a.Write || exclusive
			}
			if write, ok := r.calls[u.number][s.id]; ok {
				accessed, a.Write = true, a.Write || write
			}
			if !accessed {
				continue
			}
			v.Accesses = append(v.Accesses, a)
			switch {
			case u.flow.refused != "":
				refused = append(refused, *p.refusal(r.name, u.flow.refusedAt, "it is accessed in a function with %s", u.flow.refused))
			case u.file.cgo:
				refused = append(refused, *p.refusal(r.name, u.node.Pos(), "it is accessed in a file that is generated or uses cgo"))
			}
		}
		if len(v.Accesses) > 0 {
			f.Variables[r.name] = v
		}
	}
	return f, refused, nil
}

// groupFunctions returns the abstract functions of the groups: each calls one of its members. They have no end, so that
// what one member leaves locked is not taken to be locked after all calls of unknown functions: these locks stall.
func (p *Program) groupFunctions() (out []heal.Function, err error) {
	g, err := heal.NewGraph(2)
	for from := range 2 {
		if err == nil {
			err = g.AddEdge(from, 1)
		}
	}
	for _, members := range p.groups {
		out = append(out, heal.Function{Graph: g, Variables: map[string]heal.Variable{}, Calls: []heal.FunctionCall{{Node: 0, Callees: members}}})
	}
	return out, err
}

// reason is a reason for which a lock is held: an access, or a hold.
type reason struct {
	variable string
	access   int // -1 for a hold
	hold     int // -1 for an access
}

// findHeld finds the locks that may be held in each step.
func (plan *Plan) findHeld() {
	plan.held = make([]map[int]map[string]bool, len(plan.functions))
	plan.before = make([][]map[reason]bool, len(plan.functions))
	plan.ends = map[endKey]bool{}
	for i, u := range plan.p.units {
		flow := u.flow
		if len(plan.result.Placements[i]) == 0 {
			continue
		}
		acquired := map[int][]reason{}
		released := map[[2]int]map[reason]bool{}
		accessOf := map[[2]any]bool{}
		for name, pl := range plan.result.Placements[i] {
			for _, a := range pl.Acquisitions {
				r := reason{name, a.Node, -1}
				if a.Hold >= 0 {
					r = reason{name, -1, a.Hold}
				} else {
					accessOf[[2]any{name, a.Node}] = true
				}
				acquired[a.Node] = append(acquired[a.Node], r)
			}
			for _, rel := range pl.Releases {
				if rel.Left > heal.Free {
					continue
				}
				key := [2]int{rel.From, rel.To}
				if released[key] == nil {
					released[key] = map[reason]bool{}
				}
				released[key][reason{name, rel.Access, rel.Hold}] = true
			}
		}
		for name, pl := range plan.result.Placements[i] {
			for _, rel := range pl.Releases {
				// An access that acquires nothing ends the reason of an earlier one.
				if rel.Access >= 0 && rel.Access != rel.From && !accessOf[[2]any{name, rel.From}] && plan.accesses(i, name, rel.From) {
					plan.ends[endKey{i, name, rel.From}] = true
				}
			}
		}
		before := make([]map[reason]bool, len(flow.steps))
		for n := range before {
			before[n] = map[reason]bool{}
		}
		inside := func(n int) map[reason]bool {
			at := maps.Clone(before[n])
			for _, r := range acquired[n] {
				if r.hold < 0 {
					maps.DeleteFunc(at, func(o reason, _ bool) bool { return o.variable == r.variable && o.hold < 0 })
				}
				at[r] = true
			}
			return at
		}
		for changed := true; changed; {
			changed = false
			for n := range flow.steps {
				at := inside(n)
				for _, next := range flow.succs[n] {
					for r := range at {
						if !released[[2]int{n, next}][r] && !before[next][r] {
							before[next][r], changed = true, true
						}
					}
				}
			}
		}
		plan.held[i], plan.before[i] = map[int]map[string]bool{}, before
		for n := range flow.steps {
			names := map[string]bool{}
			for r := range inside(n) {
				names[r.variable] = true
			}
			plan.held[i][n] = names
		}
	}
}

// accesses reports whether a node is an access to a variable.
func (plan *Plan) accesses(function int, name string, node int) bool {
	return slices.ContainsFunc(plan.functions[function].Variables[name].Accesses, func(a heal.Access) bool { return a.Node == node })
}

// findNeeds finds the locks that each function may acquire, itself or in calls, and which may wait.
func (plan *Plan) findNeeds() {
	plan.needs = make([]map[string]bool, len(plan.functions))
	for i := range plan.needs {
		plan.needs[i] = map[string]bool{}
		for name, pl := range plan.result.Placements[i] {
			if len(pl.Acquisitions) > 0 {
				plan.needs[i][name] = true
			}
		}
		if i >= len(plan.p.units) {
			continue
		}
		for _, s := range plan.p.units[i].flow.steps {
			if s.waits || plan.stallsAt(s) || slices.ContainsFunc(s.calls, func(c *call) bool { return c.waits }) {
				plan.needs[i][waiting] = true
			}
		}
	}
	plan.upwards(plan.needs)
}

// upwards adds what each function has to the functions that may call it.
func (plan *Plan) upwards(all []map[string]bool) {
	var work []int
	for i := range all {
		if len(all[i]) > 0 {
			work = append(work, i)
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range plan.p.callers[at] {
			before := len(all[caller])
			maps.Copy(all[caller], all[at])
			if len(all[caller]) > before {
				work = append(work, caller)
			}
		}
	}
}

// findPassed finds the locks that callers may hold, through calls that pass on what they hold.
func (plan *Plan) findPassed() {
	plan.passed = make([]map[string]bool, len(plan.functions))
	for i := range plan.passed {
		plan.passed[i] = map[string]bool{}
	}
	work := slices.Clone(plan.p.units)
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		for _, s := range u.flow.steps {
			if len(plan.held[u.number][s.id])+len(plan.passed[u.number]) == 0 {
				continue
			}
			for _, c := range s.calls {
				if c.callee == nil {
					continue
				}
				to := plan.passed[c.callee.number]
				before := len(to)
				maps.Copy(to, plan.all(u.number, s.id))
				if len(to) > before {
					work = append(work, c.callee)
				}
			}
		}
	}
}

// all returns the locks that may be held in a step, also by callers.
func (plan *Plan) all(function, node int) map[string]bool {
	all := map[string]bool{}
	maps.Copy(all, plan.held[function][node])
	maps.Copy(all, plan.passed[function])
	return all
}

// threaded reports whether a function must be told what its callers hold.
func (plan *Plan) threaded(function int) bool {
	if len(plan.passed[function]) == 0 {
		return false
	}
	if plan.needs[function][waiting] {
		return true
	}
	for name := range plan.passed[function] {
		if plan.needs[function][name] {
			return true
		}
	}
	return false
}

// stallsAt reports whether a step acquires a lock of the program whose holder may wait.
func (plan *Plan) stallsAt(s *step) bool {
	return s.lock != nil && !s.lock.release && !s.lock.try && plan.stalls[s.lock.name]
}

// waitsIn reports whether a step may wait, other than in calls of functions that are told what is held.
func (plan *Plan) waitsIn(s *step) bool {
	return s.waits || slices.ContainsFunc(s.calls, plan.waitsCall)
}

// check returns the variables whose operations cannot be expressed.
func (plan *Plan) check() (refused []Refusal) {
	p := plan.p
	for i, u := range p.units {
		before := len(refused)
		for _, s := range u.flow.steps {
			held := plan.all(i, s.id)
			at := plan.posOf(u, s)
			for _, name := range slices.Sorted(maps.Keys(held)) {
				if s.before.kind == deferred && plan.held[i][s.id][name] {
					refused = append(refused, *p.refusal(name, u.node.Pos(), "its lock would be held in deferred calls"))
				}
				if u.flow.refused != "" || u.file.cgo {
					refused = append(refused, *p.refusal(name, u.node.Pos(), "its lock would be held in a function that cannot be changed"))
				}
				for _, c := range s.calls {
					if c.callee != nil {
						continue
					}
					for _, target := range c.targets {
						if plan.needs[target][name] {
							refused = append(refused, *p.refusal(name, c.expr.Pos(), "its lock would be held in a call that may acquire it, of a function that is not known here"))
						}
					}
				}
				if plan.waitsIn(s) && plan.uses(i, name, s.id) {
					if _, ok := plan.operands(u, s); !ok {
						refused = append(refused, *p.refusal(name, at, "it is accessed in a statement that may wait before"))
					}
				}
			}
			for name, pl := range plan.result.Placements[i] {
				for _, a := range pl.Acquisitions {
					if a.Node == s.id && a.Hold >= lock.Holds {
						refused = append(refused, *p.refusal(name, at, "its lock would be held for more than %d reasons", lock.Holds))
					}
				}
			}
			if why := p.unwritable(u, s.before); why != "" {
				for name := range plan.touched(i, s.id) {
					refused = append(refused, *p.refusal(name, at, "%s", why))
				}
			}
		}
		for n := range refused[before:] {
			refused[before+n].function = i
		}
	}
	slices.SortStableFunc(refused, func(a, b Refusal) int { return strings.Compare(a.Variable, b.Variable) })
	return refused
}

// uses reports whether a step accesses a variable itself.
func (plan *Plan) uses(function int, name string, node int) bool {
	return slices.ContainsFunc(plan.p.units[function].flow.steps[node].accesses, func(a access) bool { return a.variable == name && !a.made })
}

// touched returns the variables with operations before a step.
func (plan *Plan) touched(function, node int) map[string]bool {
	out := map[string]bool{}
	for name, pl := range plan.result.Placements[function] {
		for _, a := range pl.Acquisitions {
			if a.Node == node {
				out[name] = true
			}
		}
		for _, r := range pl.Releases {
			if r.To == node {
				out[name] = true
			}
		}
	}
	return out
}

// unwritable says why nothing can be written at a spot; empty if it can.
func (p *Program) unwritable(u *unit, at spot) string {
	switch at.kind {
	case nowhere:
		return "nothing can be inserted here"
	case condition:
		if t, ok := u.info().TypeOf(at.expr).(*types.Basic); !ok || t.Info()&types.IsBoolean == 0 {
			return "the condition has a type of its own"
		}
	}
	return ""
}

func (plan *Plan) posOf(u *unit, s *step) token.Pos {
	if len(s.parts) > 0 {
		return s.parts[0].Pos()
	}
	return u.node.Pos()
}

// count counts what was placed.
func (plan *Plan) count(requests []*request) error {
	for _, r := range requests {
		v := PlannedVariable{Name: r.name}
		for _, pairs := range r.pairs {
			v.Pairs += len(pairs)
		}
		for _, whole := range r.whole {
			v.Pairs += len(whole)
		}
		for i, f := range plan.functions {
			v.After += len(acquisitions(plan.result.Placements[i][r.name]))
			if of, ok := f.Variables[r.name]; ok {
				alone, err := heal.Place(f.Graph, of)
				if err != nil {
					return err
				}
				v.Before += len(acquisitions(alone))
			}
		}
		plan.Variables = append(plan.Variables, v)
	}
	slices.SortFunc(plan.Variables, func(a, b PlannedVariable) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func acquisitions(p *heal.Placement) []heal.Acquisition {
	if p == nil {
		return nil
	}
	return p.Acquisitions
}
