package infer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// body returns the function of this package that a call is known to call, or nil.
func (p *program) body(call *ssa.CallCommon) *ssa.Function {
	callee := call.StaticCallee()
	if call.IsInvoke() {
		callee = p.implementation(call.Method)
	}
	if callee == nil {
		return nil
	}
	if callee = ssaload.Origin(callee); len(callee.Blocks) == 0 {
		return nil
	}
	if _, ok := p.byFn[callee]; ok || callee.Pkg != nil && callee.Pkg.Pkg == p.pass.Pkg {
		return callee
	}
	return nil
}

// implementation returns the function that a call of an interface's method calls, or nil if that is
// not known. It is known if the interface is declared in this package, and one type of the package
// implements it, with a pointer as the receiver. Types of other packages that implement it too are
// not known.
func (p *program) implementation(method *types.Func) *ssa.Function {
	if fn, known := p.single[method]; known {
		return fn
	}
	p.single[method] = nil
	recv := method.Signature().Recv()
	if recv == nil || method.Pkg() != p.pass.Pkg {
		return nil
	}
	iface, ok := recv.Type().Underlying().(*types.Interface)
	if !ok || ssaload.Named(recv.Type()) == nil {
		return nil
	}
	var only *types.Func
	scope := p.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() {
			continue
		}
		n, ok := obj.Type().(*types.Named)
		if !ok || n.TypeParams().Len() > 0 || types.IsInterface(n) || !types.Implements(types.NewPointer(n), iface) {
			continue
		}
		found, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, method.Pkg(), method.Name())
		fn, ok := found.(*types.Func)
		if !ok || only != nil {
			return nil
		}
		only = fn
	}
	if only == nil {
		return nil
	}
	if _, ok := only.Signature().Recv().Type().(*types.Pointer); !ok {
		return nil
	}
	fn := p.prog.FuncValue(only)
	p.single[method] = fn
	return fn
}

// callersKnown reports whether a function is only called by name and in this package.
func (p *program) callersKnown(fn *ssa.Function) bool {
	obj := fn.Object()
	return obj != nil && !p.shared.taken[fn] && !p.invoked[obj.Name()] &&
		(!obj.Exported() || p.pass.Pkg.Name() == "main")
}

// touches reports whether a function, or a function that it calls, may access the variable at the
// end of a path of its caller. Variables are compared by field or package-level variable only.
func (p *program) touches(fn *ssa.Function, variable ssaload.Path) bool {
	if len(p.reach) == 0 {
		for changed := true; changed; {
			changed = false
			for _, fn := range p.funcs {
				if p.collectTouched(fn) {
					changed = true
				}
			}
		}
	}
	return p.reach[fn][class(variable)]
}

func (p *program) collectTouched(fn *ssa.Function) (changed bool) {
	known := p.reach[fn]
	if known == nil {
		known = map[types.Object]bool{}
		p.reach[fn] = known
	}
	before := len(known)
	for _, a := range p.byFn[fn] {
		known[class(a.path)] = true
	}
	for _, b := range fn.Blocks {
		for _, ins := range b.Instrs {
			if call, ok := ins.(*ssa.Call); ok {
				if callee := p.body(&call.Call); callee != nil {
					for obj := range p.reach[callee] {
						known[obj] = true
					}
				}
			}
		}
	}
	return len(known) > before
}

// class returns the field or package-level variable that a path ends in. All other variables have
// the class nil.
func class(p ssaload.Path) types.Object {
	switch last := p.Last().(type) {
	case *types.Var:
		return last
	case *ssa.Global:
		return last.Object()
	}
	return nil
}
