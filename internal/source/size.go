package source

import "go/types"

// sizes are those of the platforms on which heisen records programs.
var sizes = types.SizesFor("gc", "amd64")

// maxTypeDepth bounds how deeply types are nested whose size is known. It ends the search in types
// that contain themselves, which no compiler accepts.
const maxTypeDepth = 32

// sizeOf returns the size of a type in bytes, or 0 if it depends on something that is not known, such
// as an imported type.
func sizeOf(t types.Type) uint64 {
	if !hasSize(t, maxTypeDepth) {
		return 0
	}
	return uint64(max(sizes.Sizeof(t), 0))
}

// hasSize reports whether the size of t is known from the types in t down to some depth.
func hasSize(t types.Type, depth int) bool {
	if _, ok := t.(*types.TypeParam); ok || depth == 0 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.Invalid && u.Info()&types.IsUntyped == 0
	case *types.Array:
		return u.Len() >= 0 && hasSize(u.Elem(), depth-1)
	case *types.Struct:
		for i := range u.NumFields() {
			if !hasSize(u.Field(i).Type(), depth-1) {
				return false
			}
		}
	}
	return true
}
