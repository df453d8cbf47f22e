package enforce

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// Deferred calls are steps at the end of a function, the latest first. Whatever is to be done just before or after one of them
// is deferred, too: what is deferred after the call comes before it. So it is also done if the function panics.
//
// The stack of a deferred call in a recording may lack the function that defers it, because the compiler reports the end of a
// function before its deferred calls.

// joined reports whether two frames are of one function and calls that it defers; see heal.WithDeferred.
func (p *Program) joined(first, second heisen.Frame) bool {
	a, b := p.innermost(first.File, first.Line), p.innermost(second.File, second.Line)
	if a == nil || b == nil || a == b {
		return false
	}
	owners := func(u *unit) []*unit { return append(slices.Clone(p.deferrers[u]), u) }
	return slices.ContainsFunc(owners(a), func(u *unit) bool { return slices.Contains(owners(b), u) })
}

// innermost returns the innermost function or literal that has a line, or nil.
func (p *Program) innermost(file string, line int) (found *unit) {
	for _, u := range p.units { // literals come after what they stand in
		if u.Path != file {
			continue
		}
		if first, last := p.lines(u.Node); first <= line && line <= last {
			found = u
		}
	}
	return found
}

// findDeferrers finds the functions that defer calls of each function.
func (p *Program) findDeferrers() {
	p.deferrers = map[*unit][]*unit{}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			if to := p.deferredTo(s); to != nil && !slices.Contains(p.deferrers[to], u) {
				p.deferrers[to] = append(p.deferrers[to], u)
			}
		}
	}
}

// deferredTo returns the function of the module that a step calls which is a deferred call, or nil.
func (p *Program) deferredTo(s *step) *unit {
	if s.deferred == nil {
		return nil
	}
	for _, c := range s.calls {
		if c.Callee != nil {
			return p.units[c.Callee.Number]
		}
	}
	return nil
}

// deferredOf returns the deferred calls of a function in u that access a variable.
func (p *Program) deferredOf(u *unit, variable string, of *unit) (out []*step) {
	if of == nil || !slices.Contains(p.deferrers[of], u) {
		return nil
	}
	for _, s := range u.flow.steps {
		if p.deferredTo(s) == of && slices.ContainsFunc(s.calls, func(c *call) bool { return p.reaches(c, variable) > untouched }) {
			out = append(out, s)
		}
	}
	return out
}

// deferredOperations writes what is done before and after the deferred calls of a function. last is what is passed on.
func (w *writer) deferredOperations(i int, names []string, last string) {
	u := w.p.units[i]
	for _, s := range u.flow.steps {
		if s.deferred == nil || s.lock != nil && s.lock.Releases() { // an unlock needs nothing
			continue
		}
		var before, after []string
		for _, name := range names {
			if w.plan.held[i] != nil && w.plan.held[i][s.id][name] {
				before = append(before, w.keeps(i, s, names, name)...)
			} else {
				before = append(before, heldOf(names, name)+".Release()")
			}
		}
		released, acquired := w.operations(i, s, names)
		before = append(append(before, released...), acquired...)
		if last != "" && (w.plan.waitsIn(s) || w.plan.stallsAt(s) || s.polls.IsValid()) && len(w.plan.all(i, s.id)) > 0 {
			before = append(before, strings.TrimPrefix(last, "&")+".Pause()")
			after = append(after, strings.TrimPrefix(last, "&")+".Resume()")
		}
		w.defers(s.deferred, before, after)
	}
}

// keeps returns the operations by which a lock stays held in a deferred call only for the reasons for which it may be, also
// after a panic.
func (w *writer) keeps(i int, s *step, names []string, name string) (ops []string) {
	var sites []string
	holds := map[int]bool{}
	for r := range w.plan.before[i][s.id] {
		switch {
		case r.variable != name:
		case r.hold >= 0:
			holds[r.hold] = true
		default:
			sites = append(sites, fmt.Sprint(r.access))
		}
	}
	slices.Sort(sites)
	ops = append(ops, fmt.Sprintf("%s.Keep(%s)", heldOf(names, name), strings.Join(sites, ", ")))
	for _, a := range w.plan.result.Placements[i][name].Acquisitions {
		if a.Hold >= 0 && !holds[a.Hold] {
			holds[a.Hold] = true
			ops = append(ops, fmt.Sprintf("%s.Unhold(%d)", heldOf(names, name), a.Hold))
		}
	}
	return ops
}

// defers defers operations that come before a deferred call, and others that come after it.
func (w *writer) defers(d *ast.DeferStmt, before, after []string) {
	text := ""
	for _, op := range slices.Backward(after) {
		text += "defer " + op + "; "
	}
	if text != "" {
		w.insert(d.Pos(), text)
	}
	text = ""
	for _, op := range slices.Backward(before) {
		text += "; defer " + op
	}
	if text != "" {
		w.insert(d.End(), text)
	}
}
