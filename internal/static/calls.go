package static

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Callee returns the function or method that a call names: the method of an interface if it is called through one, and
// the generic function of an instance. It returns nil for builtin functions, conversions, and function values.
func Callee(info *types.Info, call *ast.CallExpr) *types.Func { return namedFunc(info, call.Fun) }

// namedFunc returns the function or method that an expression names; of an instance, the generic one. It returns nil for a
// function value.
func namedFunc(info *types.Info, e ast.Expr) *types.Func {
	fun := ast.Unparen(e)
	switch instance := fun.(type) {
	case *ast.IndexExpr:
		fun = ast.Unparen(instance.X)
	case *ast.IndexListExpr:
		fun = ast.Unparen(instance.X)
	}
	var fn *types.Func
	switch fun := fun.(type) {
	case *ast.Ident:
		fn, _ = info.Uses[fun].(*types.Func)
	case *ast.SelectorExpr:
		fn, _ = info.Uses[fun.Sel].(*types.Func)
	}
	return fn
}

// CalleeSSA is Callee for a call in SSA form.
func CalleeSSA(call *ssa.CallCommon) *types.Func {
	if call.IsInvoke() {
		return call.Method
	}
	return Func(call.StaticCallee())
}

// Func returns the declared function or method that fn was made from. It returns nil for a literal, and for what the
// SSA form adds and no declaration stands for.
func Func(fn *ssa.Function) *types.Func {
	if fn == nil {
		return nil
	}
	obj, _ := fn.Object().(*types.Func)
	return obj
}

// MayReturn reports whether a call may return: it is neither one of panic nor of a function that never returns.
func MayReturn(info *types.Info, call *ast.CallExpr) bool {
	if fun, ok := ast.Unparen(call.Fun).(*ast.Ident); ok && info.Uses[fun] == types.Universe.Lookup("panic") {
		return false
	}
	return !Known(Callee(info, call)).Has(NeverReturns)
}
