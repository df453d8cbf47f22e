package infer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// written is the set of variables that may change while they are shared. All others are like final
// variables in Java: accesses of other goroutines to them cannot violate a section.
type written struct {
	p   *program
	set map[any]bool // *types.Var, *ssa.Global, *ssa.Alloc
}

func newWritten(p *program) *written {
	w := &written{p: p, set: map[any]bool{}}
	for _, fn := range p.funcs {
		init := isInit(fn)
		for _, b := range fn.Blocks {
			for _, ins := range b.Instrs {
				if store, ok := ins.(*ssa.Store); ok {
					to := ssaload.Pointee(store.Addr)
					if p.shared.shared(to, ins) && !(init && ssaload.IsGlobal(to.Root)) {
						w.add(to)
						w.addFields(ssaload.Deref(store.Addr.Type()))
					}
				}
				w.addresses(ins)
			}
		}
	}
	return w
}

// isInit reports whether fn is a function init. No other goroutines run at the same time, unless an
// init function starts them.
func isInit(fn *ssa.Function) bool {
	return fn.Parent() == nil && fn.Signature.Recv() == nil && fn.Object() != nil && fn.Object().Name() == "init"
}

func (w *written) add(p ssaload.Path) {
	if !p.Direct() {
		return
	}
	if last := p.Last(); last != nil {
		w.set[last] = true
	} else if alloc, ok := w.p.shared.variable(p.Root).(*ssa.Alloc); ok {
		w.set[alloc] = true
	}
}

// addFields adds the fields of a struct that is assigned as a whole.
func (w *written) addFields(t types.Type) {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i := range st.NumFields() {
		field := st.Field(i)
		if !w.set[field.Origin()] {
			w.set[field.Origin()] = true
			w.addFields(field.Type())
		}
	}
}

// addresses adds the variables whose address an instruction passes on, because they may then be
// written anywhere.
func (w *written) addresses(ins ssa.Instruction) {
	switch ins.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.MakeClosure, *ssa.DebugRef:
		return
	}
	for i, operand := range ins.Operands(nil) {
		if store, ok := ins.(*ssa.Store); ok && *operand == store.Addr && i == 0 {
			continue
		}
		switch v := (*operand).(type) {
		case *ssa.FieldAddr, *ssa.Global:
			w.add(ssaload.Pointee(v))
		case *ssa.FreeVar:
			if alloc, ok := w.p.shared.variable(v).(*ssa.Alloc); ok {
				w.set[alloc] = true
			}
		case *ssa.Alloc:
			w.set[v] = true
		}
	}
}

// final reports whether a variable certainly does not change after it is shared. It returns false
// for elements, for the contents of maps, and for variables that other packages can write.
func (w *written) final(p ssaload.Path) bool {
	if !p.Direct() {
		return false
	}
	var obj types.Object
	switch last := p.Last().(type) {
	case *types.Var:
		obj = last
	case *ssa.Global:
		obj = last.Object()
	case *ssa.Alloc:
		return !w.set[last]
	default:
		alloc, ok := w.p.shared.variable(p.Root).(*ssa.Alloc)
		return ok && !w.set[alloc]
	}
	if g, ok := p.Last().(*ssa.Global); ok && ssaload.IsGlobal(p.Root) && isError(ssaload.Deref(g.Type())) {
		return !w.set[g] // nobody sets an error of another package
	}
	if obj == nil || obj.Pkg() != w.p.pass.Pkg || obj.Exported() && obj.Pkg().Name() != "main" {
		return false
	}
	return !w.set[p.Last()]
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
