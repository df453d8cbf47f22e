package infer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// origin returns the generic function of an instance, which is the one with a body here. It returns
// other functions as they are.
func origin(fn *ssa.Function) *ssa.Function {
	if o := fn.Origin(); o != nil {
		return o
	}
	return fn
}

// body returns the function of this package that a call is known to call, or nil.
func (p *program) body(call *ssa.CallCommon) *ssa.Function {
	callee := call.StaticCallee()
	if callee == nil {
		return nil
	}
	if callee = origin(callee); len(callee.Blocks) == 0 {
		return nil
	}
	if _, ok := p.byFn[callee]; ok || callee.Pkg != nil && callee.Pkg.Pkg == p.pass.Pkg {
		return callee
	}
	return nil
}

// callersKnown reports whether a function is only called by name and in this package.
func (p *program) callersKnown(fn *ssa.Function) bool {
	obj := fn.Object()
	return obj != nil && !p.shared.taken[fn] && !p.invoked[obj.Name()] &&
		(!obj.Exported() || p.pass.Pkg.Name() == "main")
}

// touches reports whether a function, or a function that it calls, may access the variable at the
// end of a path of its caller. Variables are compared by field or package-level variable only.
func (p *program) touches(fn *ssa.Function, variable path) bool {
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
func class(p path) types.Object {
	switch last := p.last().(type) {
	case *types.Var:
		return last
	case *ssa.Global:
		return last.Object()
	}
	return nil
}
