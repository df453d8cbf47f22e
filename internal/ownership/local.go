package ownership

import (
	"go/types"

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

// cellKey identifies the node of what is in a local variable.
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
		if f.indirect() && !g.handover.entries[f] {
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
