package patch

import (
	"fmt"
	"go/types"
)

// A race of a field that is written only while its object is made follows from the race of a variable by which other goroutines
// learn of the object.

// onlyMade reports whether nothing writes a field once other goroutines can know its object.
func (p *program) onlyMade(t *target) bool {
	if !t.isField() {
		return false
	}
	uses := p.uses(t)
	o := p.newOrdering(p.starts(), uses)
	for _, u := range uses {
		if u.addr || u.write && !o.alone(u, t) {
			return false
		}
	}
	return true
}

// follow says of the races that follow from others whether these are repaired.
func (m *maker) follow() {
	for _, t := range m.following {
		target := m.target(t)
		owner := m.p.ownerOf(target)
		by := ""
		for _, key := range m.guarded {
			if v := m.p.byKey(key); v != nil && owner != nil && leadsTo(v.first().v.Type(), owner, map[types.Type]bool{}) {
				by = v.names()
				break
			}
		}
		if by == "" {
			m.leave(t, &refusal{target.first().ident.Pos(), "it is written only while its object is made: guard the variable by which other goroutines learn of the object"})
			continue
		}
		m.repaired(Repair{Summary: fmt.Sprintf("%s.%s: follows from the race of %s, and is written only while its object is made", owner.Obj().Name(), target.names(), by)}, t)
	}
}

// ownerOf returns the type that declares a field, or nil.
func (p *program) ownerOf(t *target) *types.Named {
	spec := p.typeSpec(t.first().ident)
	if spec == nil {
		return nil
	}
	owner, _ := types.Unalias(t.file.Info().Defs[spec.Name].Type()).(*types.Named)
	return owner
}

// leadsTo reports whether values of a type lead to values of another one.
func leadsTo(t types.Type, to *types.Named, seen map[types.Type]bool) bool {
	if t = types.Unalias(t); t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if n, ok := t.(*types.Named); ok && n.Origin().Obj().Name() == to.Obj().Name() && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == to.Obj().Pkg().Path() {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return leadsTo(u.Elem(), to, seen)
	case *types.Slice:
		return leadsTo(u.Elem(), to, seen)
	case *types.Array:
		return leadsTo(u.Elem(), to, seen)
	case *types.Chan:
		return leadsTo(u.Elem(), to, seen)
	case *types.Map:
		return leadsTo(u.Key(), to, seen) || leadsTo(u.Elem(), to, seen)
	case *types.Struct:
		for field := range u.Fields() {
			if leadsTo(field.Type(), to, seen) {
				return true
			}
		}
	}
	return false
}
