package static

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// callbacks returns the nodes that a function of another module may call because a call gives it functions, or values with
// methods.
func (g *CallGraph) callbacks(c *Call) (out []int) {
	facts := Known(c.Outside)
	if facts.Has(CallsElsewhere) {
		return nil
	}
	return g.givenTo(c, facts.Has(CallsFunctionsOnly))
}

// GivenTo returns the functions of the program that a function of another module gets with a call: functions, and methods of
// the values. It may call them at any time, in any goroutine.
func (g *CallGraph) GivenTo(c *Call) []*Function {
	if c.Outside == nil || c.Open {
		return nil
	}
	return g.May(g.givenTo(c, Known(c.Outside).Has(CallsFunctionsOnly)))
}

// givenTo returns the nodes that a call gives to a function of another module.
func (g *CallGraph) givenTo(c *Call, functionsOnly bool) (out []int) {
	info := c.In.Info()
	if byReflection(c.Outside) {
		out = append(slices.Clone(g.group(anyMethod)), g.group(anyValue)...)
	}
	for i, arg := range c.Expr.Args {
		if functionsOnly && !isFunction(info.TypeOf(arg)) {
			continue
		}
		anything := TakesAny(c.Outside, i)
		out = append(out, g.callbacksOf(info, arg, anything && inStandardLibrary(c.Outside))...)
		if t := info.TypeOf(arg); t != nil && types.IsInterface(t) && !functionsOnly && anything {
			out = append(out, g.implicitMethods()...)
		}
	}
	if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil && !functionsOnly {
		out = append(out, g.callbacksOf(info, sel.X, false)...)
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

// callbacksOf returns the nodes that code outside of the program may call if it gets an argument. With onlyImplicit it looks for
// no other methods than those in implicit.
func (g *CallGraph) callbacksOf(info *types.Info, arg ast.Expr, onlyImplicit bool) (out []int) {
	arg = ast.Unparen(arg)
	if isFunction(info.TypeOf(arg)) {
		_, literal := arg.(*ast.FuncLit)
		if fn, outside := g.bound(info, arg); !literal && fn == nil && outside == nil && namedFunc(info, arg) == nil {
			return g.valueGroup(info.TypeOf(arg))
		}
		for _, fn := range g.Function(info, arg) {
			out = append(out, fn.Number)
		}
		return out
	}
	at := given{info.TypeOf(arg), onlyImplicit}
	out, known := g.callbacksBy[at]
	if !known {
		g.addCallbacks(at.t, onlyImplicit, map[types.Type]bool{}, &out)
		slices.Sort(out)
		out = slices.Compact(out)
		g.callbacksBy[at] = out
	}
	return out
}

// given is the type of an argument, and whether only the methods in implicit are called.
type given struct {
	t            types.Type
	onlyImplicit bool
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// byReflection reports whether a function may call any exported method of what it is given, and of what that leads to.
func byReflection(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "text/template", "html/template":
		return fn.Name() == "Execute" || fn.Name() == "ExecuteTemplate"
	case "reflect":
		return fn.Name() == "Call" || fn.Name() == "CallSlice"
	case "net/rpc":
		return true
	}
	return false
}

// inStandardLibrary reports whether a function is one of the standard library, as far as its package's path tells.
func inStandardLibrary(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return true
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	return !strings.Contains(first, ".")
}

// TakesAny reports whether a function takes a value of any type as its argument with a number.
func TakesAny(fn *types.Func, i int) bool {
	params := fn.Signature().Params()
	if i >= params.Len()-1 && fn.Signature().Variadic() {
		list, ok := params.At(params.Len() - 1).Type().(*types.Slice)
		return ok && isAny(list.Elem())
	}
	return i < params.Len() && isAny(params.At(i).Type())
}

func isAny(t types.Type) bool {
	u, ok := t.Underlying().(*types.Interface)
	return ok && u.NumMethods() == 0
}

// implicit are the methods that functions of the standard library look for in values of any type.
var implicit = []string{
	"String", "Error", "Format", "GoString", "MarshalJSON", "MarshalText", "MarshalBinary", "MarshalXML", "GobEncode",
	"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "UnmarshalXML", "GobDecode", "Scan", "LogValue", "Is", "As", "Unwrap", "Value", "IsZero", "AppendText", "AppendBinary",
	"MarshalXMLAttr", "UnmarshalXMLAttr",
}

// ofErrors are those that they look for in errors.
var ofErrors = []string{"Is", "As", "Unwrap", "Timeout", "Format"}

// implicitMethods returns the nodes of the methods in implicit.
func (g *CallGraph) implicitMethods() (out []int) {
	for _, name := range implicit {
		out = append(out, g.group(name)...)
	}
	return out
}

// addCallbacks adds the nodes that can be called through a value of a type, its elements and its fields.
func (g *CallGraph) addCallbacks(t types.Type, onlyImplicit bool, seen map[types.Type]bool, out *[]int) {
	if t = types.Unalias(t); t == nil || seen[t] {
		return
	}
	seen[t] = true
	if n, ok := t.(*types.Named); ok {
		for i := range n.NumMethods() {
			if fn := g.Program.Declared(n.Method(i)); fn != nil && (!onlyImplicit || slices.Contains(implicit, fn.Name())) {
				*out = append(*out, fn.Number)
			}
		}
		for arg := range n.TypeArgs().Types() {
			g.addCallbacks(arg, onlyImplicit, seen, out)
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
			*out = append(*out, g.implicitMethods()...)
		}
		if types.Implements(t, errorType) {
			for _, name := range ofErrors {
				*out = append(*out, g.group(name)...)
			}
		}
		for i := range u.NumMethods() {
			*out = append(*out, g.group(u.Method(i).Name())...)
		}
	case *types.Pointer:
		g.addCallbacks(u.Elem(), onlyImplicit, seen, out)
	case *types.Slice:
		g.addCallbacks(u.Elem(), onlyImplicit, seen, out)
	case *types.Array:
		g.addCallbacks(u.Elem(), onlyImplicit, seen, out)
	case *types.Map:
		g.addCallbacks(u.Key(), onlyImplicit, seen, out)
		g.addCallbacks(u.Elem(), onlyImplicit, seen, out)
	case *types.Struct:
		for i := range u.NumFields() {
			g.addCallbacks(u.Field(i).Type(), onlyImplicit, seen, out)
		}
	}
}
