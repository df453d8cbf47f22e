package ownership

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// proofs answers what holds whenever a function is called: the locks-def-held of the paper, by the greatest fixed
// point over the calls.
type proofs struct {
	a     *analysis
	nodes map[string]*node
	final map[memory]bool
}

// goal is a lock that is to be held.
type goal struct {
	at          place
	class       memory
	exclusively bool
}

func (g goal) isZero() bool { return g.at.root == "" && g.at.near == nil }

// node is a statement about all calls of a function: that the lock of a goal is held, or that the object to which a
// parameter points is known to nobody but the caller.
type node struct {
	failed     bool
	dependents []*node // that hold only if this one does
}

func newProofs(a *analysis) *proofs {
	return &proofs{a: a, nodes: map[string]*node{}, final: map[memory]bool{}}
}

// provedAt reports whether a goal is reached at a point of a function, or the object that a parameter points to
// is fresh whenever the function is called. Object is the number of the parameter, or -1.
func (p *proofs) provedAt(f *function, locks locksAt, g goal, object int, via carrying) bool {
	if p.heldIn(locks, g) {
		return true
	}
	if !g.at.movable() || locks.lost(p.a.classes.number(g.class)) || !p.allFinal(g.at.through) {
		g = goal{}
	}
	return p.proved(f, g, object, via)
}

// heldIn reports whether a lock is among those that a function has acquired.
func (p *proofs) heldIn(locks locksAt, g goal) bool {
	return !g.isZero() && slices.ContainsFunc(locks.held, func(h held) bool {
		if h.class != g.class || g.exclusively && h.shared {
			return false
		}
		if g.at.root == singleRoot {
			return true
		}
		through, same := h.place.same(g.at)
		return same && p.allFinal(through)
	})
}

// proved reports whether at each call of f the goal is reached, or the object is fresh.
func (p *proofs) proved(f *function, g goal, object int, via carrying) bool {
	if g.isZero() && object < 0 {
		return false
	}
	return !p.node(f, g, object, via).failed
}

// carrying says that only those calls of a function are meant that pass a value of a tracked type to an interface parameter.
type carrying struct {
	boxed *boxType
	param int
}

// by returns what calls of the caller are meant if a call is made by those of its calls that are meant.
func (c *call) by(via carrying) carrying {
	var value ssa.Value
	switch args := ssaload.Arguments(c.ins.Common()); {
	case c.boxed != nil:
		value, via.boxed = c.ins.Common().Value, c.boxed
	case via.boxed != nil && via.param < len(args):
		value = args[via.param]
	}
	if param, ok := value.(*ssa.Parameter); ok && param.Parent() == c.caller.fn {
		return carrying{via.boxed, slices.Index(c.caller.fn.Params, param)}
	}
	return carrying{}
}

// passes reports whether a call may be one of those that are meant.
func (p *proofs) passes(c *call, via carrying) bool {
	if via.boxed == nil {
		return true
	}
	args := ssaload.Arguments(c.ins.Common())
	return via.param >= len(args) || !isInterface(args[via.param].Type()) || p.a.boxes.may(args[via.param], via.boxed)
}

func (p *proofs) node(f *function, g goal, object int, via carrying) *node {
	key := fmt.Sprint(f.id, " ", g.at.key(), " ", g.class, " ", g.exclusively, " ", object)
	if via.boxed != nil {
		key += fmt.Sprint(" ", via.param, " ", typeKey(via.boxed.typ))
	}
	if n := p.nodes[key]; n != nil {
		return n
	}
	n := &node{}
	p.nodes[key] = n
	if f.unknownCallers && via.boxed == nil { // the others pass no values of tracked types
		n.fail()
		return n
	}
	for _, c := range f.callers {
		if !p.passes(c, via) || p.reached(n, c, g, object, via) {
			continue
		}
		n.fail()
		break
	}
	return n
}

// reached reports whether a call reaches the goal, at least if the statements hold that n depends on from now on.
func (p *proofs) reached(n *node, c *call, g goal, object int, via carrying) bool {
	common := c.ins.Common()
	if !c.plain() {
		return false
	}
	outer := -1 // the parameter of the caller that the object is in
	if object >= 0 {
		args := ssaload.Arguments(common)
		if object < len(args) {
			if c.caller.initializes || c.caller.in.publish.unpublished(args[object], c.ins) {
				return true
			}
			if param := parameterOf(args[object]); param != nil && !c.caller.in.publish.publishedBefore(param, c.ins) {
				outer = slices.Index(c.caller.fn.Params, param)
			}
		}
	}
	there := goal{}
	if !g.isZero() {
		at, ok := c.caller.instantiate(common, g.at)
		if ok {
			there = goal{at: at, class: g.class, exclusively: g.exclusively}
			if p.heldIn(c.locks, there) {
				return true
			}
			if !at.movable() || c.locks.lost(p.a.classes.number(g.class)) || !p.allFinal(at.through) {
				there = goal{}
			}
		}
	}
	if there.isZero() && outer < 0 {
		return false
	}
	caller := p.node(c.caller, there, outer, c.by(via))
	if caller.failed {
		return false
	}
	caller.dependents = append(caller.dependents, n)
	return true
}

// fail says that a statement does not hold, and those that depend on it.
func (n *node) fail() {
	work := []*node{n}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if n.failed {
			continue
		}
		n.failed = true
		work = append(work, n.dependents...)
	}
}

// allFinal reports whether the pointers that lead to a place never change once others know them.
func (p *proofs) allFinal(through []memory) bool {
	for _, m := range through {
		if !p.isFinal(m) {
			return false
		}
	}
	return true
}

func (p *proofs) isFinal(m memory) bool {
	if final, ok := p.final[m]; ok {
		return final
	}
	v := p.a.variables[m]
	final := v != nil && len(v.problems) == 0
	p.final[m] = false
	if v != nil {
		for _, x := range v.accesses {
			final = final && (!x.write || x.fresh || p.fresh(x))
		}
	}
	p.final[m] = final
	return final
}
