package static

import (
	"go/ast"
	"go/types"
	"slices"
)

// callbacks returns the nodes that a function of another module may call because a call gives it functions, or values with
// methods.
func (g *CallGraph) callbacks(c *Call) (out []int) {
	info, facts := c.In.Info(), Known(c.Outside)
	if facts.Has(CallsElsewhere) {
		return nil
	}
	for _, arg := range c.Expr.Args {
		if facts.Has(CallsFunctionsOnly) && !isFunction(info.TypeOf(arg)) {
			continue
		}
		out = append(out, g.callbacksOf(info, arg)...)
	}
	if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil && !facts.Has(CallsFunctionsOnly) {
		out = append(out, g.callbacksOf(info, sel.X)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func isFunction(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// callbacksOf returns the nodes that code outside of the program may call if it gets an argument.
func (g *CallGraph) callbacksOf(info *types.Info, arg ast.Expr) (out []int) {
	arg = ast.Unparen(arg)
	if lit, ok := arg.(*ast.FuncLit); ok {
		return []int{g.Program.Of(lit).Number}
	}
	t := info.TypeOf(arg)
	out, known := g.callbacksBy[t]
	if !known {
		g.addCallbacks(t, map[types.Type]bool{}, &out)
		slices.Sort(out)
		out = slices.Compact(out)
		g.callbacksBy[t] = out
	}
	return out
}

// implicit are the methods that functions of the standard library look for in values of any type.
var implicit = []string{
	"String", "Error", "Format", "GoString", "MarshalJSON", "MarshalText", "MarshalBinary", "MarshalXML", "GobEncode",
	"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "UnmarshalXML", "GobDecode",
}

// addCallbacks adds the nodes that can be called through a value of a type, its elements and its fields.
func (g *CallGraph) addCallbacks(t types.Type, seen map[types.Type]bool, out *[]int) {
	if t = types.Unalias(t); t == nil || seen[t] {
		return
	}
	seen[t] = true
	if n, ok := t.(*types.Named); ok {
		for i := range n.NumMethods() {
			if fn := g.Program.Declared(n.Method(i)); fn != nil {
				*out = append(*out, fn.Number)
			}
		}
		for arg := range n.TypeArgs().Types() {
			g.addCallbacks(arg, seen, out)
		}
		if pkg := n.Obj().Pkg(); pkg != nil && !types.IsInterface(n) && !g.packages[pkg.Path()] {
			return // its parts are not of the program
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Signature:
		*out = append(*out, g.group(anyValue)...)
	case *types.Interface:
		if u.NumMethods() == 0 {
			for _, name := range implicit {
				*out = append(*out, g.group(name)...)
			}
		}
		for i := range u.NumMethods() {
			*out = append(*out, g.group(u.Method(i).Name())...)
		}
	case *types.Pointer:
		g.addCallbacks(u.Elem(), seen, out)
	case *types.Slice:
		g.addCallbacks(u.Elem(), seen, out)
	case *types.Array:
		g.addCallbacks(u.Elem(), seen, out)
	case *types.Map:
		g.addCallbacks(u.Key(), seen, out)
		g.addCallbacks(u.Elem(), seen, out)
	case *types.Struct:
		for i := range u.NumFields() {
			g.addCallbacks(u.Field(i).Type(), seen, out)
		}
	}
}
