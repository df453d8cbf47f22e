package ownership

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// call is a call of a function of the analyzed packages.
type call struct {
	caller *function
	callee *function
	ins    ssa.CallInstruction
	kind   callKind
	locks  locksAt
	at     Position
}

// callKind says when the called function runs.
type callKind uint8

const (
	now callKind = iota
	later   // at the end of the function, when no lock counts as held
	started // in another goroutine
)

// called adds a call whose function is known, and what a call of an unknown one may access.
func (f *function) called(ins ssa.CallInstruction, s locksAt) {
	common := ins.Common()
	callee := common.StaticCallee()
	if callee == nil {
		return
	}
	to := f.a.byID[id(callee)]
	if to == nil {
		f.foreignInstance(ins, callee)
		return
	}
	c := &call{caller: f, callee: to, ins: ins, locks: s, at: f.at(ins, false)}
	switch ins.(type) {
	case *ssa.Defer:
		c.kind = later
	case *ssa.Go:
		c.kind = started
	}
	f.calls = append(f.calls, c)
	to.callers = append(to.callers, c)
}

// foreignInstance exposes the type arguments of a generic function of another package, which may copy
// values of these types.
func (f *function) foreignInstance(ins ssa.CallInstruction, callee *ssa.Function) {
	if callee.Pkg != nil && strings.HasPrefix(callee.Pkg.Pkg.Path(), "sync") || synchronizes(callee) {
		return
	}
	for _, t := range callee.TypeArgs() {
		for _, v := range structsIn(t) {
			f.a.expose(v, f.at(ins, false), "values are passed to "+callee.Name()+", whose code is not followed")
		}
	}
}

// findInits finds the functions that run only while packages are initialized, before other goroutines do. There
// are none if the initialization of some package starts a goroutine.
func (a *analysis) findInits() {
	a.inits = map[string]bool{}
	for _, f := range a.functions {
		if obj := f.fn.Object(); obj == nil && f.fn.Parent() == nil || obj != nil && f.fn.Signature.Recv() == nil && obj.Name() == "init" {
			a.inits[f.id] = true
		}
	}
	reached := map[string]bool{}
	var reach func(f *function) *function // the function that starts a goroutine
	reach = func(f *function) *function {
		if reached[f.id] {
			return nil
		}
		reached[f.id] = true
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, ok := ins.(ssa.CallInstruction)
				if !ok {
					continue
				}
				if _, starts := ins.(*ssa.Go); starts {
					return f
				}
				if callee := call.Common().StaticCallee(); callee != nil && a.byID[id(callee)] != nil {
					if starter := reach(a.byID[id(callee)]); starter != nil {
						return starter
					}
				}
			}
		}
		return nil
	}
	for _, f := range a.functions {
		if !a.inits[f.id] {
			continue
		}
		if starter := reach(f); starter != nil {
			at := a.position(starter.fn.Pos())
			a.note(at, "the initialization of a package starts a goroutine here: what it sets counts as set while other goroutines run")
			clear(a.inits)
			return
		}
	}
}

func (a *analysis) note(at Position, text string) {
	a.notes = append(a.notes, ssaload.Note{File: at.File, Line: at.Line, Text: text})
}
