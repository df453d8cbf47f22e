package ownership

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// typeKey returns a text that identical types have in common, whatever names they are written with and whatever package
// they are loaded for. Different types that functions declare may have the same text.
func typeKey(t types.Type) string {
	var b strings.Builder
	writeType(&b, t)
	return b.String()
}

func writeType(b *strings.Builder, t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		b.WriteString(types.Typ[min(int(t.Kind()), len(types.Typ)-1)].Name()) // not byte and rune
		if t.Kind() == types.UnsafePointer {
			b.WriteString("unsafe.Pointer")
		}
	case *types.Named:
		if obj := t.Obj(); obj.Pkg() != nil {
			b.WriteString(packagePath(obj.Pkg()) + ".")
		}
		b.WriteString(t.Obj().Name())
		if t.TypeArgs().Len() > 0 {
			b.WriteByte('[')
			for arg := range t.TypeArgs().Types() {
				writeType(b, arg)
				b.WriteByte(',')
			}
			b.WriteByte(']')
		}
	case *types.Pointer:
		b.WriteByte('*')
		writeType(b, t.Elem())
	case *types.Slice:
		b.WriteString("[]")
		writeType(b, t.Elem())
	case *types.Array:
		b.WriteString("[" + strconv.FormatInt(t.Len(), 10) + "]")
		writeType(b, t.Elem())
	case *types.Map:
		b.WriteString("map[")
		writeType(b, t.Key())
		b.WriteByte(']')
		writeType(b, t.Elem())
	case *types.Chan:
		fmt.Fprintf(b, "chan%d ", t.Dir())
		writeType(b, t.Elem())
	case *types.Struct:
		b.WriteString("struct{")
		for i := range t.NumFields() {
			field := t.Field(i)
			if !field.Exported() && field.Pkg() != nil {
				b.WriteString(packagePath(field.Pkg()) + ".")
			}
			fmt.Fprintf(b, "%s %t %q ", field.Name(), field.Embedded(), t.Tag(i))
			writeType(b, field.Type())
			b.WriteByte(';')
		}
		b.WriteByte('}')
	case *types.Interface:
		b.WriteString("interface{")
		for m := range t.Methods() { // in the order of their names
			if !m.Exported() && m.Pkg() != nil {
				b.WriteString(packagePath(m.Pkg()) + ".")
			}
			b.WriteString(m.Name())
			writeType(b, m.Type())
			b.WriteByte(';')
		}
		if !t.IsMethodSet() {
			b.WriteString(types.TypeString(t, nil)) // a constraint
		}
		b.WriteByte('}')
	case *types.Signature:
		b.WriteString("func")
		writeType(b, t.Params())
		if t.Variadic() {
			b.WriteString("...")
		}
		writeType(b, t.Results())
	case *types.Tuple:
		b.WriteByte('(')
		for v := range t.Variables() {
			writeType(b, v.Type())
			b.WriteByte(',')
		}
		b.WriteByte(')')
	default: // a type parameter
		b.WriteString(types.TypeString(t, nil))
	}
}
