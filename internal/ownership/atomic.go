package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
)

// Function says whether a function is atomic: whether each execution is equivalent to one that other goroutines do not
// interleave with. It is about functions that return with the locks held with which they were called; one that a panic
// leaves while it holds a lock is not considered.
type Function struct {
	Name      focus.Function
	Atomicity focus.Basic // Mover, Atomic or Compound, or Const if it accesses no memory that others may access
	Reason    Reason      // why it is Compound
	// Steps says that it is Compound because it uses locks, atomic variables or functions that do so several times.
	Steps bool
	Sync  bool // it uses these at all, or functions that do
	Test  bool // it is in a file of tests
}

// atomicities computes what is known of the functions, in the order of their names: section 5 of the paper. Instructions contribute what movers.go
// says. A function is atomic if on each path, instructions that can be exchanged with what comes after them are
// followed by at most one that cannot be exchanged, and then by instructions that can be exchanged with what comes before.
//
// The conditional atomicities of the paper are not needed: whether an access is made with the right lock has been
// proved of all callers already.
func (a *analysis) atomicities() (list []Function) {
	a.nameless = map[ssa.Instruction]bool{}
	for _, o := range a.orphans {
		a.nameless[o.ins] = true
	}
	parts := make(map[*function][][]part, len(a.functions))
	bodies := make(map[focus.Function]focus.Body, len(a.functions))
	for _, f := range a.functions {
		if len(f.fn.Blocks) == 0 {
			continue // an assembly function: nothing is known
		}
		parts[f] = f.parts()
		bodies[focus.Function(f.id)] = func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			whole, _ := f.follow(parts[f], call)
			return focus.Always(whole)
		}
	}
	known := focus.InferAtomicity(bodies)
	synchronize := synchronizing(parts)
	call := func(callee focus.Function) focus.Atomicity {
		if result, ok := known[callee]; ok {
			return result
		}
		return focus.Always(focus.Compound)
	}
	for _, f := range a.functions {
		if f.name == "" || f.in.outside || len(f.fn.Blocks) == 0 {
			continue
		}
		whole, why := f.follow(parts[f], call)
		steps := why.first.uses(synchronize) && why.second.uses(synchronize)
		list = append(list, Function{Name: f.name, Atomicity: whole, Reason: why.Reason, Steps: steps, Sync: synchronize[f], Test: f.isTest()})
	}
	slices.SortFunc(list, func(x, y Function) int {
		return cmp.Or(strings.Compare(string(x.Name), string(y.Name)), int(y.Atomicity)-int(x.Atomicity))
	})
	// A package that was loaded twice has its functions twice.
	return slices.CompactFunc(list, func(x, y Function) bool { return x.Name == y.Name })
}

// synchronizing returns the functions that use locks, atomic variables and the like, or call functions that do.
func synchronizing(parts map[*function][][]part) map[*function]bool {
	found := map[*function]bool{}
	for changed := true; changed; {
		changed = false
		for f, blocks := range parts {
			if found[f] {
				continue
			}
			for _, list := range blocks {
				if slices.ContainsFunc(list, func(p part) bool { return p.uses(found) }) {
					found[f], changed = true, true
					break
				}
			}
		}
	}
	return found
}

// uses reports whether a part uses a lock or the like, or may call one of the functions that do.
func (p *part) uses(synchronize map[*function]bool) bool {
	return p.sync || slices.ContainsFunc(p.callees, func(f *function) bool { return synchronize[f] })
}

// cause is why a function is compound.
type cause struct {
	Reason
	first, second part // the parts of which one too many is there; zero if it is something else
}

// operations reports whether both parts are more than accesses.
func (c *cause) operations() bool {
	operation := func(p *part) bool { return p.sync || len(p.callees) > 0 }
	return operation(&c.first) && operation(&c.second)
}

// path is what is known about all paths to a point of a function.
type path struct {
	done, deferred mover
	locks          int  // held more than at the beginning, those left out that a deferred call releases
	uneven         bool // there are paths with other numbers
	last           part // the last part that others may notice, for reasons
}

func (p path) join(other path) path {
	p.done, p.deferred = p.done.join(other.done), p.deferred.join(other.deferred)
	if p.uneven = p.uneven || other.uneven || p.locks != other.locks; p.uneven {
		p.locks = 0
	}
	if p.last.ins == nil {
		p.last = other.last
	}
	return p
}

func (p path) same(other path) bool {
	return p.done == other.done && p.deferred == other.deferred && p.locks == other.locks && p.uneven == other.uneven
}

// follow returns the atomicity of a function, given those of the functions that it calls, and why it is compound.
func (f *function) follow(parts [][]part, call func(focus.Function) focus.Atomicity) (focus.Basic, cause) {
	entries := make([]*path, len(f.fn.Blocks))
	entries[0] = &path{}
	work := []*ssa.BasicBlock{f.fn.Blocks[0]}
	whole := nothing
	var why cause
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		p := *entries[b.Index]
		for i := range parts[b.Index] {
			p = f.advance(p, &parts[b.Index][i], call, &why)
		}
		end := b.Instrs[len(b.Instrs)-1]
		// A panic may end the function anywhere. What is deferred then comes after a part of what comes before it otherwise.
		all := p.done.then(p.deferred)
		if all == compound && why.Reason == (Reason{}) {
			why.Reason = Reason{f.position(end), "what is deferred comes after other steps"}
		}
		if _, returns := end.(*ssa.Return); returns && (p.uneven || p.locks != 0) {
			all = compound
			if why.Reason == (Reason{}) {
				why.Reason = Reason{f.position(end), "returns with other locks than it was called with"}
			}
		}
		whole = whole.join(all)
		for _, succ := range b.Succs {
			if old := entries[succ.Index]; old != nil {
				joined := old.join(p)
				if joined.same(*old) {
					continue
				}
				entries[succ.Index] = &joined
			} else {
				entries[succ.Index] = &p
			}
			work = append(work, succ)
		}
	}
	switch whole {
	case nothing:
		return focus.Const, cause{}
	case both:
		return focus.Mover, cause{}
	case compound:
		return focus.Compound, why
	}
	return focus.Atomic, cause{}
}

// advance returns what is known after a part of a function. If the function is compound from here on, that is the reason.
func (f *function) advance(p path, next *part, call func(focus.Function) focus.Atomicity, why *cause) path {
	if _, ends := next.ins.(*ssa.RunDefers); ends {
		p.done, p.deferred = p.done.then(p.deferred), nothing
		return p
	}
	is := next.is
	if len(next.callees) > 0 {
		callees := nothing
		for _, callee := range next.callees {
			callees = callees.join(moverOf(call(focus.Function(callee.id)).Most()))
		}
		if is == atomic { // sync.Once: a lock is held around the call
			is = atomic.join(right.then(callees).then(left))
		} else {
			is = is.then(callees)
		}
	}
	p.locks += next.locks
	if p.uneven {
		p.locks = 0
	}
	if next.later {
		p.deferred = is.then(p.deferred)
		return p
	}
	before := p.done
	if p.done = before.then(is); p.done == compound && before != compound {
		c := cause{Reason: Reason{f.position(next.ins), next.why}}
		if is != compound && p.last.ins != nil {
			c.first, c.second = p.last, *next
			c.Text = fmt.Sprintf("%s; before that, it %s in line %d", next.why, p.last.why, f.position(p.last.ins).Line)
		}
		// Of several causes on different paths, operations on locks, and calls, say more than racy accesses.
		if why.Reason == (Reason{}) || c.operations() && !why.operations() {
			*why = c
		}
	}
	if is > both {
		p.last = *next
	}
	return p
}

func moverOf(b focus.Basic) mover {
	switch b {
	case focus.Const:
		return nothing
	case focus.Mover:
		return both
	case focus.Atomic:
		return atomic
	}
	return compound
}
