package enforce

import (
	"cmp"
	"fmt"
	"go/token"
	"maps"
	"slices"
)

// Interruption says where a profiled pair may be interrupted: its goroutine may wait there for another one, or for
// input or output, and others may get the lock of the variable until the wait is over.
type Interruption struct {
	Variable string
	Function string // that has the pair
	File     string // relative to the module
	Line     int    // of the operation that may wait, or of the call that leads to it
	// WaitFile and WaitLine are where it waits, if that is in a function that is called.
	WaitFile string
	WaitLine int
}

// String returns the interruption on one line.
func (i Interruption) String() string {
	what := fmt.Sprintf("%s:%d: %s: a pair in %s is not atomic if others get the lock in this operation, which may wait", i.File, i.Line, i.Variable, i.Function)
	if i.WaitFile != "" {
		what += fmt.Sprintf(" at %s:%d", i.WaitFile, i.WaitLine)
	}
	return what
}

// interruptions returns where pairs may be interrupted, in the order of the source.
func (plan *Plan) interruptions() (all []Interruption) {
	p := plan.p
	for i, u := range p.units {
		for _, s := range u.flow.steps {
			at, inside := plan.waitOf(u, s)
			if !at.IsValid() {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(plan.paired(i, s))) {
				pos := p.src.Fset.PositionFor(at, false)
				in := Interruption{Variable: name, Function: p.name(u), File: p.relative(pos.Filename), Line: pos.Line}
				if inside.IsValid() {
					pos := p.src.Fset.PositionFor(inside, false)
					in.WaitFile, in.WaitLine = p.relative(pos.Filename), pos.Line
				}
				all = append(all, in)
			}
		}
	}
	slices.SortFunc(all, func(a, b Interruption) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Variable, b.Variable), cmp.Compare(a.WaitFile, b.WaitFile), cmp.Compare(a.WaitLine, b.WaitLine))
	})
	return slices.Compact(all)
}

// waitOf returns where held locks are paused in a step: the operation in the step, and the place within the functions
// that it calls, if it is there. They are token.NoPos if there is none.
func (plan *Plan) waitOf(u *unit, s *step) (at, inside token.Pos) {
	if at := plan.waitsHere(s); at.IsValid() {
		return at, token.NoPos
	}
	for _, c := range s.calls {
		for _, target := range c.mayCall() {
			if plan.needs[target][waiting] {
				return c.Expr.Pos(), plan.deepest(target)
			}
		}
	}
	return token.NoPos, token.NoPos
}

// waitsHere returns the operation of a step that may wait, other than in functions of the module.
func (plan *Plan) waitsHere(s *step) token.Pos {
	switch {
	case s.waits:
		return s.waitsAt
	case plan.stallsAt(s):
		return s.lock.Expr.Pos()
	}
	for _, c := range s.calls {
		if c.waits {
			return c.Expr.Pos()
		}
	}
	return s.polls
}

// deepest returns an operation that may wait in a target or in what it calls, one that the fewest calls lead to.
func (plan *Plan) deepest(target int) token.Pos {
	p := plan.p
	seen := map[int]bool{target: true}
	var work []int
	add := func(targets []int) {
		for _, t := range targets {
			if !seen[t] {
				seen[t] = true
				work = append(work, t)
			}
		}
	}
	for work = []int{target}; len(work) > 0; work = work[1:] {
		if work[0] >= len(p.units) {
			add(p.graph.Members(work[0]))
			continue
		}
		steps := p.units[work[0]].flow.steps
		for _, s := range steps {
			if at := plan.waitsHere(s); at.IsValid() {
				return at
			}
		}
		for _, s := range steps {
			for _, c := range s.calls {
				add(c.mayCall())
			}
		}
	}
	return token.NoPos
}

// paired returns the variables of which a pair is begun before the wait in a step, and ended after it.
func (plan *Plan) paired(function int, s *step) map[string]bool {
	out := map[string]bool{}
	if plan.before[function] == nil { // nothing is placed in the function
		return out
	}
	live := func(name string, access int) bool { // after the step
		for _, next := range plan.p.units[function].flow.succs[s.id] {
			if plan.before[function][next][reason{name, access, -1}] {
				return true
			}
		}
		return false
	}
	for r := range plan.before[function][s.id] {
		if r.hold >= 0 {
			continue
		}
		if s.polls.IsValid() { // which comes before all that the step does
			out[r.variable] = true
		}
		// An access of the step comes before it waits, except in a call.
		if !plan.uses(function, r.variable, s.id) && (live(r.variable, r.access) || plan.accesses(function, r.variable, s.id)) {
			out[r.variable] = true
		}
	}
	for name := range plan.result.Placements[function] {
		if plan.accesses(function, name, s.id) && live(name, s.id) {
			out[name] = true
		}
	}
	return out
}
