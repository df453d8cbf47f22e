package patch

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// step is an access in a function, or a call there of functions that access the target.
type step struct {
	at     ast.Node
	call   *static.Call // nil for an access
	reads  bool
	writes bool
}

// crossing returns the functions whose accesses must be protected by their callers: one call of them reads, and because of it another
// one writes, or the caller itself. It does not look at tests, which check what they have done.
func (m *maker) crossing(t *target, shared []*use, o *ordering) (lifted []*static.Function, why *refusal) {
	byFunction := map[*static.Function][]*use{}
	for _, u := range shared {
		if u.fn != nil {
			byFunction[u.fn] = append(byFunction[u.fn], u)
		}
	}
	for _, fn := range m.p.Functions {
		if strings.HasSuffix(fn.Path, "_test.go") {
			continue
		}
		steps := m.steps(fn, byFunction)
		for _, first := range steps {
			if !first.reads {
				continue
			}
			var influence *influence
			for _, second := range steps {
				if !second.writes || second.at == first.at || first.call == nil && second.call == nil {
					continue
				}
				if influence == nil {
					influence = m.p.influenceOf(fn, t, first.at)
				}
				if !influence.decides(second.at) || m.ordered(o, t, fn, byFunction, first, second) {
					continue
				}
				for _, s := range []step{first, second} {
					if s.call == nil {
						continue
					}
					if s.call.Only() == nil {
						return nil, refuse(s.call.Expr, "line %d checks %s and line %d changes it because of that, in calls of functions that are not known: a lock would have to be held over both",
							m.line(first.at), t.names(), m.line(second.at))
					}
					for callee := range m.p.graph.Reach(s.call.Targets) {
						if byFunction[callee] != nil && !slices.Contains(lifted, callee) {
							lifted = append(lifted, callee)
						}
					}
				}
			}
		}
	}
	slices.SortFunc(lifted, func(a, b *static.Function) int { return a.Number - b.Number })
	return lifted, nil
}

func (m *maker) line(n ast.Node) int { return m.p.position(n.Pos()).Line }

// ordered reports whether no other goroutine can come between two steps: the caller runs alone.
func (m *maker) ordered(o *ordering, t *target, fn *static.Function, of map[*static.Function][]*use, steps ...step) bool {
	for _, s := range steps {
		if s.call == nil {
			return false
		}
		if !o.alone(&use{fn: fn, expr: s.call.Expr}, t) {
			return false
		}
	}
	return true
}

// steps returns the steps of a function, with the literals in it that are called in place.
func (m *maker) steps(fn *static.Function, of map[*static.Function][]*use) (out []step) {
	for _, u := range of[fn] {
		_, isCall := u.expr.(*ast.CallExpr)
		out = append(out, step{at: u.expr, reads: isCall || m.p.reads(u), writes: u.write})
	}
	for _, c := range m.p.graph.Calls(fn) {
		if c.Started || slices.ContainsFunc(of[fn], func(u *use) bool { return u.expr == c.Expr }) {
			continue
		}
		s := step{at: c.Expr, call: c}
		for callee := range m.p.graph.Reach(c.Targets) {
			for _, u := range of[callee] {
				s.reads = s.reads || m.p.reads(u)
				s.writes = s.writes || u.write
			}
		}
		if s.reads || s.writes {
			out = append(out, s)
		}
	}
	return out
}

// calleesOf returns the functions that a function calls.
func (p *program) calleesOf(fn *static.Function) (out []*static.Function) {
	for _, c := range p.graph.Calls(fn) {
		if !c.Started {
			out = append(out, p.graph.May(c.Targets)...)
		}
	}
	return out
}

// callersKnown reports whether all calls of a function are in the program, and name it.
func (p *program) callersKnown(fn *static.Function) bool {
	if p.locks.CallersKnown(fn) {
		return true
	}
	call, called := p.Parent(fn.Node).(*ast.CallExpr)
	if !called || call.Fun != fn.Node {
		return false
	}
	_, deferred := p.Parent(call).(*ast.DeferStmt)
	return deferred
}

// lift replaces the accesses in functions by the calls of these functions, where what a function of the program checks by one
// call it changes by another one, or by itself: then the lock must be held over both. It returns why that is not possible.
func (m *maker) lift(t *target, shared []*use, o *ordering) ([]*use, *refusal) {
	for range maxLift {
		lifted, why := m.crossing(t, shared, o)
		if why != nil || len(lifted) == 0 {
			return shared, why
		}
		var out []*use
		for _, u := range shared {
			if !slices.Contains(lifted, u.fn) {
				out = append(out, u)
				continue
			}
			if !m.p.callersKnown(u.fn) || m.p.graph.ReachFrom(m.p.calleesOf(u.fn))[u.fn] {
				return nil, refuse(u.expr, "%s is called to check and change %s in several steps, and callers that are not known call it, too: a lock would have to be held over all steps", u.fn.Name(), t.names())
			}
			for c := range m.p.calls {
				if c.Only() != u.fn && !slices.Contains(m.p.graph.May(c.Targets), u.fn) {
					continue
				}
				call, ok := m.p.callUse(c, u)
				if !ok {
					return nil, refuse(c.Expr, "%s is called to check and change %s in several steps, and the lock cannot be held over them", u.fn.Name(), t.names())
				}
				if i := slices.IndexFunc(out, func(o *use) bool { return o.expr == call.expr }); i >= 0 {
					out[i].write = out[i].write || call.write
					continue
				}
				if !o.alone(call, t) {
					out = append(out, call)
				}
			}
		}
		shared = out
	}
	return nil, &refusal{t.first().ident.Pos(), "it is checked and changed in functions that call each other, and the lock cannot be held over all steps"}
}
