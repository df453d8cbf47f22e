package ownership

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// What instructions do to the graph of local.go.

// uses finds addresses that are used for more than accesses.
func (g *flows) uses(ins ssa.Instruction) {
	switch ins.(type) {
	case *ssa.UnOp, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.DebugRef:
		return
	}
	store, isStore := ins.(*ssa.Store)
	closure, isClosure := ins.(*ssa.MakeClosure)
	for _, operand := range ins.Operands(nil) {
		if *operand == nil || isStore && operand == &store.Addr {
			continue
		}
		if isClosure && *operand != nil {
			if captured(closure, *operand) {
				continue
			}
		}
		g.addressUsed(*operand)
	}
}

func isAppend(call *ssa.Call) bool {
	b, ok := call.Call.Value.(*ssa.Builtin)
	return ok && b.Name() == "append"
}

// captured reports whether a literal captures a local variable, as at knows it.
func captured(closure *ssa.MakeClosure, v ssa.Value) bool {
	fn := closure.Fn.(*ssa.Function)
	if fn.Syntax() == nil {
		return false
	}
	for i, bound := range closure.Bindings {
		if bound == v && bindingOf(fn.FreeVars[i]) == nil {
			return false
		}
	}
	return true
}

// store says that a value is put into memory of an object.
func (g *flows) store(base, v ssa.Value, into []*flow) {
	if leads(v.Type()) {
		from := g.of(v)
		for _, to := range into {
			g.edge(from, to)
		}
	}
	g.of(base).onShared(g, func() { g.knowValue(v) })
}

// load says that a value comes from memory of an object.
func (g *flows) load(base ssa.Value, value *flow, t types.Type, from []*flow) {
	if value != nil {
		for _, n := range from {
			g.edge(n, value)
		}
		g.of(base).onShared(g, func() { g.share(value) })
		return
	}
	g.of(base).onShared(g, func() { g.shareParts(t) })
}

func (g *flows) make(v ssa.Value) *flow {
	n := g.of(v)
	if n != nil {
		n.made = true
		if n.known {
			g.share(n)
		}
	}
	return n
}

// instruction adds an instruction to the graph.
func (g *flows) instruction(f *function, ins ssa.Instruction) {
	switch ins := ins.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap:
		g.make(ins.(ssa.Value))
	case *ssa.MakeChan, *ssa.BinOp, *ssa.If, *ssa.Jump, *ssa.DebugRef, *ssa.RunDefers:
	case *ssa.Phi:
		for _, e := range ins.Edges {
			g.edge(g.of(e), g.of(ins))
		}
	case *ssa.FieldAddr:
		g.edge(g.of(ins.X), g.of(ins))
	case *ssa.IndexAddr:
		g.edge(g.of(ins.X), g.of(ins))
	case *ssa.Slice:
		g.edge(g.of(ins.X), g.of(ins))
	case *ssa.SliceToArrayPointer:
		g.edge(g.of(ins.X), g.of(ins))
	case *ssa.ChangeInterface:
		g.edge(g.of(ins.X), g.of(ins))
	case *ssa.ChangeType:
		g.converted(ins.X, ins)
	case *ssa.Convert:
		g.convert(ins)
	case *ssa.MultiConvert:
		g.knowValue(ins.X)
		g.shareValue(ins)
	case *ssa.MakeInterface:
		if leads(ins.X.Type()) {
			g.edge(g.of(ins.X), g.of(ins))
		} else {
			g.knowValue(ins.X)
		}
		if generic(ins.X.Type()) {
			g.unknown(g.of(ins))
		}
	case *ssa.TypeAssert:
		g.asserted(ins)
	case *ssa.MakeClosure:
		g.closure(ins)
	case *ssa.UnOp:
		switch ins.Op {
		case token.MUL:
			g.load(ins.X, g.of(ins), ins.Type(), g.at(ins.X))
		case token.ARROW:
			if ch, ok := ins.X.Type().Underlying().(*types.Chan); ok && ins.CommaOk {
				g.shareOutcome(ins, 0, ch.Elem())
			} else {
				g.shareValue(ins)
			}
		}
	case *ssa.Store:
		g.store(ins.Addr, ins.Val, g.at(ins.Addr))
	case *ssa.Field:
		if leads(ins.Type()) {
			g.edge(g.field(ins.X.Type(), ins.Field), g.of(ins))
		}
	case *ssa.Index:
		if array, ok := ins.X.Type().Underlying().(*types.Array); ok && leads(array.Elem()) {
			g.edge(g.slot("element ", array.Elem()), g.of(ins))
		} else if !ok {
			g.shareValue(ins)
		}
	case *ssa.MapUpdate:
		m := mapType(ins.Map.Type())
		if m == nil {
			g.knowValue(ins.Value)
			g.knowValue(ins.Key)
			return
		}
		g.store(ins.Map, ins.Value, g.contents("value ", m.Elem()))
		g.store(ins.Map, ins.Key, g.contents("key ", m.Key()))
	case *ssa.Lookup:
		m := mapType(ins.X.Type())
		if m == nil { // of a string, or in generic code
			if tuple, ok := ins.Type().(*types.Tuple); ok {
				g.shareOutcome(ins, 0, tuple.At(0).Type())
			} else {
				g.shareValue(ins)
			}
			return
		}
		value := g.of(ins)
		if ins.CommaOk && leads(m.Elem()) {
			value = g.node(outcome{ins, 0})
		}
		g.load(ins.X, value, m.Elem(), g.contents("value ", m.Elem()))
	case *ssa.Range:
	case *ssa.Next:
		g.next(ins)
	case *ssa.Extract:
		g.of(ins)
	case *ssa.Send:
		g.knowValue(ins.X)
	case *ssa.Select:
		received := 0
		for _, s := range ins.States {
			if s.Dir == types.SendOnly {
				g.knowValue(s.Send)
				continue
			}
			if ch, ok := s.Chan.Type().Underlying().(*types.Chan); ok {
				g.shareOutcome(ins, 2+received, ch.Elem())
			}
			received++
		}
	case *ssa.Panic:
		g.knowValue(ins.X)
	case *ssa.Return:
		for i, result := range ins.Results {
			if leads(result.Type()) {
				g.edge(g.of(result), g.node(outcome{f.id, i}))
			}
			if f.indirect() {
				g.knowValue(result)
			}
		}
	case ssa.CallInstruction:
		g.call(f, ins)
	default:
		for _, operand := range ins.Operands(nil) {
			if *operand != nil {
				g.knowValue(*operand)
			}
		}
		if v, ok := ins.(ssa.Value); ok {
			g.shareValue(v)
		}
	}
}

func mapType(t types.Type) *types.Map {
	m, _ := t.Underlying().(*types.Map)
	return m
}

func (g *flows) shareOutcome(of any, index int, t types.Type) {
	if leads(t) {
		g.share(g.node(outcome{of, index}))
		return
	}
	g.shareParts(t)
}

// converted adds a conversion between types that have the same underlying type.
func (g *flows) converted(from, to ssa.Value) {
	if leads(from.Type()) && typeKey(ssaload.Deref(from.Type()).Underlying()) == typeKey(ssaload.Deref(to.Type()).Underlying()) {
		if _, pointer := from.Type().Underlying().(*types.Pointer); !pointer || typeKey(from.Type()) == typeKey(to.Type()) {
			g.edge(g.of(from), g.of(to)) // slices, maps and functions
			return
		}
	}
	g.knowValue(from)
	g.shareValue(to)
}

func (g *flows) convert(ins *ssa.Convert) {
	if isUnsafe(ins.Type()) || isUnsafe(ins.X.Type()) {
		g.knowValue(ins.X)
		g.shareValue(ins)
		return
	}
	if leads(ins.Type()) {
		if leads(ins.X.Type()) {
			g.unknown(g.of(ins.X))
			g.unknown(g.of(ins))
			return
		}
		g.make(ins) // bytes or runes of a string
	}
}

func (g *flows) asserted(ins *ssa.TypeAssert) {
	if !leads(ins.AssertedType) {
		g.shareParts(ins.AssertedType) // what it leads to is known since it was put into an interface
		return
	}
	to := g.of(ins)
	if ins.CommaOk {
		to = g.node(outcome{ins, 0})
	}
	g.edge(g.of(ins.X), to)
	if generic(ins.AssertedType) {
		g.unknown(to)
	}
}

// closure adds a function literal, or a method value: who gets to know it gets to know what it has captured.
func (g *flows) closure(ins *ssa.MakeClosure) {
	fn := ins.Fn.(*ssa.Function)
	n := g.make(ins)
	for i, bound := range ins.Bindings {
		if fn.Syntax() != nil {
			if leads(bound.Type()) {
				g.edge(g.of(bound), g.of(fn.FreeVars[i]))
			}
			continue
		}
		// A wrapper of a method.
		if to := g.a.funcValue(fn); to != nil && len(to.fn.Params) > 0 && leads(bound.Type()) && leads(to.fn.Params[0].Type()) {
			g.edge(g.of(bound), g.of(to.fn.Params[0]))
		} else {
			g.knowValue(bound)
		}
	}
	n.whenKnown = append(n.whenKnown, func() {
		for _, bound := range ins.Bindings {
			g.knowValue(bound)
		}
	})
	if n.known {
		g.work = append(g.work, n)
	}
}

func (g *flows) next(ins *ssa.Next) {
	over, ok := ins.Iter.(*ssa.Range)
	if !ok || ins.IsString {
		return
	}
	m := mapType(over.X.Type())
	tuple := ins.Type().(*types.Tuple)
	for i, t := range []types.Type{1: tuple.At(1).Type(), 2: tuple.At(2).Type()} {
		if t == nil {
			continue
		}
		if m == nil {
			g.shareOutcome(ins, i, t)
			continue
		}
		prefix, of := "key ", m.Key()
		if i == 2 {
			prefix, of = "value ", m.Elem()
		}
		var value *flow
		if leads(of) {
			value = g.node(outcome{ins, i})
		}
		g.load(over.X, value, of, g.contents(prefix, of))
	}
}

// results calls visit for each result of a call that points to something, and shares the parts of the others.
func (g *flows) results(call *ssa.Call, visit func(i int, n *flow, t types.Type)) {
	results := call.Call.Signature().Results()
	for i := range results.Len() {
		t := results.At(i).Type()
		switch {
		case results.Len() > 1 && leads(t):
			visit(i, g.node(outcome{call, i}), t)
		case results.Len() == 1 && leads(t):
			visit(i, g.of(call), t)
		default:
			visit(i, nil, t)
		}
	}
}

// call adds a call, or a defer or go statement.
func (g *flows) call(f *function, ins ssa.CallInstruction) {
	common := ins.Common()
	value, _ := ins.(*ssa.Call)
	if b, ok := common.Value.(*ssa.Builtin); ok {
		if _, started := ins.(*ssa.Go); started {
			for _, arg := range common.Args {
				g.knowValue(arg)
			}
		}
		g.builtin(b.Name(), common.Args, ins)
		return
	}
	_, started := ins.(*ssa.Go)
	args := ssaload.Arguments(common)
	if h := g.handover.at[ins]; h != nil {
		g.handOver(h, common)
		return
	}
	if started {
		for _, arg := range args {
			g.knowValue(arg)
		}
		g.knowValue(common.Value)
	}
	callee := common.StaticCallee()
	if to := g.a.functionOf(callee); to != nil {
		for i, arg := range args {
			if i < len(to.fn.Params) && leads(arg.Type()) && leads(to.fn.Params[i].Type()) {
				g.edge(g.of(arg), g.of(to.fn.Params[i]))
			} else {
				g.knowValue(arg)
				if i < len(to.fn.Params) {
					g.shareUnlessPlain(to.fn.Params[i])
				}
			}
		}
		if value != nil {
			g.results(value, func(i int, n *flow, t types.Type) {
				switch {
				case n == nil:
					// a struct: its parts are the same everywhere
				case i < to.fn.Signature.Results().Len() && leads(to.fn.Signature.Results().At(i).Type()) && !generic(to.fn.Signature.Results().At(i).Type()):
					g.edge(g.node(outcome{to.id, i}), n)
				default:
					g.unknown(n)
				}
			})
			if generic(to.fn.Signature) || to.fn.Signature.TypeParams().Len() > 0 {
				g.results(value, func(_ int, n *flow, t types.Type) {
					if n == nil {
						g.shareParts(t)
					}
				})
			}
		}
		return
	}
	if static.Known(static.Func(callee)).Has(static.Forgets) && !started {
		if value != nil {
			g.results(value, func(_ int, n *flow, t types.Type) {
				g.share(n)
				for _, arg := range args {
					if leads(arg.Type()) {
						g.edge(g.of(arg), n)
					}
				}
				if n == nil {
					g.shareParts(t)
				}
			})
		}
		return
	}
	for _, arg := range args {
		g.knowValue(arg)
	}
	if value != nil {
		g.results(value, func(_ int, n *flow, t types.Type) {
			if n == nil {
				g.shareParts(t)
				return
			}
			g.unknown(n)
		})
	}
}

// shareUnlessPlain shares a parameter to which an argument of another kind is passed, as generic code does.
func (g *flows) shareUnlessPlain(param *ssa.Parameter) {
	if leads(param.Type()) {
		g.unknown(g.of(param))
	}
}

func (g *flows) builtin(name string, args []ssa.Value, ins ssa.CallInstruction) {
	value, _ := ins.(ssa.Value)
	switch name {
	case "append", "copy":
		to := args[0]
		if name == "append" {
			n := g.make(value)
			g.edge(g.of(to), n)
			if n == nil {
				return
			}
		}
		if len(args) < 2 {
			return
		}
		slice, ok := args[1].Type().Underlying().(*types.Slice)
		if !ok {
			if isTypeParameter(args[1].Type()) || isTypeParameter(to.Type()) {
				g.knowValue(args[1])
			}
			return
		}
		elements := g.contents("element ", slice.Elem())
		g.of(args[1]).onShared(g, func() {
			for _, n := range elements {
				g.share(n)
			}
		})
		target := g.of(to)
		if name == "append" {
			target = g.of(value)
		}
		if len(elements) > 0 {
			source := g.of(args[1])
			target.onShared(g, func() { g.know(source) })
		}
	case "len", "cap", "delete", "clear", "close", "print", "println", "min", "max", "real", "imag", "complex":
	case "ssa:wrapnilchk":
		g.edge(g.of(args[0]), g.of(value))
	default:
		for _, arg := range args {
			g.knowValue(arg)
		}
		if value != nil {
			if name == "recover" || name == "panic" || strings.HasPrefix(name, "ssa:") {
				g.share(g.of(value))
				return
			}
			g.shareValue(value)
		}
	}
}
