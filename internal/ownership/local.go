package ownership

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// An access is local if it can only be of objects that no goroutine but the one that made them ever knows. Objects
// may be stored in each other, in local variables and in function literals, and passed to functions.
//
// This is a flow of two facts through a graph. Its nodes are the values of all functions, and the variables to which they
// are stored: a field is one node for all objects of a type. That a value may point to a shared object is passed on to
// the values that come from it. That others get to know what a value points to is passed back to the values it comes
// from, and makes the objects shared that instructions make there. What is stored in a shared object is known to others,
// and what is read from one is shared. Code that the analysis does not see shares all that it is given and that it returns.
//
// The cost is linear in the size of the program.

// flow is a node of the graph.
type flow struct {
	from, to []*flow
	shared   bool // it may point to an object that several goroutines know
	known    bool // others get to know what it points to
	made     bool // it is an instruction that makes an object

	whenShared []func()
	whenKnown  []func()
}

type flows struct {
	a        *analysis
	nodes    map[any]*flow
	work     []*flow
	handover *handovers
}

// slot identifies the node of memory: a field of all objects of a type, the elements of all slices and so on.
type slot struct{ name string }

// outcome identifies the node of a result of a call or of a function.
type outcome struct {
	of    any
	index int
}

// findLocal finds the accesses that are local.
func (a *analysis) findLocal() {
	g := &flows{a: a, nodes: map[any]*flow{}, handover: a.findHandovers()}
	for _, f := range a.functions {
		g.function(f)
	}
	g.checkHandovers()
	g.solve()
	for _, f := range a.functions {
		f.keepsTo = map[ssa.Instruction]bool{}
		for _, x := range f.accesses {
			of := x.base
			if x.holds != nil {
				of = x.holds
			}
			x.local = of != nil && !x.atomic && g.isLocal(of)
			if call, ok := x.ins.(*ssa.Call); ok && x.local && isAppend(call) && !g.isLocal(call) {
				continue
			}
			if x.write && x.local {
				f.keepsTo[x.ins] = true
			}
		}
	}
}

// solve passes the facts on.
func (g *flows) solve() {
	for len(g.work) > 0 {
		n := g.work[len(g.work)-1]
		g.work = g.work[:len(g.work)-1]
		if n.shared {
			for _, to := range n.to {
				g.share(to)
			}
			for _, then := range n.whenShared {
				then()
			}
			n.whenShared = nil
		}
		if n.known {
			if n.made {
				g.share(n)
			}
			for _, from := range n.from {
				g.know(from)
			}
			for _, then := range n.whenKnown {
				then()
			}
			n.whenKnown = nil
		}
	}
}

// isLocal reports whether a pointer, slice or map is one to local objects only.
func (g *flows) isLocal(v ssa.Value) bool {
	if generic(v.Type()) {
		return false
	}
	n := g.nodes[v]
	return n != nil && !n.shared
}

func (g *flows) share(n *flow) {
	if n != nil && !n.shared {
		n.shared = true
		g.work = append(g.work, n)
	}
}

func (g *flows) know(n *flow) {
	if n != nil && !n.known {
		n.known = true
		g.work = append(g.work, n)
	}
}

func (g *flows) node(key any) *flow {
	n := g.nodes[key]
	if n == nil {
		n = &flow{}
		g.nodes[key] = n
	}
	return n
}

// edge says that what from points to, to may point to.
func (g *flows) edge(from, to *flow) {
	if from == nil || to == nil || from == to {
		return
	}
	from.to, to.from = append(from.to, to), append(to.from, from)
	if from.shared {
		g.share(to)
	}
	if to.known {
		g.know(from)
	}
}

func (n *flow) onShared(g *flows, then func()) {
	if n == nil || n.shared {
		then()
		return
	}
	n.whenShared = append(n.whenShared, then)
}

// leads reports whether values of a type point to objects themselves.
func leads(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Signature, *types.Interface:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	}
	return false
}

// of returns the node of a value, or nil for one that points to nothing.
func (g *flows) of(v ssa.Value) *flow {
	if v == nil {
		return nil
	}
	switch v := v.(type) {
	case *ssa.Const, *ssa.Builtin, *ssa.Function:
		return nil
	case *ssa.Global:
		n := g.node(v)
		g.share(n)
		return n
	case *ssa.Extract:
		if !leads(v.Type()) {
			return nil
		}
		n := g.node(outcome{v.Tuple, v.Index})
		g.nodes[v] = n
		if generic(v.Type()) {
			g.unknown(n)
		}
		return n
	}
	if !leads(v.Type()) {
		return nil
	}
	n := g.node(v)
	if generic(v.Type()) {
		g.unknown(n)
	}
	return n
}

// unknown says that the analysis does not know where the objects of a value come from and where they get.
func (g *flows) unknown(n *flow) {
	g.share(n)
	g.know(n)
}

// parts returns the nodes of the variables in a struct or array of a type, which are the same for all of them.
func (g *flows) parts(t types.Type) (list []*flow) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			field := u.Field(i)
			if leads(field.Type()) {
				list = append(list, g.field(t, i))
			} else {
				list = append(list, g.parts(field.Type())...)
			}
		}
	case *types.Array:
		if leads(u.Elem()) {
			list = append(list, g.slot("element ", u.Elem()))
		} else {
			list = g.parts(u.Elem())
		}
	}
	return list
}

// contents returns the nodes of a variable of a type: its parts, or the one with a name.
func (g *flows) contents(prefix string, t types.Type) []*flow {
	if leads(t) {
		return []*flow{g.slot(prefix, t)}
	}
	return g.parts(t)
}

func (g *flows) field(of types.Type, index int) *flow {
	st := of.Underlying().(*types.Struct)
	field := st.Field(index)
	name := ""
	if n := ssaload.Named(of); n != nil && n.Obj().Pkg() != nil {
		name = packagePath(n.Obj().Pkg()) + "." + n.Obj().Name()
	} else {
		name = typeKey(of.Underlying())
	}
	n := g.node(slot{"field " + name + "." + field.Name()})
	if generic(field.Type()) {
		g.unknown(n)
	}
	return n
}

func (g *flows) slot(prefix string, t types.Type) *flow {
	n := g.node(slot{prefix + typeKey(t)})
	if generic(t) {
		g.unknown(n)
	}
	return n
}

// at returns the nodes of what is at an address.
func (g *flows) at(address ssa.Value) []*flow {
	t := ssaload.Deref(address.Type())
	if !leads(t) {
		return g.parts(t)
	}
	switch at := address.(type) {
	case *ssa.FieldAddr:
		return []*flow{g.field(ssaload.Deref(at.X.Type()), at.Field)}
	case *ssa.IndexAddr:
		return []*flow{g.slot("element ", t)}
	case *ssa.Alloc:
		return []*flow{g.cell(at)}
	case *ssa.FreeVar:
		if alloc, ok := bindingOf(at).(*ssa.Alloc); ok {
			return []*flow{g.cell(alloc)}
		}
	}
	return []*flow{g.slot("pointed ", t)}
}

// cell is the identity of what is in a local variable.
type cellKey struct{ alloc *ssa.Alloc }

func (g *flows) cell(alloc *ssa.Alloc) *flow { return g.node(cellKey{alloc}) }

// addressUsed connects a variable, the address of which is used for more than accesses, with what all pointers to variables
// of its type point to.
func (g *flows) addressUsed(v ssa.Value) {
	switch v.(type) {
	case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Alloc, *ssa.FreeVar:
	default:
		return
	}
	ptr, ok := v.Type().Underlying().(*types.Pointer)
	if !ok || !leads(ptr.Elem()) {
		return
	}
	pointed := g.slot("pointed ", ptr.Elem())
	for _, n := range g.at(v) {
		g.edge(n, pointed)
		g.edge(pointed, n)
	}
}

// function adds a function to the graph.
func (g *flows) function(f *function) {
	for _, param := range f.fn.Params {
		if f.unknownCallers && !g.handover.entries[f] {
			g.shareValue(param)
		} else {
			g.of(param)
		}
	}
	for _, fv := range f.fn.FreeVars {
		g.of(fv)
	}
	for _, b := range f.fn.Blocks {
		for _, ins := range b.Instrs {
			g.uses(ins)
			g.instruction(f, ins)
		}
	}
}

// shareValue says that a value comes from where the analysis does not see it.
func (g *flows) shareValue(v ssa.Value) {
	if leads(v.Type()) {
		g.share(g.of(v))
		return
	}
	g.shareParts(v.Type())
}

func (g *flows) shareParts(t types.Type) {
	if isTypeParameter(t) {
		return
	}
	for _, n := range g.parts(t) {
		g.share(n)
	}
}

func isTypeParameter(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// knowValue says that others get to know what a value leads to.
func (g *flows) knowValue(v ssa.Value) {
	if leads(v.Type()) {
		g.know(g.of(v))
		return
	}
	for _, n := range g.parts(v.Type()) {
		g.know(n)
	}
}

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
			g.received(ins, ins.X.Type(), 0, ins.CommaOk)
		}
	case *ssa.Store:
		g.store(ins.Addr, ins.Val, g.at(ins.Addr))
	case *ssa.Field:
		g.loadedPart(ins, g.fieldNode(ins))
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
			if f.unknownCallers {
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

func (g *flows) fieldNode(ins *ssa.Field) *flow {
	if leads(ins.Type()) {
		return g.field(ins.X.Type(), ins.Field)
	}
	return nil
}

func (g *flows) loadedPart(v ssa.Value, from *flow) {
	if from != nil {
		g.edge(from, g.of(v))
	}
}

func (g *flows) shareOutcome(of any, index int, t types.Type) {
	if leads(t) {
		g.share(g.node(outcome{of, index}))
		return
	}
	g.shareParts(t)
}

func (g *flows) received(ins *ssa.UnOp, t types.Type, index int, commaOk bool) {
	ch, ok := t.Underlying().(*types.Chan)
	switch {
	case !ok:
		g.shareValue(ins)
	case commaOk:
		g.shareOutcome(ins, index, ch.Elem())
	default:
		g.shareValue(ins)
	}
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
	if silent(callee) && !started {
		for _, arg := range args {
			g.knowStored(callee, arg)
		}
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

// knowStored says that others get to know what a function of package sync/atomic may store.
func (g *flows) knowStored(callee *ssa.Function, arg ssa.Value) {
	if ssaload.IsAtomic(callee) && arg != callee.Params[0] {
		if _, pointer := arg.Type().Underlying().(*types.Pointer); !pointer || isUnsafe(arg.Type()) {
			g.knowValue(arg)
		}
	}
}

// sorting has the functions of package sort that call methods of what they are given.
var sorting = map[string]bool{"Sort": true, "Stable": true, "IsSorted": true, "Reverse": true}

// silent reports whether a function of another package keeps nothing that it is given, and passes it to nobody. It may
// return it, or parts of it.
func silent(callee *ssa.Function) bool {
	if callee == nil {
		return false
	}
	obj, ok := callee.Object().(*types.Func)
	if !ok || obj.Pkg() == nil {
		return false
	}
	name, pkg := obj.Name(), obj.Pkg().Path()
	method := obj.Signature().Recv() != nil
	switch pkg {
	case "sync":
		if !method {
			return false
		}
		switch obj.FullName() {
		case "(*sync.Mutex).Lock", "(*sync.Mutex).Unlock", "(*sync.Mutex).TryLock",
			"(*sync.RWMutex).Lock", "(*sync.RWMutex).Unlock", "(*sync.RWMutex).RLock", "(*sync.RWMutex).RUnlock", "(*sync.RWMutex).TryLock", "(*sync.RWMutex).TryRLock",
			"(*sync.WaitGroup).Add", "(*sync.WaitGroup).Done", "(*sync.WaitGroup).Wait", "(*sync.Cond).Wait", "(*sync.Cond).Signal", "(*sync.Cond).Broadcast", "(*sync.Once).Do":
			return true
		}
	case "math", "math/bits", "math/cmplx", "unicode", "unicode/utf8", "unicode/utf16", "strconv", "cmp":
		return true
	case "sort":
		return !method && !sorting[name]
	case "strings":
		return method && fmt.Sprint(ssaload.Named(ssaload.Deref(obj.Signature().Recv().Type()))) == "strings.Builder" || !method && name != "NewReader" && name != "NewReplacer"
	case "time":
		return method && fmt.Sprint(ssaload.Named(ssaload.Deref(obj.Signature().Recv().Type()))) == "time.Time"
	}
	return false
}
