package ownership

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// call is a call of a function of the analyzed packages.
type call struct {
	caller *function
	ins    ssa.CallInstruction
	locks  locksAt
	boxed  *boxType // of a call through an interface, the type whose method is called
}

// plain reports whether the called function runs where the call stands, rather than at the end of the
// function or in another goroutine.
func (c *call) plain() bool {
	_, ok := c.ins.(*ssa.Call)
	return ok
}

// findUses finds which functions a function uses other than by calling them, and which methods can be called
// through interfaces.
func (f *function) findUses() {
	for _, b := range f.fn.Blocks {
		for _, ins := range b.Instrs {
			f.usesOf(ins)
			if box, ok := ins.(*ssa.MakeInterface); ok {
				f.a.callable(box.X.Type())
				if static.KindOf(ssaload.Deref(box.X.Type())) != static.NotLock {
					if m, ok := f.at(box.X); ok {
						f.a.lockers = f.a.lockers.with(f.a.classes.number(m.memory))
					}
				}
			}
		}
	}
}

func (f *function) usesOf(ins ssa.Instruction) {
	call, isCall := ins.(ssa.CallInstruction)
	for _, operand := range ins.Operands(nil) {
		fn, ok := (*operand).(*ssa.Function)
		if !ok || isCall && operand == &call.Common().Value {
			continue
		}
		if closure, ok := ins.(*ssa.MakeClosure); ok && operand == &closure.Fn && calledOnly(closure) {
			continue
		}
		obj := static.Func(fn)
		f.a.taken[f.a.id(fn)] = obj
		if obj != nil { // of a wrapper, the method
			f.a.taken[obj.Origin().FullName()] = obj
		}
	}
}

// isTaken reports whether the function is used other than by calling it.
func (a *analysis) isTaken(id string) bool {
	_, taken := a.taken[id]
	return taken
}

// callable says that the methods of a type can be called through interfaces.
func (a *analysis) callable(t types.Type) {
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		if fn, ok := set.At(i).Obj().(*types.Func); ok {
			a.methods[fn.Origin().FullName()] = true
		}
	}
}

// calledOnly reports whether a literal is used for calls only: where it stands, or by a defer or go statement.
func calledOnly(closure *ssa.MakeClosure) bool {
	for _, ref := range *closure.Referrers() {
		if _, ok := ref.(*ssa.DebugRef); ok {
			continue
		}
		call, ok := ref.(ssa.CallInstruction)
		if !ok || call.Common().Value != closure || slices.Contains(call.Common().Args, ssa.Value(closure)) {
			return false
		}
	}
	return true
}

// callersUnknown reports whether a function may be called from where the analysis does not see it. An exported
// function alone is not: the analysis sees the whole program.
func (f *function) callersUnknown() bool {
	return f.unknownCallers || f.a.isTaken(f.id) || f.a.open[f.id] || f.entered()
}

// indirect reports whether a function may be called other than by its name.
func (f *function) indirect() bool { return f.unknownCallers || f.a.methods[f.id] }

// calledFromOutside reports whether a function may be called other than by its name or as a value in the analyzed code.
func (f *function) calledFromOutside() bool { return f.a.methods[f.id] || f.entered() }

// entered reports whether a function may be called by code that is not analyzed, apart from methods of what this code
// is given.
func (f *function) entered() bool {
	obj := f.fn.Object()
	switch {
	case f.initializes:
		return true
	case obj == nil:
		return f.fn.Parent() == nil
	case f.in.outside && (obj.Exported() || f.fn.Signature.Recv() != nil):
		return true
	case f.fn.Signature.Recv() != nil:
		return f.in.linked
	case obj.Name() == "main" || f.in.linked:
		return true
	}
	if !f.isTest() {
		return false
	}
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(obj.Name(), prefix) {
			return true
		}
	}
	return false
}

// solveLocks computes which locks are held where, and which functions acquire or release locks for their
// callers. What functions do depends on what those do that they call, so it goes over all functions until
// nothing changes.
func (a *analysis) solveLocks() error {
	const rounds = 8
	for round := 0; ; round++ {
		a.collectDynamic()
		for _, f := range a.functions {
			f.solve()
		}
		changed := false
		for _, f := range a.functions {
			releases := f.collectReleases()
			acquires := round < rounds && f.collectAcquires()
			changed = changed || releases || acquires
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if round == rounds {
			clear(a.acquires) // they depend on each other in circles: do without
			changed = true
		}
		if !changed {
			return nil
		}
	}
}

// collectDynamic computes what calls of unknown functions may release.
func (a *analysis) collectDynamic() {
	a.dynamic, a.released = nil, map[string]classSet{}
	for name, classes := range a.releases {
		f := a.byID[name]
		if f.unknownCallers {
			a.dynamic = a.dynamic.union(classes)
		}
		if obj := f.fn.Object(); obj != nil && f.fn.Signature.Recv() != nil {
			a.released[obj.Name()] = a.released[obj.Name()].union(classes)
		}
	}
	for name, released := range a.released {
		a.released[name] = released.union(a.dynamic)
	}
}

// releasedBy returns the classes of locks that a call may release.
func (a *analysis) releasedBy(call *ssa.CallCommon) classSet {
	if _, ok := call.Value.(*ssa.Builtin); ok {
		return nil
	}
	if call.IsInvoke() {
		if released := a.released[call.Method.Name()]; len(released) > 0 {
			return released // with a.dynamic
		}
		return a.dynamic // a method of another package may call back
	}
	callee := call.StaticCallee()
	if callee == nil {
		return a.dynamic
	}
	if name := a.id(callee); a.byID[name] != nil {
		return a.releases[name]
	}
	if synchronizes(callee) && !strings.Contains(callee.Name(), "Do") && callee.Name() != "Range" && callee.Name() != "Get" {
		return nil
	}
	return a.dynamic // a function of another package may call back
}

// instantiate returns the place in the caller for one in the called function.
func (f *function) instantiate(call *ssa.CallCommon, p place) (place, bool) {
	if p.root == "" {
		return place{}, false
	}
	var out place
	switch p.root[0] {
	case singleRoot[0]:
		return p, true
	case 'g':
		return place{root: p.root, steps: p.steps, through: p.through}, true
	case 'p':
		i := index(p.root[1:])
		args := ssaload.Arguments(call)
		if i >= len(args) || i == 0 && call.IsInvoke() {
			return place{}, false
		}
		out = f.places.of(args[i])
	case '&', 'f':
		closure, ok := call.Value.(*ssa.MakeClosure)
		i := index(strings.TrimLeft(p.root, "&f"))
		if !ok || i >= len(closure.Bindings) {
			return place{}, false
		}
		out = f.places.of(closure.Bindings[i])
		if p.root[0] == 'f' {
			if out = f.places.contentOf(closure.Bindings[i]); out.near == nil {
				return place{}, false
			}
		}
	default:
		return place{}, false
	}
	return out.with(p.steps, p.through), true
}

func index(digits string) (n int) {
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

// dead reports whether nothing calls a function.
func (f *function) dead() bool { return !f.unknownCallers && len(f.callers) == 0 }

// linkedByName reports whether functions of a package may be called by names that the linker knows: from code in other
// languages, or by directives.
func linkedByName(pkg *packages.Package) bool {
	if len(pkg.OtherFiles) > 0 {
		return true
	}
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname ") || strings.HasPrefix(c.Text, "//export ") {
					return true
				}
			}
		}
	}
	return false
}
