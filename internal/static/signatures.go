package static

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// signatureOf returns a text that is the same for all function types that are identical, also if packages were loaded twice, as they
// are with and without their tests. It is "" for a type that depends on type parameters: an instance may be identical to any type. Some
// types that are not identical have one text.
func signatureOf(t types.Type) string {
	sig, ok := t.Underlying().(*types.Signature)
	if !ok {
		return ""
	}
	return signatureText(nil, sig)
}

// signatureText is signatureOf for a signature with one more parameter ahead of the others, unless that is nil.
func signatureText(first types.Type, sig *types.Signature) string {
	w := &typeWriter{}
	if first != nil {
		w.write(first)
	}
	w.signature(sig)
	if w.depends {
		return ""
	}
	return w.String()
}

// typeWriter writes types.
type typeWriter struct {
	strings.Builder
	depends bool // on type parameters
}

func (w *typeWriter) signature(sig *types.Signature) {
	for v := range sig.Params().Variables() {
		w.write(v.Type())
	}
	if sig.Variadic() {
		w.WriteString("...")
	}
	w.WriteString(")")
	for v := range sig.Results().Variables() {
		w.write(v.Type())
	}
	w.WriteString(";")
}

func (w *typeWriter) write(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Kind() < types.UntypedBool && int(t.Kind()) < len(types.Typ) {
			t = types.Typ[t.Kind()] // byte is uint8
		}
		w.WriteString(t.Name())
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil {
			w.WriteString(pkg.Path() + ".")
		}
		w.WriteString(t.Obj().Name())
		for arg := range t.TypeArgs().Types() {
			w.write(arg)
		}
	case *types.Pointer:
		w.WriteString("*")
		w.write(t.Elem())
	case *types.Slice:
		w.WriteString("[]")
		w.write(t.Elem())
	case *types.Array:
		fmt.Fprintf(w, "[%d]", t.Len())
		w.write(t.Elem())
	case *types.Map:
		w.WriteString("map[")
		w.write(t.Key())
		w.write(t.Elem())
	case *types.Chan:
		fmt.Fprintf(w, "chan%d ", t.Dir())
		w.write(t.Elem())
	case *types.Signature:
		w.WriteString("func(")
		w.signature(t)
	case *types.TypeParam:
		w.depends = true
	case *types.Struct: // not told apart
		for field := range t.Fields() {
			w.depends = w.depends || dependsOnParameters(field.Type())
		}
		w.WriteString("struct")
	case *types.Interface:
		w.depends = w.depends || dependsOnParameters(t)
		w.WriteString("interface")
	default:
		w.depends = true
	}
	w.WriteString(",")
}

// dependsOnParameters reports whether a type names a type parameter.
func dependsOnParameters(t types.Type) bool {
	if in, ok := t.(*types.Interface); ok {
		for method := range in.Methods() {
			if signatureOf(method.Type()) == "" {
				return true
			}
		}
		return false
	}
	w := &typeWriter{}
	w.write(t)
	return w.depends
}

// valuesOf returns the functions of the program that a value of a function type may be: those of Values that have this type, as they
// are, as methods of a value, or with their receivers as the first parameter.
func (g *CallGraph) valuesOf(t types.Type) (out []*Function) {
	text := signatureOf(t)
	for _, fn := range g.Values() {
		if may := g.signatures(fn); text == "" || may == nil || slices.Contains(may, text) {
			out = append(out, fn)
		}
	}
	return out
}

// valueGroup returns the targets of calls of function values with a type.
func (g *CallGraph) valueGroup(t types.Type) []int {
	return g.groupOfAll(anyValue+signatureOf(t), func() []*Function { return g.valuesOf(t) })
}

// signatures returns the texts of the types that a function may have as a value; nil for any.
func (g *CallGraph) signatures(fn *Function) (out []string) {
	if may, ok := g.signaturesOf[fn]; ok {
		return may
	}
	defer func() { g.signaturesOf[fn] = out }()
	var t types.Type
	switch node := fn.Node.(type) {
	case *ast.FuncLit:
		t = fn.Info().TypeOf(node)
	case *ast.FuncDecl:
		t = fn.Info().TypeOf(node.Name)
	}
	sig, ok := t.(*types.Signature)
	if !ok || sig.TypeParams().Len()+sig.RecvTypeParams().Len() > 0 {
		return nil
	}
	text := signatureText(nil, sig)
	if text == "" {
		return nil
	}
	out = append(out, text)
	if recv := sig.Recv(); recv != nil {
		out = append(out, signatureText(recv.Type(), sig))
		if _, pointer := types.Unalias(recv.Type()).(*types.Pointer); !pointer { // it is a method of pointers, too
			out = append(out, signatureText(types.NewPointer(recv.Type()), sig))
		}
	}
	return out
}
