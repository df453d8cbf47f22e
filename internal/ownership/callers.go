package ownership

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// call is a call of a function of the analyzed packages.
type call struct {
	caller *function
	ins    ssa.CallInstruction
	locks  locksAt
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
				if lockType(ssaload.Deref(box.X.Type())) != notLock {
					if m, ok := f.at(box.X); ok {
						f.a.lockers[m.memory] = true
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
		f.a.taken[f.a.id(fn)] = true
		if obj, ok := fn.Object().(*types.Func); ok { // of a wrapper, the method
			f.a.taken[obj.Origin().FullName()] = true
		}
	}
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
	return f.unknownCallers || f.a.taken[f.id] || f.calledFromOutside()
}

// calledFromOutside reports whether a function may be called other than by its name or as a value in the analyzed code.
func (f *function) calledFromOutside() bool {
	obj := f.fn.Object()
	switch {
	case f.a.methods[f.id] || f.initializes:
		return true
	case obj == nil:
		return f.fn.Parent() == nil
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
// callers. A function is looked at again when something has changed that it depends on.
func (a *analysis) solveLocks() error {
	const rounds = 8
	d := newLockDependencies(a)
	for round := 0; ; round++ {
		d.collectDynamic()
		changed := false
		for _, f := range a.functions {
			if d.stale(f, d.solved) {
				f.solve()
				d.solved[f] = d.now
				delete(d.collected, f)
			}
		}
		for _, f := range a.functions {
			if !d.stale(f, d.collected) {
				continue
			}
			d.collected[f] = d.now
			releases := f.collectReleases()
			acquires := round < rounds && f.collectAcquires()
			if releases || acquires {
				d.changed(f.id)
				changed = true
			}
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if round == rounds {
			clear(a.acquires) // they depend on each other in circles: do without
			d.restart()
			changed = true
		}
		if !changed {
			return nil
		}
	}
}

// lockDependencies knows when what functions do to their callers' locks was last changed, in a time of its own.
type lockDependencies struct {
	a         *analysis
	now       int
	of        map[*function][]string // what a function depends on: functions, methods and calls that are not known
	at        map[string]int         // when that changed
	solved    map[*function]int
	collected map[*function]int
}

// unknownCalls is what functions depend on that call what is not known. No function has this name.
const unknownCalls = "?"

func newLockDependencies(a *analysis) *lockDependencies {
	d := &lockDependencies{a: a, of: map[*function][]string{}, at: map[string]int{}, solved: map[*function]int{}, collected: map[*function]int{}}
	for _, f := range a.functions {
		on := map[string]bool{f.id: true, unknownCalls: true}
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, ok := ins.(ssa.CallInstruction)
				if !ok {
					continue
				}
				if common := call.Common(); common.IsInvoke() {
					on[unknownCalls+common.Method.Name()] = true
				} else if callee := common.StaticCallee(); callee != nil && a.byID[a.id(callee)] != nil {
					on[a.id(callee)] = true
				}
			}
		}
		d.of[f] = slices.Collect(maps.Keys(on))
	}
	return d
}

// stale reports whether something that a function depends on has changed since it was looked at.
func (d *lockDependencies) stale(f *function, when map[*function]int) bool {
	last, ok := when[f]
	return !ok || slices.ContainsFunc(d.of[f], func(on string) bool { return d.at[on] > last })
}

func (d *lockDependencies) changed(what string) {
	d.now++
	d.at[what] = d.now
}

// restart makes all functions stale.
func (d *lockDependencies) restart() {
	clear(d.solved)
	clear(d.collected)
}

// collectDynamic computes what calls of unknown functions may release.
func (d *lockDependencies) collectDynamic() {
	dynamic, released := d.a.dynamic, d.a.released
	d.a.collectDynamic()
	if !maps.Equal(dynamic, d.a.dynamic) {
		d.changed(unknownCalls)
	}
	for name, classes := range d.a.released {
		if !maps.Equal(classes, released[name]) {
			d.changed(unknownCalls + name)
		}
	}
}

// collectDynamic computes what calls of unknown functions may release.
func (a *analysis) collectDynamic() {
	a.dynamic, a.released = map[memory]bool{}, map[string]map[memory]bool{}
	for name, classes := range a.releases {
		f := a.byID[name]
		for class := range classes {
			if f.unknownCallers {
				a.dynamic[class] = true
			}
			if obj := f.fn.Object(); obj != nil && f.fn.Signature.Recv() != nil {
				if a.released[obj.Name()] == nil {
					a.released[obj.Name()] = map[memory]bool{}
				}
				a.released[obj.Name()][class] = true
			}
		}
	}
	for _, released := range a.released {
		maps.Copy(released, a.dynamic)
	}
}

// releasedBy returns the classes of locks that a call may release.
func (a *analysis) releasedBy(call *ssa.CallCommon) map[memory]bool {
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
	case 'g':
		return place{root: p.root, steps: p.steps, through: p.through}, true
	case 'p':
		i := index(p.root[1:])
		args := ssaload.Arguments(call)
		if i >= len(args) {
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
