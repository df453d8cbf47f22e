package ownership

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
)

// verdict is what the rules say of memory.
type verdict struct {
	owner   focus.Owner
	safe    bool
	reasons []Reason // why it is not safe

	// needs says that accesses by the goroutine that made the object conform only if nobody else gets to know
	// the object without being ordered after them.
	needs bool

	rests []memory // that must be safe too

	// holder is the slice beside which the lock is that guards its elements. If the slice is not safe, neither are they.
	holder memory
}

// check applies the rules to all memory and computes the greatest set of it that is safe: memory is safe if its
// accesses conform with an owner, and if the objects that have it get known only through memory that is safe.
//
// The greatest fixed point is right because of the first race of an execution: until then all transfers through memory
// of the set are ordered, so the objects are published as the rules need it.
func (a *analysis) check() {
	a.mergeAliased()
	a.mergePointed()
	a.findSingles()
	a.proofs = newProofs(a)
	a.judgeAll()
}

// judgeAll finds the verdicts.
func (a *analysis) judgeAll() {
	a.verdicts, a.racy, a.racyKinds = map[memory]*verdict{}, map[memory]Reason{}, map[string]bool{}
	for _, m := range a.memories() {
		a.verdicts[m] = a.judge(a.variables[m])
	}
	for changed := true; changed; {
		changed = a.spread()
		for _, m := range a.memories() {
			v := a.verdicts[m]
			if !v.safe {
				continue
			}
			if reason, bad := a.loses(m, v); bad {
				v.safe = false
				v.reasons = append(v.reasons, reason)
				changed = true
			}
		}
	}
}

// seenSafe returns the verdicts if there were no accesses but those that the analysis sees: what is safe then, and not by the
// verdicts proper, is only accessed as its owner demands, but may be accessed in other ways, by reflection for example.
func (a *analysis) seenSafe() map[memory]*verdict {
	verdicts, racy, kinds := a.verdicts, a.racy, a.racyKinds
	a.seenOnly = true
	a.judgeAll()
	seen := a.verdicts
	a.verdicts, a.racy, a.racyKinds, a.seenOnly = verdicts, racy, kinds, false
	return seen
}

// loses reports whether safe memory is not safe because of what has become known of other memory.
func (a *analysis) loses(m memory, v *verdict) (Reason, bool) {
	if m.elements {
		holder := memory{Variable: m.Variable}
		if h := a.verdicts[holder]; h == nil || !h.safe {
			return Reason{Text: "the variable that has them is race-unsafe"}, true
		}
	}
	if v.holder != (memory{}) {
		if h := a.verdicts[v.holder]; h == nil || !h.safe {
			return Reason{Text: fmt.Sprintf("it is in elements of %s, which is race-unsafe", v.holder)}, true
		}
	}
	for _, m := range v.rests {
		if on := a.verdictOf(m); on == nil || !on.safe {
			return Reason{Text: fmt.Sprintf("it rests on %s, which is race-unsafe", m)}, true
		}
	}
	if v.needs {
		if reason, racy := a.racy[objectOf(m)]; racy {
			return reason, true
		}
	}
	return Reason{}, false
}

// objectOf returns the object that has memory, as carriers name it.
func objectOf(m memory) memory {
	if m.other != "" {
		return m
	}
	m.Name, m.elements = "", false
	return m
}

func (a *analysis) memories() []memory {
	if a.sorted == nil {
		a.sorted = slices.SortedFunc(maps.Keys(a.variables), func(x, y memory) int {
			return cmp.Or(strings.Compare(x.other, y.other), strings.Compare(x.Variable.String(), y.Variable.String()), compareBools(x.elements, y.elements))
		})
	}
	return a.sorted
}

func compareBools(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// mergeAliased adds the accesses to elements that several variables may have to those of all elements of the type.
func (a *analysis) mergeAliased() {
	a.merged, a.aliased = map[memory]memory{}, map[memory]bool{}
	for m, v := range maps.Clone(a.variables) {
		if !m.elements || v.aliased == nil {
			continue
		}
		a.aliased[m] = true
		holder := a.variables[memory{Variable: m.Variable}]
		if holder == nil || holder.typ == nil {
			continue // never accessed
		}
		pool, ok := poolOf(holder.typ)
		if !ok {
			v.problems = append(v.problems, *v.aliased)
			continue
		}
		into := a.variable(pool)
		into.accesses = append(into.accesses, v.accesses...)
		into.problems = append(into.problems, v.problems...)
		a.merged[m] = pool
		delete(a.variables, m)
	}
}

// poolOf returns the elements of all slices or maps of a type.
func poolOf(t types.Type) (memory, bool) {
	if generic(t) {
		return memory{}, false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return pooled(u.Elem()), true
	case *types.Map:
		return pooledMap(u), true
	}
	return memory{}, false
}

// spread computes which objects become known through memory that is not safe. It reports whether any are new.
func (a *analysis) spread() bool {
	before := len(a.racy)
	for _, t := range a.transfers {
		if t.f.alone[t.ins] || t.f.keepsTo[t.ins] {
			continue
		}
		if v := a.verdictOf(t.to); v != nil && v.safe || v == nil && a.seenOnly {
			continue
		}
		reason := t.at
		if reason.Text == "" {
			reason.Text = "it is stored in memory that is race-unsafe"
			if t.to.other == "" && t.to.Name != "" {
				reason.Text = fmt.Sprintf("it is stored in %s, which is race-unsafe", t.to)
			}
		}
		for _, c := range t.carriers {
			a.makeRacy(c, reason, 0)
		}
	}
	return len(a.racy) > before
}

func (a *analysis) verdictOf(m memory) *verdict { return a.verdicts[a.judgedAs(m)] }

// judgedAs returns the memory with which memory is judged.
func (a *analysis) judgedAs(m memory) memory {
	if pool, ok := a.merged[m]; ok {
		return pool
	}
	return m
}

func (a *analysis) makeRacy(c carrier, reason Reason, depth int) {
	const maxDepth = 50
	switch {
	case depth > maxDepth:
	case c.object != memory{}:
		m := c.object
		if pool, ok := a.merged[m]; ok {
			m = pool
		}
		if _, known := a.racy[m]; !known {
			a.racy[m] = reason
		}
	case c.literal != "":
		if a.racyKinds["func "+c.literal] {
			return
		}
		a.racyKinds["func "+c.literal] = true
		for _, inner := range a.captured[c.literal] {
			a.makeRacy(inner, reason, depth+1)
		}
	case c.boxed:
		if a.racyKinds["interface "+c.methods] {
			return
		}
		a.racyKinds["interface "+c.methods] = true
		for _, boxed := range a.boxed {
			if boxed.has(c.methods) && !a.boxes.tracks(boxed.typ) {
				for _, inner := range a.carriersIn(boxed.typ) {
					a.makeRacy(inner, reason, depth+1)
				}
			}
		}
	}
}

// judge finds the owner with which all accesses to memory conform.
func (a *analysis) judge(v *variable) *verdict {
	out := &verdict{}
	if !a.seenOnly {
		out.reasons = slices.Clone(v.problems)
	}
	if v.Type != "" && v.other == "" && a.structs[focus.Variable{Package: v.Package, Type: v.Type}] == nil && !a.isGlobal(v) {
		out.reasons = append(out.reasons, Reason{Text: "another package declares it"})
	}
	var late []*access // by a goroutine that others may run beside
	var all []*access  // and harmless ones, which say what the program means
	made, written, atomic := false, false, len(v.accesses) > 0
	for _, access := range v.accesses {
		if access.f.dead() {
			continue
		}
		if all = append(all, access); access.harmless() {
			continue
		}
		atomic = atomic && access.atomic
		if access.f.initializes || a.isFresh(access) {
			made = made || !access.f.initializes
			out.rests = append(out.rests, access.rests...)
			out.needs = out.needs || access.write && !access.f.initializes
			continue
		}
		late = append(late, access)
		written = written || access.write
	}
	switch {
	case len(late) == 0:
		out.owner = focus.Owner{Kind: focus.Local}
		out.needs = false
	case atomic:
		out.owner = focus.Owner{Kind: focus.Self}
	case !written:
		out.owner = focus.Owner{Kind: focus.ReadOnly}
	default:
		guard, holder, byMaking, reasons := a.bestGuard(v, late)
		if guard == (focus.Guard{}) {
			if most, beside, making, why := a.bestGuard(v, all); len(why) > 0 {
				guard, holder, byMaking, reasons = most, beside, making, why
			}
		}
		if out.owner = (focus.Owner{}); guard != (focus.Guard{}) {
			out.owner = focus.Owner{Kind: focus.Guarded, Guard: guard}
			out.needs, out.holder = made || byMaking, holder
		}
		out.reasons = append(out.reasons, reasons...)
	}
	out.safe = len(out.reasons) == 0 && out.owner.Kind != focus.Unknown
	return out
}

// isFresh reports whether nobody but the goroutine that makes an access knows the object yet. What pointers lead to may be
// a part of anything, so it is not known when it gets known to others.
func (a *analysis) isFresh(x *access) bool {
	m := x.memory
	if pool, ok := a.merged[m]; ok {
		m = pool
	}
	return !m.isPointed() && (x.fresh || a.proofs.fresh(x))
}

// isGlobal reports whether memory is a field of a package-level variable whose struct type has no name.
func (a *analysis) isGlobal(v *variable) bool {
	for _, access := range v.accesses {
		for at := access.base; ; {
			switch x := at.(type) {
			case *ssa.FieldAddr:
				at = x.X
				continue
			case *ssa.IndexAddr:
				at = x.X
				continue
			case *ssa.Global:
				return true
			}
			break
		}
	}
	return false
}
