package ownership

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// mayReflect says that values of a type may be accessed by reflection, with all that they lead to, and exported methods of theirs
// called.
func (a *analysis) mayReflect(t types.Type) {
	if t == nil || a.reflected[typeKey(t)] {
		return
	}
	a.reflected[typeKey(t)] = true
	if n := ssaload.Named(t); n != nil && n.Obj().Pkg() != nil && a.declares(n.Obj().Pkg()) {
		for _, of := range []types.Type{n, types.NewPointer(n)} {
			a.openMethods(of)
			a.opening = append(a.opening, of)
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		a.mayReflect(u.Elem())
	case *types.Slice:
		a.mayReflect(u.Elem())
	case *types.Array:
		a.mayReflect(u.Elem())
	case *types.Chan:
		a.mayReflect(u.Elem())
	case *types.Map:
		a.mayReflect(u.Key())
		a.mayReflect(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			a.mayReflect(field.Type())
		}
	case *types.Interface:
		if _, isParam := types.Unalias(t).(*types.TypeParam); !isParam {
			a.reflectedKinds = append(a.reflectedKinds, methodNames(u))
		}
	}
}

// reflected finds what a function converts to interfaces without methods, so that code which the analysis does not see may
// access it by reflection.
func (b *boxes) reflected(f *function) {
	for _, block := range f.fn.Blocks {
		for _, ins := range block.Instrs {
			var from ssa.Value
			switch ins := ins.(type) {
			case *ssa.MakeInterface:
				if b.tracks(ins.X.Type()) {
					continue
				}
				from = ins.X
			case *ssa.ChangeInterface:
				from = ins.X
			case *ssa.TypeAssert:
				from = ins.X
			default:
				continue
			}
			to := ins.(ssa.Value)
			i, ok := asserted(to).Underlying().(*types.Interface)
			if !ok || i.NumMethods() > 0 || isInterface(from.Type()) && b.complete(from) {
				continue
			}
			for _, ref := range *to.Referrers() {
				if reflects(ref) != "" {
					b.a.mayReflect(from.Type())
				}
			}
		}
	}
}

// asserted returns the type of a value, without the second result of an assertion.
func asserted(v ssa.Value) types.Type {
	if assert, ok := v.(*ssa.TypeAssert); ok {
		return assert.AssertedType
	}
	return v.Type()
}

// openReflected applies what mayReflect has found: to the types, and to what is in interfaces.
func (b *boxes) openReflected() {
	for {
		for _, t := range b.a.opening {
			if of := b.types[typeKey(t)]; of != nil {
				b.open(of)
			}
		}
		b.a.opening = nil
		before := len(b.a.reflected)
		for _, methods := range slices.Compact(slices.Sorted(slices.Values(b.a.reflectedKinds))) {
			for _, t := range b.types {
				// What is tracked is in no memory that reflection gets to.
				if t.open && t.has(methods) {
					b.a.mayReflect(t.typ)
				}
			}
		}
		if len(b.a.reflected) == before && len(b.a.opening) == 0 {
			return
		}
	}
}

// has reports whether a type has the methods with the given names.
func (t *boxType) has(methods string) bool {
	all := ","
	for name := range t.methods {
		all += name + ","
	}
	return boxedType{methods: all}.has(methods)
}
