package ownership

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// A pointer to a slice or map of a named type leads to a variable of that type whose address is taken. Which one it is cannot
// be told, so all of them are one memory. It is what methods with a pointer to such a type as receiver access.

const pointedPrefix = "what pointers lead to of type "

// pointed returns what pointers to a type lead to.
func pointed(t types.Type) memory { return memory{other: pointedPrefix + typeKey(t)} }

func (m memory) isPointed() bool { return strings.HasPrefix(m.other, pointedPrefix) }

// pointable reports whether all pointers to variables of a type are seen: it is a slice or map that a package under analysis
// names, and neither reflection nor generic code gets any.
func (a *analysis) pointable(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() > 0 || n.TypeParams().Len() > 0 || n.Obj().Pkg() == nil || !a.declares(n.Obj().Pkg()) || !hasElements(n) {
		return false
	}
	_, named := typeName(n)
	return named && !a.reflected[typeKey(n)]
}

// exposePointed says that what pointers to a type lead to may be accessed.
func (f *function) exposePointed(ins ssa.Instruction, t types.Type, text string) {
	if f.a.pointable(t) {
		f.problem(pointed(t), ins, text)
	}
}

// leadsTo says that pointers may lead to a variable, the address of which is taken.
func (f *function) leadsTo(at target, t types.Type, ins ssa.Instruction, text string) {
	if !f.a.pointable(t) || at.elements || at.other != "" && !strings.HasPrefix(at.other, localPrefix) || len(f.a.annotations[at.Variable]) > 0 {
		f.exposePointed(ins, t, text)
		f.problem(at.memory, ins, text)
		return
	}
	f.a.variable(at.memory)
	f.a.pointers[at.memory] = pointed(t)
	if at.other == "" {
		f.alias(at.memory, ins, text)
	}
}

// copied returns the variable that a method called through an interface gets a copy of, if it is one to which pointers lead.
func (a *analysis) copied(sel *types.Selection) (memory, bool) {
	fn, ok := sel.Obj().(*types.Func)
	if !ok || len(sel.Index()) != 1 {
		return memory{}, false
	}
	pointer, ok := types.Unalias(sel.Recv()).(*types.Pointer)
	if !ok || !a.pointable(pointer.Elem()) || isPointer(fn.Signature().Recv().Type()) {
		return memory{}, false
	}
	return pointed(pointer.Elem()), true
}

// wrapperUsed says that a function which the compiler makes may read what its first argument points to.
func (f *function) wrapperUsed(ins ssa.Instruction) {
	for _, operand := range ins.Operands(nil) {
		fn, ok := (*operand).(*ssa.Function)
		if ok && fn.Synthetic != "" && fn.Signature != nil && fn.Signature.Params().Len() > 0 {
			if t := fn.Signature.Params().At(0).Type(); isPointer(t) {
				f.exposePointed(ins, ssaload.Deref(t), "a function reads it that the compiler makes")
			}
		}
	}
}

// mergePointed makes the variables to which pointers lead one memory.
func (a *analysis) mergePointed() {
	for m, pool := range a.pointers {
		v, into := a.variables[m], a.variable(pool)
		if v == nil {
			continue
		}
		into.accesses = append(into.accesses, v.accesses...)
		into.problems = append(into.problems, v.problems...)
		if into.typ == nil {
			into.typ = v.typ
		}
		a.merged[m] = pool
		delete(a.variables, m)
		if m.other == "" && len(v.accesses) > 0 {
			a.shown = append(a.shown, m)
		}
	}
}
