package enforce

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/heal/lock"
	"github.com/heisen-go/heisen/internal/static"
)

// Plan says where the locks of variables are acquired and released in the source of a program.
type Plan struct {
	Variables []PlannedVariable // by name
	Refused   []Refusal         // by name
	// Interruptions has the waits in which pairs may be interrupted, in the order of the source.
	Interruptions []Interruption

	p         *Program
	lying     map[string]map[ends]bool // by variable: pairs whose second access can follow the first one in one call of a function
	kept      map[string]*request
	names     []string // of the variables
	functions []heal.Function
	result    *heal.Resolution
	held      []map[int]map[string]bool // by function and step: locks that may be held in the step
	before    [][]map[reason]bool       // by function and step: for which locks may be held when control comes there
	passed    []map[string]bool         // by function: locks that its callers may hold
	needs     []map[string]bool         // by function: locks that it may acquire; waiting, if it may wait
	alone     []map[string]bool         // needs, without those of the bodies of loops over the function
	ends      map[endKey]bool
	stalls    map[static.Key]bool // classes of locks of the program whose holders may wait
	objects   map[string]bool     // variables with a lock for each object
}

// PlannedVariable is a variable that gets a lock.
type PlannedVariable struct {
	Name  string
	Pairs int // that the lock keeps atomic
	// Members has the variables of a group; it is empty for a single variable.
	Members []string
	// Objects is set if each object has a lock, and not all together.
	Objects bool
	// Before and After have the number of acquisitions, before locks were brought into one order and after.
	Before, After int
}

// Refusal says why a variable gets no lock.
type Refusal struct {
	Variable string
	File     string // relative to the module; empty if the reason has no place
	Line     int
	Reason   string
	// Function is set if the variable gets a lock, and only its pairs in this function are left out, or some of them.
	Function string
	// Tests is set if the variable gets a lock, and only its pairs in files of tests are left out.
	Tests bool
	// Apart is set if Variable is a group, whose variables are protected each for itself.
	Apart bool

	some     bool // only some pairs
	function int  // in which the reason is; -1 if it is in none
}

// String returns the refusal on one line.
func (r Refusal) String() string {
	what := r.Variable + " gets no lock"
	if r.Function != "" {
		some := "its"
		if r.some {
			some = "some"
		}
		what = fmt.Sprintf("%s: %s pairs in %s are left out", r.Variable, some, r.Function)
	}
	if r.Apart {
		what = fmt.Sprintf("%s: pairs of two of these variables are left out, and each is protected for itself", r.Variable)
	}
	if r.Tests {
		what = fmt.Sprintf("%s: its pairs in tests are left out", r.Variable)
	}
	if r.File == "" {
		return fmt.Sprintf("%s: %s", what, r.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", r.File, r.Line, what, r.Reason)
}

// Plan places locks for the pairs of a profile that are atomic and that no lock of the program keeps so. Variables that
// belong together get one lock, unless that would cost one of them a pair; the plan then says so.
func (p *Program) Plan(ctx context.Context, profile *heal.Profile) (*Plan, error) {
	groups := p.groupsOf(profile)
	var alone *Plan
	var apart []Refusal
	for {
		q := p.grouped(groups)
		plan, err := q.place(ctx, profile.Grouped(q.groupOf))
		if err != nil {
			return nil, err
		}
		if alone == nil && slices.ContainsFunc(groups, func(g group) bool { return len(plan.refusedOf(g.name)) > 0 }) {
			if alone, err = p.place(ctx, profile); err != nil {
				return nil, err
			}
		}
		var kept []group
		for _, g := range groups {
			if lost := plan.lostBy(g, alone); len(lost) > 0 {
				apart = append(apart, lost...)
			} else {
				kept = append(kept, g)
			}
		}
		if len(kept) == len(groups) {
			plan.Refused = append(plan.Refused, apart...)
			slices.SortStableFunc(plan.Refused, func(a, b Refusal) int { return strings.Compare(a.Variable, b.Variable) })
			return plan, nil
		}
		groups = kept
	}
}

// place places the locks of all variables.
func (p *Program) place(ctx context.Context, profile *heal.Profile) (*Plan, error) {
	plan := &Plan{p: p, stalls: p.stalling(), lying: map[string]map[ends]bool{}, kept: map[string]*request{}}
	var requests []*request
	for _, v := range profile.Atomic() {
		if _, escapes := p.addressed[v.Name]; !escapes && !p.written[v.Name] {
			continue // no other goroutine can change what is read
		}
		r, lost, why := p.request(v, variableOf(profile, v.Name))
		plan.Refused = append(plan.Refused, lost...)
		if why != nil {
			plan.Refused = append(plan.Refused, *why)
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(r.pairs)) {
			plan.Refused = append(plan.Refused, p.join(r, p.units[number])...)
		}
		lies, err := p.reachable(r)
		if err != nil {
			return nil, err
		}
		plan.lying[r.name] = map[ends]bool{}
		for at := range r.at {
			plan.lying[r.name][at] = r.keeps(at)
		}
		if !lies {
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
		if requests, err = plan.refuse(requests, refused); err != nil {
			return nil, err
		}
	}
	for _, r := range requests {
		plan.kept[r.name] = r
	}
	plan.objects = plan.objectLocks(requests)
	slices.SortStableFunc(plan.Refused, func(a, b Refusal) int { return strings.Compare(a.Variable, b.Variable) })
	plan.Interruptions = plan.interruptions()
	return plan, plan.count(requests)
}

// Fate is what becomes of an atomic pair of a profile that no lock of the program keeps so.
type Fate int

// The fates of a pair.
const (
	LeftOut   Fate = iota // Plan.Refused says why
	Kept                  // a lock keeps it atomic
	Unwritten             // nothing writes the variable, so it needs no lock
	Apart                 // its second access cannot follow the first one in one call of a function
)

// Fate returns what becomes of a pair of a variable.
func (plan *Plan) Fate(variable string, pair heal.ProfiledPair) Fate {
	name, at := plan.p.groupOf(variable), ends{pair.First, pair.Second}
	_, escapes := plan.p.addressed[name]
	lies, known := plan.lying[name][at]
	switch q := plan.kept[name]; {
	case !escapes && !plan.p.written[name]:
		return Unwritten
	case q != nil && q.keeps(at):
		return Kept
	case known && !lies:
		return Apart
	}
	return LeftOut
}

// variableOf returns what a profile has of a variable.
func variableOf(profile *heal.Profile, name string) heal.ProfiledVariable {
	all := profile.Variables()
	return all[slices.IndexFunc(all, func(v heal.ProfiledVariable) bool { return v.Name == name })]
}

// refuse notes refusals and returns the requests that are left. If functions of refusals have pairs, these are left out. Otherwise
// pairs in tests are, of the fewest variables that there are to blame, and only then the refused variables.
//
// A test calls one function after the other, and nobody else is there. So its pairs hold locks across calls of much of the module,
// and other locks are held longer to keep an order with them.
func (plan *Plan) refuse(requests []*request, refused []Refusal) ([]*request, error) {
	p := plan.p
	of := map[string]*request{}
	for _, q := range requests {
		of[q.name] = q
	}
	if own := firstOfEach(refused, func(r Refusal) bool { return of[r.Variable].holds(r.function) }); len(own) > 0 {
		for _, r := range own { // if no pairs are left, the single accesses are protected
			r.Function = p.name(p.units[r.function])
			plan.Refused = append(plan.Refused, r)
			of[r.Variable].without(r.function)
		}
		return requests, nil
	}
	all := firstOfEach(refused, func(Refusal) bool { return true })
	var blamed []Refusal
	for _, r := range all {
		blamed = append(append(blamed, r), r.of(plan.opponents(r.Variable))...)
	}
	if tested := firstOfEach(blamed, func(r Refusal) bool { return p.testing(of[r.Variable]) == partly }); len(tested) > 0 {
		for _, r := range tested {
			r.Tests = true
			plan.Refused = append(plan.Refused, r)
			of[r.Variable].withoutTests(p)
		}
		return requests, nil
	}
	// Nothing in the module lacks the lock of a variable of which only tests have pairs.
	only := firstOfEach(blamed, func(r Refusal) bool { return p.testing(of[r.Variable]) == wholly && !p.ofTests(r.Variable) })
	if len(only) > 0 && slices.ContainsFunc(all, func(r Refusal) bool { return p.testing(of[r.Variable]) != wholly }) {
		return plan.drop(requests, only), nil
	}
	if kept, err := plan.keepShort(of, all); kept || err != nil {
		return requests, err
	}
	return plan.drop(requests, all), nil
}

// opponents returns the variables with locks that come into two orders with the lock of a variable, as far as the last try shows.
func (plan *Plan) opponents(variable string) (out []string) {
	if plan.result == nil {
		return nil
	}
	out = slices.Clone(plan.result.Cycles[variable])
	for _, h := range plan.result.Hoists {
		if h.Variable == variable && slices.Contains(plan.names, h.Before) {
			out = append(out, h.Before)
		}
	}
	return out
}

// keepShort leaves out the pairs of refused variables that hold a lock over calls or operations on other locks, and reports whether
// there were some beside others: the order of locks is about the former only.
func (plan *Plan) keepShort(of map[string]*request, refused []Refusal) (kept bool, err error) {
	p := plan.p
	for _, r := range refused {
		q := of[r.Variable]
		var long []*unit
		short := false
		for _, u := range p.units {
			if !q.in(u.Number) {
				continue
			}
			crosses, err := p.crosses(q, u)
			if err != nil {
				return false, err
			}
			if crosses && q.holds(u.Number) {
				long = append(long, u)
			} else {
				short = true
			}
		}
		if !short {
			continue
		}
		for _, u := range long {
			kept = true
			r.Function = p.name(u)
			plan.Refused = append(plan.Refused, r)
			q.without(u.Number)
		}
	}
	return kept, nil
}

// drop notes refusals of whole variables, and returns the requests that are left.
func (plan *Plan) drop(requests []*request, refused []Refusal) []*request {
	for _, r := range refused {
		plan.Refused = slices.DeleteFunc(plan.Refused, func(old Refusal) bool { return old.Variable == r.Variable })
		plan.Refused = append(plan.Refused, r)
		requests = slices.DeleteFunc(requests, func(q *request) bool { return q.name == r.Variable })
	}
	return requests
}

// firstOfEach returns the first refusal of each variable, of those for which something is so.
func firstOfEach(refused []Refusal, is func(Refusal) bool) (out []Refusal) {
	for _, r := range refused {
		if is(r) && !slices.ContainsFunc(out, func(o Refusal) bool { return o.Variable == r.Variable }) {
			out = append(out, r)
		}
	}
	return out
}

// of returns the refusal with other variables.
func (r Refusal) of(variables []string) (out []Refusal) {
	for _, name := range variables {
		r.Variable, r.function = name, -1
		out = append(out, r)
	}
	return out
}

// in reports whether a variable has pairs in a function.
func (r *request) in(function int) bool { return len(r.pairs[function])+len(r.whole[function]) > 0 }

// holds reports whether a variable has pairs in a function that are not within one access.
func (r *request) holds(function int) bool {
	if len(r.pairs[function]) > 0 {
		return true
	}
	for node := range r.calls[function] {
		if _, whole := r.whole[function][node]; whole {
			return true
		}
	}
	return false
}

// without removes the pairs in a function, but for those within one access: the lock of a single access keeps these.
func (r *request) without(function int) {
	for node := range r.calls[function] {
		delete(r.whole[function], node)
	}
	if len(r.whole[function]) == 0 {
		delete(r.whole, function)
	}
	delete(r.pairs, function)
	delete(r.calls, function)
}

// withoutTests removes the pairs in files of tests.
func (r *request) withoutTests(p *Program) {
	for _, u := range p.units {
		if u.inTest() {
			r.without(u.Number)
		}
	}
}

// share is a part of something.
type share int

const (
	none share = iota
	partly
	wholly
)

// testing says which of the pairs of a variable are in files of tests.
func (p *Program) testing(r *request) share {
	tests, others := 0, 0
	for _, u := range p.units {
		switch {
		case u.inTest() && r.holds(u.Number):
			tests++
		case !u.inTest() && r.in(u.Number):
			others++
		}
	}
	switch {
	case tests == 0:
		return none
	case others == 0:
		return wholly
	}
	return partly
}

// ofTests reports whether no function outside of tests accesses a variable.
func (p *Program) ofTests(variable string) bool {
	return !slices.ContainsFunc(p.units, func(u *unit) bool {
		_, accesses := u.direct[variable]
		return accesses && !u.inTest()
	})
}

// inTest reports whether a function is in a file of tests.
func (u *unit) inTest() bool { return strings.HasSuffix(u.Path, "_test.go") }

func (p *Program) refusal(variable string, at token.Pos, format string, args ...any) *Refusal {
	r := &Refusal{Variable: variable, Reason: fmt.Sprintf(format, args...), function: -1}
	if at.IsValid() {
		pos := p.src.Fset.PositionFor(at, false)
		r.File, r.Line = p.relative(pos.Filename), pos.Line
	}
	return r
}

// try places the locks of variables, and returns those that cannot get one.
func (plan *Plan) try(ctx context.Context, requests []*request) (refused []Refusal, err error) {
	p := plan.p
	plan.functions, plan.names, plan.result = nil, nil, nil
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

// check returns the variables whose operations cannot be expressed.
func (plan *Plan) check() (refused []Refusal) {
	p := plan.p
	for i, u := range p.units {
		before := len(refused)
		for _, s := range u.flow.steps {
			held := plan.all(i, s.id)
			at := plan.posOf(u, s)
			for _, name := range slices.Sorted(maps.Keys(held)) {
				if u.flow.refused != "" || p.foreign(u.File) {
					refused = append(refused, *p.refusal(name, u.Node.Pos(), "its lock would be held in a function that cannot be changed"))
				}
				for _, c := range s.calls {
					if c.Callee != nil {
						continue
					}
					needs := plan.needs
					if c.iterates {
						needs = plan.alone // the body of the loop knows what is held
					}
					for _, target := range c.mayCall() {
						if needs[target][name] {
							refused = append(refused, *p.refusal(name, c.Expr.Pos(), "its lock would be held in a call that may acquire it, of a function that is not known here"))
						}
					}
				}
				if plan.acquiredAround(i, s, name) {
					refused = append(refused, *p.refusal(name, at, "its lock would be held where the loop ends, over a function that may acquire it"))
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
				touched := plan.touched(i, s.id)
				if s.polls.IsValid() {
					maps.Copy(touched, held)
				}
				for name := range touched {
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

// unwritable says why nothing can be written at a spot; empty if it can.
func (p *Program) unwritable(u *unit, at spot) string {
	switch at.kind {
	case nowhere:
		return "nothing can be inserted here"
	case condition:
		if t, ok := u.Info().TypeOf(at.expr).(*types.Basic); !ok || t.Info()&types.IsBoolean == 0 {
			return "the condition has a type of its own"
		}
	}
	return ""
}

func (plan *Plan) posOf(u *unit, s *step) token.Pos {
	if len(s.parts) > 0 {
		return s.parts[0].Pos()
	}
	return u.Node.Pos()
}

// count counts what was placed.
func (plan *Plan) count(requests []*request) error {
	for _, r := range requests {
		v := PlannedVariable{Name: r.name, Objects: plan.objects[r.name], Members: plan.p.groups[r.name]}
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
