package ownership

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// function adds a function to the graph.
func (b *boxes) function(f *function) {
	for _, param := range f.fn.Params {
		if n := b.of(param); n != nil && f.unknownCallers {
			n.outside = true
			b.work = append(b.work, n)
		} else if n != nil && b.a.twice[f.id] {
			b.addUnknown(n)
		}
	}
	for _, fv := range f.fn.FreeVars {
		if n := b.of(fv); n != nil {
			b.addUnknown(n)
		}
	}
	for _, block := range f.fn.Blocks {
		for _, ins := range block.Instrs {
			b.instruction(f, ins)
		}
	}
}

func (b *boxes) instruction(f *function, ins ssa.Instruction) {
	if inGeneric(f.fn) {
		b.generic(ins)
		return
	}
	switch ins := ins.(type) {
	case *ssa.MakeInterface:
		t := b.typeOf(ins.X.Type())
		b.add(b.of(ins), t, made)
	case *ssa.Phi:
		for _, e := range ins.Edges {
			b.edge(b.of(e), b.of(ins), 0)
		}
	case *ssa.ChangeInterface:
		b.edge(b.of(ins.X), b.of(ins), 0)
	case *ssa.TypeAssert:
		switch {
		case isTypeParameter(ins.AssertedType):
			b.lose(ins.X)
		case !isInterface(ins.AssertedType):
		case ins.CommaOk:
			b.edge(b.of(ins.X), b.node(outcome{ins, 0}), 0)
		default:
			b.edge(b.of(ins.X), b.of(ins), 0)
		}
	case *ssa.ChangeType:
		b.edge(b.of(ins.X), b.of(ins), 0)
	case *ssa.Return:
		for i, result := range ins.Results {
			n := b.of(result)
			if n == nil {
				continue
			}
			b.edge(n, b.node(outcome{f.id, i}), 0)
			if f.unknownCallers {
				b.use(n, func(t *boxType, how passing) {
					if how&made != 0 {
						b.open(t)
					}
				})
			}
		}
	case *ssa.BinOp, *ssa.If, *ssa.DebugRef, *ssa.Extract:
	case ssa.CallInstruction:
		b.call(f, ins)
	default:
		for _, operand := range ins.Operands(nil) {
			if *operand != nil {
				b.lose(*operand)
			}
		}
		if v, ok := ins.(ssa.Value); ok {
			b.comes(v)
		}
	}
}

// generic adds an instruction of generic code, in which nothing is followed.
func (b *boxes) generic(ins ssa.Instruction) {
	if box, ok := ins.(*ssa.MakeInterface); ok {
		t := b.typeOf(box.X.Type())
		b.open(t)
	}
	for _, operand := range ins.Operands(nil) {
		if *operand != nil {
			b.lose(*operand)
		}
	}
	if call, ok := ins.(ssa.CallInstruction); ok {
		if to := b.a.functionOf(call.Common().StaticCallee()); to != nil {
			for i := range to.fn.Signature.Results().Len() {
				b.loseNode(b.node(outcome{to.id, i}))
			}
		}
	}
	if v, ok := ins.(ssa.Value); ok {
		b.comes(v)
	}
}

// comes says that a value, or the parts of one, comes from where it is not followed.
func (b *boxes) comes(v ssa.Value) {
	if tuple, ok := v.Type().(*types.Tuple); ok {
		for i := range tuple.Len() {
			if isInterface(tuple.At(i).Type()) {
				b.addUnknown(b.node(outcome{v, i}))
			}
		}
	} else if n := b.of(v); n != nil {
		b.addUnknown(n)
	}
}

func (b *boxes) call(f *function, ins ssa.CallInstruction) {
	common := ins.Common()
	value, _ := ins.(*ssa.Call)
	if common.IsInvoke() && value != nil {
		b.invoke(f, value)
		return
	}
	to := b.a.functionOf(common.StaticCallee())
	if to == nil || b.a.twice[to.id] || inGeneric(to.fn) {
		for _, operand := range ins.Operands(nil) {
			if *operand != nil {
				b.lose(*operand)
			}
		}
		if value != nil {
			b.comes(value)
		}
		return
	}
	b.enter(common.Args, to, 0)
	if value != nil {
		b.leave(value, to, made)
	}
}

// enter adds the passing of arguments to a function, to the parameters from first on.
func (b *boxes) enter(args []ssa.Value, to *function, first int) {
	for i, arg := range args {
		if n := b.of(arg); n != nil {
			if i += first; i < len(to.fn.Params) && isInterface(to.fn.Params[i].Type()) {
				b.edge(n, b.of(to.fn.Params[i]), passed)
			} else {
				b.lose(arg)
			}
		}
	}
}

// leave adds the results of a call of a function.
func (b *boxes) leave(call *ssa.Call, to *function, as passing) {
	results := call.Call.Signature().Results()
	for i := range results.Len() {
		if !isInterface(results.At(i).Type()) {
			continue
		}
		n := b.node(outcome{call, i})
		if results.Len() == 1 {
			n = b.of(call)
		}
		if i < to.fn.Signature.Results().Len() && isInterface(to.fn.Signature.Results().At(i).Type()) {
			b.edge(b.node(outcome{to.id, i}), n, as)
		} else {
			b.addUnknown(n)
		}
	}
}

// invoke adds a call of a method through an interface: those of all types that get there.
func (b *boxes) invoke(f *function, ins *ssa.Call) {
	common := &ins.Call
	receiver := b.of(common.Value)
	lose := func() {
		for _, arg := range common.Args {
			b.lose(arg)
		}
	}
	if receiver == nil {
		lose()
		b.comes(ins)
		return
	}
	as := made
	if given(f, common) {
		as = passed
	}
	entered := map[*boxType]bool{}
	b.use(receiver, func(t *boxType, _ passing) {
		if entered[t] || t.open {
			return
		}
		entered[t] = true
		to := b.method(t, common.Method.Name())
		if to == nil {
			b.open(t)
			lose()
			b.comes(ins)
			return
		}
		b.enter(common.Args, to, 1)
		b.leave(ins, to, as)
	})
	receiver.whenUnknown = append(receiver.whenUnknown, &reaction{then: func(outside bool) {
		if !outside || as == made {
			lose()
		}
		b.comes(ins)
	}})
	b.work = append(b.work, receiver)
}

// given reports whether a function passes on what its caller has passed: the receiver of a call through an interface is a
// parameter, and so are all arguments that lead to something.
func given(f *function, common *ssa.CallCommon) bool {
	for _, v := range ssaload.Arguments(common) {
		switch v := v.(type) {
		case *ssa.Const:
			continue
		case *ssa.Parameter:
			if v.Parent() == f.fn {
				continue
			}
		default:
			if _, basic := v.Type().Underlying().(*types.Basic); basic && v != common.Value && !isUnsafe(v.Type()) {
				continue
			}
		}
		return false
	}
	return true
}

// method returns the method of a type that is called through an interface, or nil.
func (b *boxes) method(t *boxType, name string) *function {
	sel := t.methods[name]
	if sel == nil {
		return nil
	}
	fn, ok := sel.Obj().(*types.Func)
	if !ok {
		return nil
	}
	to := b.a.byID[fn.Origin().FullName()]
	if to == nil || b.a.twice[to.id] || inGeneric(to.fn) {
		return nil
	}
	return to
}
