package enforce

import (
	"fmt"
	"go/token"
	"go/types"
	"go/version"
	"slices"

	"github.com/heisen-go/heisen/heal"
)

// objectLocks returns the variables whose objects can have a lock each. All conditions are about the locks as they are
// placed and ordered for one lock of all objects, so they stay right if objects share locks:
//
//   - All accesses name their object in the same way from one definition of the name to the next, and the name stands for
//     it where the lock is acquired.
//   - The lock is held for accesses to one object at a time: when control comes to an access, it is held for accesses by
//     the same name at most, and where the name is defined anew, it is not held for such an access.
//   - While it is held, nothing is called that may acquire it, for any object.
//   - It is held for no call, and it is not acquired earlier to keep locks in order. Both name no object.
//
// So a goroutine waits for the lock of no object while it holds that of another one, and the order of locks is as if
// there was one lock.
func (plan *Plan) objectLocks(requests []*request) map[string]bool {
	out := map[string]bool{}
	if version.Compare("go"+plan.p.version, "go1.18") < 0 {
		return out // the function lock.Of has type parameters
	}
	for _, r := range requests {
		if !plan.p.oneStruct(r.name) {
			continue // addresses of its objects differ
		}
		if !slices.ContainsFunc(plan.p.units, func(u *unit) bool { return !plan.objectsIn(u, r) }) {
			out[r.name] = true
		}
	}
	return out
}

// objectsIn reports whether the operations on the lock of a variable in a function can be on one for each object.
func (plan *Plan) objectsIn(u *unit, r *request) bool {
	i := u.Number
	if len(r.calls[i]) > 0 {
		return false
	}
	if pl := plan.result.Placements[i][r.name]; pl != nil && slices.ContainsFunc(pl.Acquisitions, func(a heal.Acquisition) bool { return a.Hold >= 0 }) {
		return false
	}
	objects := map[int]*types.Var{} // by access
	for _, s := range u.flow.steps {
		if !plan.uses(i, r.name, s.id) {
			continue
		}
		object, _ := s.objectOf(r.name)
		if object == nil || plan.p.fields[plan.p.src.Key(object)] == r.name || !addressable(object) || !plan.p.visible(u, s.before, object) {
			return false
		}
		objects[s.id] = object
	}
	if plan.before[i] == nil {
		return true // nothing is held
	}
	for _, s := range u.flow.steps {
		if plan.held[i][s.id][r.name] {
			for _, c := range s.calls {
				if slices.ContainsFunc(c.mayCall(), func(target int) bool { return plan.needs[target][r.name] }) {
					return false
				}
			}
		}
		for held := range plan.before[i][s.id] {
			if held.variable != r.name {
				continue
			}
			of := objects[held.access]
			if object, accesses := objects[s.id]; accesses && object != of || u.flow.definition(of) == s.id {
				return false
			}
		}
	}
	return true
}

// addressable reports whether the address of the object that a variable names can be written: the variable is a struct,
// or a pointer to one of a type without a name of its own.
func addressable(v *types.Var) bool {
	switch t := types.Unalias(v.Type()).(type) {
	case *types.Pointer:
		return true
	default:
		_, is := t.Underlying().(*types.Struct)
		return is
	}
}

// visible reports whether the name of a variable stands for it at a spot.
func (p *Program) visible(u *unit, at spot, v *types.Var) bool {
	if at.kind == jumps {
		return !slices.ContainsFunc(at.jumps, func(jump spot) bool { return !p.visible(u, jump, v) })
	}
	if at.pos == token.NoPos {
		return false
	}
	scope := u.Package.Types.Scope().Innermost(at.pos)
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(v.Name(), at.pos)
	return found == v
}

// lockAt returns the expression for the lock of a variable that is acquired before a step.
func (w *writer) lockAt(name string, s *step) string {
	if !w.plan.objects[name] {
		return w.lockOf(name)
	}
	object, _ := s.objectOf(name)
	address := object.Name()
	if _, pointer := object.Type().Underlying().(*types.Pointer); !pointer {
		address = "&" + address
	}
	return fmt.Sprintf("%s.Of(%s, %s)", lockName, w.lockOf(name), address)
}
