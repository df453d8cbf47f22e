package enforce

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
)

// stalling returns the locks of the program whose holder may wait for another goroutine by other means than locks, or
// for a lock that stalls. The holder of any other lock will release it, or waits for an inserted lock or for a lock that
// does not stall; these are acquired in one order. So an inserted lock stays held while its goroutine waits for a lock
// that does not stall. A lock that a goroutine may hold in two objects at a time counts as one that stalls.
func (p *Program) stalling() map[string]bool {
	stalls := p.untraced()
	waits := p.waitingUnits()
	held := p.programLocks()
	acquired := p.acquiredLocks()
	for i, u := range p.units {
		for _, s := range u.flow.steps {
			for name := range held[i][s.id] {
				twice := s.lock != nil && !s.lock.release && s.lock.name == name
				for _, c := range s.calls {
					for _, callee := range c.callees {
						twice = twice || acquired[callee.number][name]
					}
				}
				if twice {
					stalls[name] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		acquires := p.upwards(func(s *step) bool {
			return s.lock != nil && !s.lock.release && !s.lock.try && stalls[s.lock.name]
		})
		for i, u := range p.units {
			for _, s := range u.flow.steps {
				if !p.stops(s, waits, acquires, stalls) {
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

// stops reports whether a step may wait, or acquire a lock that stalls, itself or in calls.
func (p *Program) stops(s *step, waits, acquires []bool, stalls map[string]bool) bool {
	if s.waits || s.lock != nil && !s.lock.release && !s.lock.try && stalls[s.lock.name] {
		return true
	}
	for _, c := range s.calls {
		if c.waits {
			return true
		}
		for _, callee := range c.callees {
			if waits[callee.number] || acquires[callee.number] {
				return true
			}
		}
	}
	return false
}

// waitingUnits says which functions may wait, other than for locks, themselves or in calls.
func (p *Program) waitingUnits() []bool {
	return p.upwards(func(s *step) bool {
		if s.waits {
			return true
		}
		for _, c := range s.calls {
			if c.waits {
				return true
			}
		}
		return false
	})
}

// acquiredLocks returns the locks of the program that each function may acquire, itself or in calls.
func (p *Program) acquiredLocks() []map[string]bool {
	out := make([]map[string]bool, len(p.units))
	work := slices.Clone(p.units)
	for i, u := range p.units {
		out[i] = map[string]bool{}
		for _, s := range u.flow.steps {
			if s.lock != nil && !s.lock.release {
				out[i][s.lock.name] = true
			}
		}
	}
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range p.callers[u.number] {
			before := len(out[caller.number])
			maps.Copy(out[caller.number], out[u.number])
			if len(out[caller.number]) > before {
				work = append(work, caller)
			}
		}
	}
	return out
}

// upwards says which functions have a step for which is is true, themselves or in calls.
func (p *Program) upwards(is func(*step) bool) []bool {
	out := make([]bool, len(p.units))
	var work []*unit
	for i, u := range p.units {
		for _, s := range u.flow.steps {
			if is(s) {
				out[i], work = true, append(work, u)
				break
			}
		}
	}
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		for _, caller := range p.callers[u.number] {
			if !out[caller.number] {
				out[caller.number] = true
				work = append(work, caller)
			}
		}
	}
	return out
}

// programLocks returns, for each function and step, the locks of the program that may be held there and have been
// acquired in the function or in what it calls. Locks that are held by callers count in the callers, at the call.
func (p *Program) programLocks() [][]map[string]bool {
	held := make([][]map[string]bool, len(p.units))
	leaves := make([]map[string]bool, len(p.units)) // held after the function
	for i, u := range p.units {
		leaves[i] = map[string]bool{}
		held[i] = make([]map[string]bool, len(u.flow.steps))
		for n := range held[i] {
			held[i][n] = map[string]bool{}
		}
	}
	queued := make([]bool, len(p.units))
	var work []*unit
	push := func(u *unit) {
		if !queued[u.number] {
			queued[u.number] = true
			work = append(work, u)
		}
	}
	for _, u := range p.units {
		push(u)
	}
	for len(work) > 0 {
		u := work[len(work)-1]
		work = work[:len(work)-1]
		queued[u.number] = false
		at := held[u.number]
		for changed := true; changed; {
			changed = false
			for n, s := range u.flow.steps {
				after := at[n]
				if s.lock != nil || len(s.calls) > 0 {
					after = maps.Clone(after)
					for _, c := range s.calls {
						for _, callee := range c.callees {
							maps.Copy(after, leaves[callee.number])
						}
					}
					if s.lock != nil && s.lock.release {
						delete(after, s.lock.name)
					} else if s.lock != nil {
						after[s.lock.name] = true
					}
				}
				to := u.flow.succs[n]
				for _, next := range to {
					before := len(at[next])
					maps.Copy(at[next], after)
					changed = changed || len(at[next]) > before
				}
				if len(to) == 0 {
					before := len(leaves[u.number])
					maps.Copy(leaves[u.number], after)
					if len(leaves[u.number]) > before {
						for _, caller := range p.callers[u.number] {
							push(caller)
						}
					}
				}
			}
		}
	}
	return held
}

// untraced returns the locks of the program of which the source does not show every acquisition: those without a name,
// those that are reached through pointers or interfaces or that are passed on, and those of other modules.
func (p *Program) untraced() map[string]bool {
	out := map[string]bool{unnamedLock: true}
	for _, f := range p.files {
		info := f.pkg.TypesInfo
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := info.Uses[id].(*types.Var)
			if !ok {
				if v, ok = info.Defs[id].(*types.Var); !ok {
					return true
				}
				if v.Embedded() && isMutex(v.Type()) { // an interface may have its methods
					out[p.nameOfLock(v)] = true
				}
				if isMutexPointer(v.Type()) {
					out[p.nameOfLock(v)] = true
				}
				return true
			}
			if !isMutex(v.Type()) {
				if isMutexPointer(v.Type()) {
					out[p.nameOfLock(v)] = true
				}
				return true
			}
			if v.IsField() && p.fields[p.key(v)] == "" || !p.calledDirectly(id) {
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
	if sel, ok := p.parents[e].(*ast.SelectorExpr); ok && sel.Sel == id {
		e = sel
	}
	for {
		paren, ok := p.parents[e].(*ast.ParenExpr)
		if !ok {
			break
		}
		e = paren
	}
	method, ok := p.parents[e].(*ast.SelectorExpr)
	if !ok || method.X != e {
		return false
	}
	call, ok := p.parents[method].(*ast.CallExpr)
	return ok && call.Fun == method
}

func isMutex(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "sync" && (n.Obj().Name() == "Mutex" || n.Obj().Name() == "RWMutex")
}

func isMutexPointer(t types.Type) bool {
	ptr, ok := types.Unalias(t).(*types.Pointer)
	return ok && isMutex(ptr.Elem())
}
