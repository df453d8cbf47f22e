package ownership

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// candidate is a lock that may guard a variable.
type candidate struct {
	guard focus.Guard
	class memory
	steps string // from the struct that has the variable, such as ".state.mu"
	root  string // of a package-level lock

	// holder is the slice that has the struct as an element, if the lock is beside that slice.
	holder memory
}

// candidates returns the locks in the struct that has a variable, and the package-level locks of the packages that
// access it.
func (a *analysis) candidates(v *variable, late []*access) (out []candidate) {
	if n := a.structs[focus.Variable{Package: v.Package, Type: v.Type}]; n != nil && v.other == "" {
		out = a.locksIn(n, "", "", 0)
	} else if v.Type != "" && v.other == "" {
		out = a.locksInGlobal(v)
	}
	out = append(out, a.locksBeside(v, late)...)
	seen := map[memory]bool{}
	if len(late) > 0 {
		out = append(out, a.proofs.singleLocks(late[0])...)
	}
	for _, access := range late {
		for _, h := range a.proofs.globalsHeld(access) {
			if !seen[h.class] {
				seen[h.class] = true
				out = append(out, candidate{guard: focus.Guard{Variable: h.class.Variable}, class: h.class, root: h.place.root, steps: h.place.steps})
			}
		}
	}
	return out
}

// locksBeside returns the locks beside a slice whose elements have the variable: the slice is a field, the lock another one of the
// same struct, and no other variable can have the slice. Then an element belongs to one object, and so to one lock.
func (a *analysis) locksBeside(v *variable, late []*access) (out []candidate) {
	if v.other != "" || v.elements || len(late) == 0 {
		return nil
	}
	through := late[0].place.through
	if len(through) == 0 {
		return nil
	}
	holder := through[len(through)-1]
	owner := a.structs[focus.Variable{Package: holder.Package, Type: holder.Type}]
	held := holder
	held.elements = true
	if owner == nil || a.aliased[held] || a.variables[holder] == nil {
		return nil
	}
	if _, slice := a.variables[holder].typ.Underlying().(*types.Slice); !slice {
		return nil
	}
	for _, c := range a.locksIn(owner, "", "", 0) {
		c.guard = focus.Guard{Variable: c.class.Variable}
		c.holder = holder
		out = append(out, c)
	}
	return out
}

// locksIn returns the locks in a struct type, without following pointers.
func (a *analysis) locksIn(t types.Type, path, steps string, depth int) (out []candidate) {
	in, _ := a.ours(t)
	return a.locksInStruct(t, in, path, steps, depth)
}

// locksInStruct returns the locks in a struct, the fields of which are named as those of in.
func (a *analysis) locksInStruct(t types.Type, in focus.Variable, path, steps string, depth int) (out []candidate) {
	st, ok := ssaload.StructOf(t)
	if !ok || depth > 3 {
		return nil
	}
	for field := range st.Fields() {
		c := candidate{steps: steps + "." + field.Name()}
		c.class.Variable = in
		c.class.Name = strings.TrimPrefix(in.Name+"."+field.Name(), ".")
		c.guard = focus.Guard{SameObject: true, Path: strings.TrimPrefix(path+"."+field.Name(), ".")}
		if static.KindOf(field.Type()) != static.NotLock {
			out = append(out, c)
			continue
		}
		if _, isStruct := field.Type().Underlying().(*types.Struct); !isStruct {
			continue
		}
		if _, named := a.ours(field.Type()); named {
			out = append(out, a.locksIn(field.Type(), path+"."+field.Name(), c.steps, depth+1)...)
		} else if _, anonymous := types.Unalias(field.Type()).(*types.Struct); anonymous && in.Type != "" {
			out = append(out, a.locksInStruct(field.Type(), c.class.Variable, path+"."+field.Name(), c.steps, depth+1)...)
		}
	}
	return out
}

// locksInGlobal returns the locks in a package-level variable whose struct type has no name.
func (a *analysis) locksInGlobal(v *variable) []candidate {
	for _, access := range v.accesses {
		g, ok := access.base.(*ssa.Global)
		if !ok {
			continue
		}
		var out []candidate
		for _, c := range a.locksIn(ssaload.Deref(g.Type()), "", "", 0) {
			c.class.Variable = focus.Variable{Package: v.Package, Type: v.Type, Name: c.guard.Path}
			out = append(out, c)
		}
		return out
	}
	return nil
}

// bestGuard returns the lock that is held at all accesses. If none is, it returns the one that is held at most of
// them, at one at least, and where it is not. If annotations of the variable name locks, each of them must be held.
//
// Made says that it was needed for some access that the caller has made the object. Holder is the slice beside which the lock
// is, if it is none of the same object.
func (a *analysis) bestGuard(v *variable, late []*access) (best focus.Guard, holder memory, made bool, reasons []Reason) {
	most := 0
	var missing []*access
	candidates, annotations := a.candidates(v, late), a.annotations[v.Variable]
	if v.other != "" || v.elements {
		annotations = nil
	}
	if len(annotations) > 0 {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool {
			return !slices.ContainsFunc(annotations, func(n annotation) bool { return n.is(c) })
		})
	}
	for _, n := range annotations {
		if !slices.ContainsFunc(candidates, n.is) {
			return focus.Guard{}, memory{}, false, []Reason{{n.Position, "no lock is known by the name " + n.lock + " here, or it is never held"}}
		}
	}
	proved := 0
	for _, c := range candidates {
		guard := c.guard
		held, byMaking := 0, false
		var without []*access
		for _, access := range late {
			switch {
			case a.proofs.holds(access, c, true, false):
				held++
			case !access.write && a.proofs.holds(access, c, false, false):
				held++
				guard.Shared = true
			case a.proofs.holds(access, c, true, true):
				held++
				byMaking = true
			case !access.write && a.proofs.holds(access, c, false, true):
				held++
				guard.Shared, byMaking = true, true
			default:
				without = append(without, access)
			}
		}
		if held == len(late) {
			if proved++; proved < len(annotations) {
				continue
			}
			return guard, c.holder, byMaking, nil
		}
		if held > most || len(annotations) > 0 {
			most, best, missing = held, guard, without
		}
		if len(annotations) > 0 {
			break
		}
	}
	text := "%s without a lock"
	if best == (focus.Guard{}) {
		missing = late
	} else {
		text = "%s without " + best.String()
	}
	const maxReasons = 5
	slices.SortStableFunc(missing, func(x, y *access) int { return compareBools(!x.write, !y.write) })
	for _, access := range missing {
		if len(reasons) == maxReasons {
			break
		}
		if access.harmless() {
			continue
		}
		what := "read"
		if access.write {
			what = "written"
		}
		reasons = append(reasons, Reason{access.f.position(access.ins), fmt.Sprintf("it is "+text, what)})
	}
	return best, memory{}, true, reasons
}

// holds reports whether whoever makes an access holds the lock, exclusively if asked for. Or has made the object, if
// that is enough.
func (p *proofs) holds(x *access, c candidate, exclusively, orMade bool) bool {
	at := place{root: c.root, steps: c.steps}
	if c.holder != (memory{}) {
		outer, ok := x.place.outer(c.holder)
		return ok && p.provedAt(x.f, x.locks, goal{at: outer.with(c.steps, nil), class: c.class, exclusively: exclusively}, -1, x.via)
	}
	if c.root == "" {
		if x.place.root == "" && x.place.near == nil {
			return false
		}
		at = x.place.with(c.steps, nil)
	}
	object := -1
	if param := parameterOf(x.base); orMade && param != nil && !x.f.in.publish.publishedBefore(param, x.ins) {
		object = slices.Index(x.f.fn.Params, param)
	}
	return p.provedAt(x.f, x.locks, goal{at: at, class: c.class, exclusively: exclusively}, object, x.via)
}

// fresh reports whether all callers have made the object of an access, and nobody else knows it.
func (p *proofs) fresh(x *access) bool {
	param := parameterOf(x.base)
	if param == nil || x.f.in.publish.publishedBefore(param, x.ins) {
		return false
	}
	return p.proved(x.f, goal{}, slices.Index(x.f.fn.Params, param), x.via)
}

// globalsHeld returns the package-level locks that are held at an access, or by some caller.
func (p *proofs) globalsHeld(x *access) []held {
	var out []held
	for _, h := range x.locks.held {
		if strings.HasPrefix(h.place.root, "g:") && h.class != (memory{}) && !strings.Contains(h.place.steps, "^") && h.class.other == "" && !h.class.elements {
			out = append(out, h)
		}
	}
	if len(out) == 0 && len(x.f.callers) > 0 {
		c := x.f.callers[0]
		for _, h := range c.locks.held {
			if strings.HasPrefix(h.place.root, "g:") && h.class != (memory{}) && !strings.Contains(h.place.steps, "^") && h.class.other == "" && !h.class.elements {
				out = append(out, h)
			}
		}
	}
	return out
}

// parameterOf returns the parameter that points to the object which a pointer points into, or nil.
func parameterOf(pointer ssa.Value) *ssa.Parameter {
	for {
		switch at := pointer.(type) {
		case *ssa.FieldAddr:
			pointer = at.X
		case *ssa.ChangeType:
			pointer = at.X
		case *ssa.Parameter:
			return at
		default:
			return nil
		}
	}
}
