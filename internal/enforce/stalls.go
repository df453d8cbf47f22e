package enforce

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// stalling returns the locks of the program whose holder may wait for another goroutine by other means than locks, or
// for a lock that stalls. The holder of any other lock will release it, or waits for an inserted lock or for a lock that
// does not stall; these are acquired in one order. So an inserted lock stays held while its goroutine waits for a lock
// that does not stall. A lock that a goroutine may hold in two objects at a time counts as one that stalls, and so does
// one that a function leaves locked which is called as a value or through an interface.
func (p *Program) stalling() map[string]bool {
	stalls := p.untraced()
	held, left := p.programLocks()
	maps.Copy(stalls, left)
	acquired := map[string][]bool{} // by lock, and function or group
	acquires := func(target int, name string) bool {
		all, ok := acquired[name]
		if !ok {
			all = p.upwards(func(s *step) bool { return s.lock != nil && !s.lock.Releases() && s.lock.name == name })
			acquired[name] = all
		}
		return all[target]
	}
	for i, u := range p.units {
		for _, s := range u.flow.steps {
			for name := range held[i][s.id] {
				twice := s.lock != nil && !s.lock.Releases() && s.lock.name == name
				for _, c := range s.calls {
					for _, target := range c.targets {
						twice = twice || acquires(target, name)
					}
				}
				if twice {
					stalls[name] = true
				}
			}
		}
	}
	waits := p.upwards(func(s *step) bool {
		return s.waits || slices.ContainsFunc(s.calls, func(c *call) bool { return c.waits })
	})
	for changed := true; changed; {
		changed = false
		acquires := p.upwards(func(s *step) bool { return s.lock.waitsFor(stalls) })
		for i, u := range p.units {
			for _, s := range u.flow.steps {
				if len(held[i][s.id]) == 0 || !s.waits && !s.lock.waitsFor(stalls) && !slices.ContainsFunc(s.calls, func(c *call) bool {
					return c.waits || slices.ContainsFunc(c.targets, func(t int) bool { return waits[t] || acquires[t] })
				}) {
					continue
				}
				for name := range held[i][s.id] {
					if !stalls[name] {
						stalls[name], changed = true, true
					}
				}
			}
		}
	}
	return stalls
}

// waitsFor reports whether an operation waits for one of some locks. A nil lockOp does not.
func (op *lockOp) waitsFor(locks map[string]bool) bool {
	return op != nil && !op.Releases() && !op.Tries() && locks[op.name]
}

// upwards says which functions and groups have a step for which is is true, themselves or in calls.
func (p *Program) upwards(is func(*step) bool) []bool {
	out := make([]bool, len(p.callers))
	var work []int
	for i, u := range p.units {
		if slices.ContainsFunc(u.flow.steps, is) {
			out[i], work = true, append(work, i)
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range p.callers[at] {
			if !out[caller] {
				out[caller] = true
				work = append(work, caller)
			}
		}
	}
	return out
}

// programLocks returns, for each function and step, the locks of the program that may be held there and have been
// acquired in the function or in what it calls; nil if there are none. Locks that are held by callers count in the
// callers, at the call. Left are the locks that may be held after calls of groups; they do not count there.
func (p *Program) programLocks() (held [][]map[string]bool, left map[string]bool) {
	left = map[string]bool{}
	held = make([][]map[string]bool, len(p.units))
	for i, u := range p.units {
		held[i] = make([]map[string]bool, len(u.flow.steps))
	}
	leaves := make([]map[string]bool, len(p.callers)) // held after the function
	queued := make([]bool, len(p.callers))
	var work []int
	push := func(at int) {
		if !queued[at] {
			queued[at], work = true, append(work, at)
		}
	}
	for i, u := range p.units {
		if slices.ContainsFunc(u.flow.steps, func(s *step) bool { return s.lock != nil && !s.lock.Releases() }) {
			push(i)
		}
	}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		queued[at] = false
		if at >= len(p.units) {
			for _, member := range p.members(at) {
				maps.Copy(left, leaves[member])
			}
			continue
		}
		if left := p.follow(p.units[at], held[at], leaves); len(left) > len(leaves[at]) {
			leaves[at] = left
			for _, caller := range p.callers[at] {
				push(caller)
			}
		}
	}
	return held, left
}

// follow finds the locks of the program that may be held at each step of a function, given those that may be held after
// what it calls. It returns those that may be held after the function.
func (p *Program) follow(u *unit, held, leaves []map[string]bool) map[string]bool {
	left := map[string]bool{}
	merge := func(to *map[string]bool, from map[string]bool) bool {
		if len(from) == 0 {
			return false
		}
		if *to == nil {
			*to = map[string]bool{}
		}
		before := len(*to)
		maps.Copy(*to, from)
		return len(*to) > before
	}
	for changed := true; changed; {
		changed = false
		for n, s := range u.flow.steps {
			after := held[n]
			if s.lock != nil || len(s.calls) > 0 {
				after = maps.Clone(after)
				for _, c := range s.calls {
					for _, target := range c.targets {
						merge(&after, leaves[target])
					}
				}
				if s.lock != nil && s.lock.Releases() {
					delete(after, s.lock.name)
				} else if s.lock != nil {
					merge(&after, map[string]bool{s.lock.name: true})
				}
			}
			for _, next := range u.flow.succs[n] {
				changed = merge(&held[next], after) || changed
			}
			if len(u.flow.succs[n]) == 0 {
				merge(&left, after)
			}
		}
	}
	return left
}

// untraced returns the locks of the program of which the source does not show every acquisition: those without a name,
// those that are reached through pointers or interfaces or that are passed on, and those of other modules.
func (p *Program) untraced() map[string]bool {
	out := map[string]bool{unnamedLock: true}
	for _, f := range p.src.Files() {
		info := f.Info()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := info.Uses[id].(*types.Var)
			if !ok {
				if v, ok = info.Defs[id].(*types.Var); !ok {
					return true
				}
				if v.Embedded() && isLock(v.Type()) { // an interface may have its methods
					out[p.nameOfLock(v)] = true
				}
				if isLockPointer(v.Type()) {
					out[p.nameOfLock(v)] = true
				}
				return true
			}
			if !isLock(v.Type()) {
				if isLockPointer(v.Type()) {
					out[p.nameOfLock(v)] = true
				}
				return true
			}
			if v.IsField() && p.fields[p.src.Key(v)] == "" || !p.calledDirectly(id) {
				out[p.nameOfLock(v)] = true
			}
			return true
		})
	}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			for _, name := range s.further {
				out[name] = true
			}
			if u.flow.refused != "" && s.lock != nil { // its control flow is not known
				out[s.lock.name] = true
			}
		}
	}
	return out
}

// calledDirectly reports whether the name of a mutex stands where one of its methods is called.
func (p *Program) calledDirectly(id *ast.Ident) bool {
	var e ast.Node = id
	if sel, ok := p.src.Parent(e).(*ast.SelectorExpr); ok && sel.Sel == id {
		e = sel
	}
	for {
		paren, ok := p.src.Parent(e).(*ast.ParenExpr)
		if !ok {
			break
		}
		e = paren
	}
	method, ok := p.src.Parent(e).(*ast.SelectorExpr)
	if !ok || method.X != e {
		return false
	}
	call, ok := p.src.Parent(method).(*ast.CallExpr)
	return ok && call.Fun == method
}

func isLock(t types.Type) bool { return static.KindOf(t) != static.NotLock }

func isLockPointer(t types.Type) bool {
	ptr, ok := types.Unalias(t).(*types.Pointer)
	return ok && isLock(ptr.Elem())
}
