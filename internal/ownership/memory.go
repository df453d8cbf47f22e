package ownership

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// memory is what accesses are of. No two of them have a byte in common, unless one has been reported as a
// problem:
//
//   - a field of a struct type or a package-level variable,
//   - the elements of the slice or map that such a variable has, if no other variable can have them too,
//   - a local variable that literals capture,
//   - the elements of all other arrays, slices or maps of a type.
type memory struct {
	focus.Variable
	elements bool   // of the slice or map that the variable has
	other    string // what has no name
}

func (m memory) String() string {
	switch {
	case m.other != "":
		return m.other
	case m.elements:
		return m.Variable.String() + "[...]"
	}
	return m.Variable.String()
}

// target is memory that an instruction accesses.
type target struct {
	memory
	typ   types.Type
	base  ssa.Value // a pointer into the object, or the slice or map, that has the memory
	place place     // of the struct value that has the variable, if that is known
	holds ssa.Value // the slice or map, if base is the object of the variable that has it
}

// ours returns the name of a struct type that a package under analysis declares outside of functions.
func (a *analysis) ours(t types.Type) (focus.Variable, bool) {
	n := ssaload.Named(t)
	if n == nil {
		return focus.Variable{}, false
	}
	v, ok := typeName(n)
	return v, ok && a.structs[v] != nil
}

// aggregate reports whether the fields of values of a type are memory of their own. Structs of other packages are
// taken as a whole.
func (a *analysis) aggregate(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if n := ssaload.Named(t); n != nil {
			_, ok := a.ours(t)
			return ok || n.Obj().Pkg() != nil && a.declares(n.Obj().Pkg())
		}
		return true
	case *types.Array:
		return a.aggregate(u.Elem())
	}
	return false
}

func (a *analysis) declares(pkg *types.Package) bool { return a.paths[pkg.Path()] }

// targets returns what an access to all of a value of type t at an address is of. It is not complete if some of it
// has no name.
func (f *function) targets(t types.Type, address ssa.Value) (list []target, complete bool) {
	if !f.a.aggregate(t) {
		at, ok := f.at(address)
		if selfSynchronized(t) || !ok {
			return nil, false
		}
		at.typ = t
		return []target{at}, true
	}
	complete = true
	f.fields(t, address, f.places.of(address), &list, &complete)
	return list, complete
}

func (f *function) fields(t types.Type, address ssa.Value, at place, list *[]target, complete *bool) {
	if array, ok := t.Underlying().(*types.Array); ok {
		f.fields(array.Elem(), address, place{}, list, complete)
		return
	}
	in, ok := f.a.ours(t)
	if !ok { // it has no name: the fields of a named struct may be told, but are left alone
		*complete = false
		return
	}
	f.fieldsIn(t.Underlying().(*types.Struct), in, address, at, list, complete)
}

func (f *function) fieldsIn(st *types.Struct, in focus.Variable, address ssa.Value, at place, list *[]target, complete *bool) {
	for i := range st.NumFields() {
		field, v := st.Field(i), in
		if v.Name != "" {
			v.Name += "."
		}
		v.Name += field.Name()
		inner, anonymous := types.Unalias(field.Type()).(*types.Struct)
		switch {
		case field.Name() == "_":
		case selfSynchronized(field.Type()):
			*complete = false
		case anonymous:
			f.fieldsIn(inner, v, address, at, list, complete)
		case f.a.aggregate(field.Type()):
			inside := at
			if at.root != "" || at.near != nil {
				inside = at.with("."+field.Name(), nil)
			}
			f.fields(field.Type(), address, inside, list, complete)
		default:
			*list = append(*list, target{memory: memory{Variable: v}, typ: field.Type(), base: address, place: at})
		}
	}
}

// at returns what an address is an address of, if that is not the whole of a struct with fields that are memory of their
// own.
func (f *function) at(address ssa.Value) (target, bool) {
	names := ""
	v := address
	for {
		switch at := v.(type) {
		case *ssa.ChangeType:
			v = at.X
			continue
		case *ssa.FieldAddr:
			owner := ssaload.Deref(at.X.Type())
			st, ok := ssaload.StructOf(owner)
			if !ok {
				return target{}, false
			}
			name := st.Field(at.Field).Name()
			if in, ok := f.a.ours(owner); ok {
				if name == "_" {
					return target{}, false
				}
				in.Name = name + names
				return target{memory: memory{Variable: in}, base: at.X, place: f.places.of(at.X)}, true
			}
			if n := ssaload.Named(owner); n == nil {
				names = "." + name + names
			} else if names = ""; n.Obj().Pkg() == nil || f.a.declares(n.Obj().Pkg()) {
				return target{}, false // of a type that a function declares
			}
			v = at.X
			continue
		case *ssa.IndexAddr:
			if _, isSlice := at.X.Type().Underlying().(*types.Slice); isSlice {
				return f.elementsOf(at.X)
			}
			names = ""
			v = at.X
			_, loaded := v.(*ssa.UnOp)
			_, passed := v.(*ssa.Parameter)
			if array, ok := ssaload.Deref(v.Type()).Underlying().(*types.Array); !ok {
				return target{}, false
			} else if loaded || passed {
				return f.pool(v, array.Elem())
			}
			continue
		case *ssa.Global:
			return f.global(at, names)
		case *ssa.Alloc, *ssa.FreeVar:
			return f.local(at, names)
		}
		if array, ok := ssaload.Deref(v.Type()).Underlying().(*types.Array); ok && v != address {
			return f.pool(v, array.Elem())
		}
		if t := ssaload.Deref(v.Type()); v == address && isPointer(v.Type()) && f.a.pointable(t) {
			return target{memory: pointed(t), typ: t, base: v}, true
		}
		return target{}, false
	}
}

func (f *function) global(g *ssa.Global, names string) (target, bool) {
	v, ok := globalName(g)
	if !ok || !f.a.paths[v.Package] {
		return target{}, false
	}
	if names != "" {
		v.Type, v.Name = v.Name, strings.TrimPrefix(names, ".")
	}
	return target{memory: memory{Variable: v}, base: g, place: f.places.of(g)}, true
}

// local returns a local variable, or a captured one.
func (f *function) local(v ssa.Value, names string) (target, bool) {
	outside, ok := v.(*ssa.Alloc)
	if fv, isFree := v.(*ssa.FreeVar); isFree {
		outside, ok = bindingOf(fv).(*ssa.Alloc)
	}
	if !ok || names != "" {
		return target{}, false
	}
	if array, isArray := ssaload.Deref(outside.Type()).Underlying().(*types.Array); isArray {
		return f.pool(v, array.Elem())
	}
	return target{memory: memory{other: f.a.localName(outside)}, base: v}, true
}

const localPrefix = "local variable "

// localName names a local variable: its declaration is the name.
func (a *analysis) localName(alloc *ssa.Alloc) string {
	at := a.fset.Position(alloc.Pos())
	return localPrefix + alloc.Comment + " of " + alloc.Parent().String() + " at " + at.String() + alloc.Name()
}

// generic reports whether a type depends on type parameters, so that it has several names.
func generic(t types.Type) bool {
	found := false
	seen := map[types.Type]bool{}
	var follow func(t types.Type)
	follow = func(t types.Type) {
		if found || seen[t] {
			return
		}
		seen[t] = true
		switch t := types.Unalias(t).(type) {
		case *types.TypeParam:
			found = true
		case *types.Pointer:
			follow(t.Elem())
		case *types.Slice:
			follow(t.Elem())
		case *types.Array:
			follow(t.Elem())
		case *types.Chan:
			follow(t.Elem())
		case *types.Map:
			follow(t.Key())
			follow(t.Elem())
		case *types.Named:
			for arg := range t.TypeArgs().Types() {
				follow(arg)
			}
		case *types.Struct:
			for field := range t.Fields() {
				follow(field.Type())
			}
		case *types.Signature:
			for _, vars := range []*types.Tuple{t.Params(), t.Results()} {
				for v := range vars.Variables() {
					follow(v.Type())
				}
			}
		}
	}
	follow(t)
	return found
}

// pool returns the elements of all arrays and slices, or maps, that are not told apart.
func (f *function) pool(of ssa.Value, element types.Type) (target, bool) {
	return target{memory: pooled(element), base: of, typ: element}, !generic(element)
}

func pooled(element types.Type) memory {
	return memory{other: "elements of []" + typeKey(element)}
}

func pooledMap(t types.Type) memory {
	return memory{other: "elements of " + typeKey(t.Underlying())}
}

// elementsOf returns the elements of a slice or map, as one memory.
func (f *function) elementsOf(of ssa.Value) (target, bool) {
	var element types.Type
	pool := memory{}
	switch t := of.Type().Underlying().(type) {
	case *types.Slice:
		element = t.Elem()
		pool = pooled(element)
	case *types.Map:
		element = t.Elem()
		pool = pooledMap(t)
	default:
		return target{}, false
	}
	if load := holderOf(of); load != nil {
		if at, ok := f.at(load.X); ok && at.other == "" && !at.elements {
			at.elements = true
			at.typ = element
			at.holds = of
			return at, true
		}
	}
	return target{memory: pool, base: of, typ: element}, !generic(of.Type())
}

// holderOf returns the load of a variable from which a slice or map comes, or nil. It may have been sliced and
// appended to.
func holderOf(v ssa.Value) *ssa.UnOp {
	for {
		switch at := v.(type) {
		case *ssa.UnOp:
			if at.Op != token.MUL {
				return nil
			}
			return at
		case *ssa.Slice:
			if _, isSlice := at.X.Type().Underlying().(*types.Slice); !isSlice {
				return nil
			}
			v = at.X
		case *ssa.Call:
			if b, ok := at.Call.Value.(*ssa.Builtin); !ok || b.Name() != "append" {
				return nil
			}
			v = at.Call.Args[0]
		default:
			return nil
		}
	}
}

// selfSynchronized reports whether a type is one of sync or sync/atomic, whose methods synchronize.
func selfSynchronized(t types.Type) bool {
	n := ssaload.Named(t)
	return n != nil && n.Obj().Pkg() != nil && (n.Obj().Pkg().Path() == "sync" || n.Obj().Pkg().Path() == "sync/atomic")
}
