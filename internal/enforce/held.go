package enforce

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/static"
)

// waiting is what a function needs that may wait.
const waiting = ""

// deferring is what a function needs that defers calls, itself or in what it calls.
const deferring = "defer"

// endKey names an access after which the lock is not held any more for an earlier one.
type endKey struct {
	function int
	variable string
	node     int
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
		placements := plan.result.Placements[i]
		if len(placements) == 0 {
			continue
		}
		for name, pl := range placements {
			for _, rel := range pl.Releases {
				// An access that acquires nothing ends the reason of an earlier one.
				acquires := slices.ContainsFunc(pl.Acquisitions, func(a heal.Acquisition) bool { return a.Hold < 0 && a.Node == rel.From })
				if rel.Access >= 0 && rel.Access != rel.From && !acquires && plan.accesses(i, name, rel.From) {
					plan.ends[endKey{i, name, rel.From}] = true
				}
			}
		}
		before, inside := u.flow.heldWith(placements)
		plan.held[i], plan.before[i] = map[int]map[string]bool{}, before
		for n := range u.flow.steps {
			names := map[string]bool{}
			for r := range inside(n) {
				names[r.variable] = true
			}
			plan.held[i][n] = names
		}
	}
}

// heldWith returns the reasons for which locks that are placed so may be held before each step of a function, and within a step.
func (f *flow) heldWith(placements map[string]*heal.Placement) (before []map[reason]bool, inside func(step int) map[reason]bool) {
	acquired := map[int][]reason{}
	released := map[[2]int]map[reason]bool{}
	for name, pl := range placements {
		for _, a := range pl.Acquisitions {
			r := reason{name, a.Node, -1}
			if a.Hold >= 0 {
				r = reason{name, -1, a.Hold}
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
	before = make([]map[reason]bool, len(f.steps))
	for n := range before {
		before[n] = map[reason]bool{}
	}
	inside = func(n int) map[reason]bool {
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
		for n := range f.steps {
			at := inside(n)
			for _, next := range f.succs[n] {
				for r := range at {
					if !released[[2]int{n, next}][r] && !before[next][r] {
						before[next][r], changed = true, true
					}
				}
			}
		}
	}
	return before, inside
}

// crosses reports whether the pairs of a variable in a function hold its lock in a step with a call or an operation on a lock.
func (p *Program) crosses(r *request, u *unit) (bool, error) {
	f, _, err := p.function(u, []*request{r})
	if err != nil {
		return false, err
	}
	placed, err := heal.Place(f.Graph, f.Variables[r.name])
	if err != nil {
		return false, err
	}
	_, inside := u.flow.heldWith(map[string]*heal.Placement{r.name: placed})
	return slices.ContainsFunc(u.flow.steps, func(s *step) bool {
		return len(inside(s.id)) > 0 && (len(s.calls) > 0 || s.lock != nil || s.waits)
	}), nil
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
		if len(plan.p.units[i].flow.defers) > 0 {
			plan.needs[i][deferring] = true
		}
		for _, s := range plan.p.units[i].flow.steps {
			if s.waits || s.polls.IsValid() || plan.stallsAt(s) || slices.ContainsFunc(s.calls, func(c *call) bool { return c.waits }) {
				plan.needs[i][waiting] = true
			}
		}
	}
	if len(plan.p.iterating) == 0 {
		static.Upwards(plan.p.graph, plan.needs)
		plan.alone = plan.needs
		return
	}
	plan.spread(plan.needs, func(c *call) []int { return c.Targets })
	plan.alone = make([]map[string]bool, len(plan.needs))
	for i, set := range plan.needs {
		plan.alone[i] = maps.Clone(set)
	}
	plan.spread(plan.needs, (*call).mayCall)
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
			if len(plan.held[u.Number][s.id])+len(plan.passed[u.Number]) == 0 {
				continue
			}
			for _, c := range s.calls {
				if c.Callee == nil {
					continue
				}
				to := plan.passed[c.Callee.Number]
				before := len(to)
				maps.Copy(to, plan.all(u.Number, s.id))
				if len(to) > before {
					work = append(work, plan.p.units[c.Callee.Number])
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
	return s.lock != nil && !s.lock.Releases() && !s.lock.Tries() && plan.stalls[s.lock.Class]
}

// yields reports whether a step is one to which control comes again and again while it waits for another goroutine, and a
// lock may be held before it.
func (plan *Plan) yields(function int, s *step) bool {
	held := plan.before[function] != nil && len(plan.before[function][s.id]) > 0
	return s.polls.IsValid() && s.before.kind != deferred && (held || len(plan.passed[function]) > 0)
}

// waitsIn reports whether a step may wait, other than in calls of functions that are told what is held.
func (plan *Plan) waitsIn(s *step) bool {
	return s.waits || slices.ContainsFunc(s.calls, plan.waitsCall)
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
