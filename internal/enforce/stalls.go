package enforce

import (
	"go/ast"
	"go/types"
	"maps"

	"github.com/heisen-go/heisen/internal/static"
)

// stalling returns the locks of the program whose holder may wait for another goroutine by other means than locks, or
// for a lock that stalls. The holder of any other lock will release it, or waits for an inserted lock or for a lock that
// does not stall; these are acquired in one order. So an inserted lock stays held while its goroutine waits for a lock
// that does not stall. A lock that a goroutine may hold in two objects at a time counts as one that stalls, and so does
// one that a function leaves locked which is called as a value or through an interface.
func (p *Program) stalling() map[static.Key]bool {
	stalls := p.untraced()
	maps.Copy(stalls, p.locks.LeftByGroups())
	maps.Copy(stalls, p.locks.Panics)
	for class := range p.locks.HeldWhere(p.waits.Possibly) {
		stalls[class] = true
	}
	for class, next := range p.locks.Order {
		if _, twice := next[class]; twice {
			stalls[class] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for class, next := range p.locks.Order {
			for other, waits := range next {
				if waits && stalls[other] && !stalls[class] {
					stalls[class], changed = true, true
				}
			}
		}
	}
	return stalls
}

// untraced returns the locks of the program of which the source does not show every acquisition: those without a name,
// those that are reached through pointers or interfaces or that are passed on, and those of other modules.
func (p *Program) untraced() map[static.Key]bool {
	out := map[static.Key]bool{}
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
					out[p.src.Key(v)] = true
				}
				if isLockPointer(v.Type()) {
					out[p.src.Key(v)] = true
				}
				return true
			}
			if !isLock(v.Type()) {
				if isLockPointer(v.Type()) {
					out[p.src.Key(v)] = true
				}
				return true
			}
			if v.IsField() && p.fields[p.src.Key(v)] == "" || !p.calledDirectly(id) {
				out[p.src.Key(v)] = true
			}
			return true
		})
	}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			for _, class := range s.further {
				out[class] = true
			}
			if s.lock != nil && (u.flow.refused != "" || !hasLock(s.lock.Variable)) { // its control flow is not known, or its name
				out[s.lock.Class] = true
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

// hasLock reports whether a variable is a lock, or points to one.
func hasLock(v *types.Var) bool { return v != nil && (isLock(v.Type()) || isLockPointer(v.Type())) }
