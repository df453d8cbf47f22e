package ownership

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// loaded finds slices and maps that are used for more than accesses to their elements.
func (f *function) loaded(load *ssa.UnOp) {
	if f.a.aggregate(load.Type()) {
		list, _ := f.targets(load.Type(), load.X)
		for _, t := range list {
			if hasElements(t.typ) {
				f.alias(t.memory, load, "the struct is copied")
			}
		}
		return
	}
	if !hasElements(load.Type()) {
		return
	}
	if isChoice(load.X) {
		f.aliasChoices(load.X, load)
		return
	}
	at, ok := f.at(load.X)
	if !ok || at.other != "" || at.elements {
		return
	}
	if !f.keeps(load, load) {
		f.alias(at.memory, load, "other variables may have them too")
	}
}

// keeps reports whether a slice or map that comes from a load of a variable is used for nothing but accesses to its
// elements, and for being put back.
func (f *function) keeps(v ssa.Value, load *ssa.UnOp) bool {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.IndexAddr, *ssa.Lookup, *ssa.Range, *ssa.BinOp, *ssa.DebugRef:
			continue
		case *ssa.MapUpdate:
			if ref.Map == v && ref.Value != v && ref.Key != v {
				continue
			}
		case *ssa.Convert:
			if _, ok := ref.Type().Underlying().(*types.Basic); ok {
				continue
			}
		case *ssa.Slice:
			if f.keeps(ref, load) {
				continue
			}
		case *ssa.Store: // to the same variable of the same object
			if ref.Val == v && ref.Addr != v && v != load && f.sameVariable(ref.Addr, load.X) {
				continue
			}
		case *ssa.Call:
			b, ok := ref.Call.Value.(*ssa.Builtin)
			if ok && (b.Name() != "append" || ref.Call.Args[0] != v || f.keeps(ref, load)) {
				continue
			}
		}
		return false
	}
	return true
}

// alias says that elements of a variable may be those of another one too.
func (f *function) alias(m memory, at ssa.Instruction, text string) {
	m.elements = true
	if v := f.a.variable(m); v.aliased == nil {
		v.aliased = &Reason{f.position(at), text}
	}
}

// aliasChoices says that the elements of variables to one of which a pointer may point are not told apart.
func (f *function) aliasChoices(address ssa.Value, at ssa.Instruction) {
	for _, each := range choices(address) {
		if t, ok := f.at(each); ok && t.other == "" && !t.elements {
			f.alias(t.memory, at, "a pointer leads to this variable or another one")
		}
	}
}

// sameVariable reports whether two addresses are of the same variable of the same object.
func (f *function) sameVariable(x, y ssa.Value) bool {
	for x != y {
		switch at := x.(type) {
		case *ssa.FieldAddr:
			other, ok := y.(*ssa.FieldAddr)
			if !ok || other.Field != at.Field {
				return false
			}
			x, y = at.X, other.X
			continue
		case *ssa.UnOp: // of a captured variable that is set once
			other, ok := y.(*ssa.UnOp)
			if !ok || at.Op != token.MUL || other.Op != token.MUL || at.X != other.X {
				return false
			}
			switch at.X.(type) {
			case *ssa.Alloc, *ssa.FreeVar:
				return f.places.cell(at.X).once
			}
		}
		return false
	}
	return true
}

// hasElements reports whether values of a type are slices or maps, or pointers to variables without names.
func hasElements(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map:
		return true
	}
	return false
}

// replaced finds slices and maps that are stored in a variable while they can be reached in another way.
func (f *function) replaced(store *ssa.Store) {
	t := store.Val.Type()
	if f.a.aggregate(t) {
		list, _ := f.targets(t, store.Addr)
		for _, t := range list {
			if hasElements(t.typ) {
				f.alias(t.memory, store, "the struct is copied")
			}
		}
		return
	}
	if !hasElements(t) {
		return
	}
	if isChoice(store.Addr) {
		f.aliasChoices(store.Addr, store)
		return
	}
	at, ok := f.at(store.Addr)
	if !ok || at.other != "" || at.elements {
		return
	}
	if _, isConst := store.Val.(*ssa.Const); isConst || f.fromSame(store) {
		return
	}
	switch store.Val.(type) {
	case *ssa.MakeMap, *ssa.MakeSlice:
	case *ssa.Slice: // of an array that is made here
	default:
		f.alias(at.memory, store, "they come from elsewhere")
		return
	}
	makers, merged, ok := f.in.publish.makers(store.Val)
	if !ok || merged || len(makers) != 1 {
		f.alias(at.memory, store, "they come from elsewhere")
		return
	}
	if !onlyKeptBy(store, store.Val) || makers[0] != store.Val && !onlyKeptBy(store, makers[0]) {
		f.alias(at.memory, store, "other variables may have them too")
	}
}

// onlyKeptBy reports whether a slice, map or array is used for nothing but its initialization and a store.
func onlyKeptBy(store *ssa.Store, v ssa.Value) bool {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.IndexAddr, *ssa.DebugRef, *ssa.Lookup:
		case *ssa.MapUpdate:
			if ref.Map != v || ref.Value == v || ref.Key == v {
				return false
			}
		case *ssa.Slice:
			if ref != store.Val {
				return false
			}
		case *ssa.Store:
			if ref != store {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// fromSame reports whether a store puts back what is made of the variable's own value, by slicing and append.
func (f *function) fromSame(store *ssa.Store) bool {
	load := holderOf(store.Val)
	return load != nil && ssa.Value(load) != store.Val && f.sameVariable(load.X, store.Addr)
}
