package static

import "go/types"

// named returns the type that t is, or points to, if it has a name, and t otherwise.
func named(t types.Type) types.Type {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem()
	}
	return types.Unalias(t)
}

// typeName returns the name of a type with the path of its package; "" if it has none.
func typeName(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}
