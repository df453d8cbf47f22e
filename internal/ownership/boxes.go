package ownership

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A type is tracked if it is known where all values of it in interfaces get: from the conversions through parameters,
// results and local values to calls of their methods, and nowhere else. Then the calls of these methods through interfaces are
// known as the direct ones are, and no code that the analysis does not see accesses the values by reflection.
//
// This is a flow of types through a graph whose nodes are the interface values of functions. A type that gets to where the graph
// ends, such as memory, a channel, or code of other packages, is not tracked, and all of its methods may be called from anywhere.
//
// A function may have callers that are not known. These have no values of tracked types, so a type is in a parameter only
// if a known call has passed it. It is then said to be passed: whoever called the function has it already.
//
// The cost is linear in the size of the program times the number of tracked types in one value, times the number
// of rounds: a type that stops being tracked makes the callers of its methods unknown.
type boxes struct {
	a     *analysis
	types map[string]*boxType
	nodes map[any]*boxNode
	work  []*boxNode
}

// boxType is a type of which there are values in interfaces.
type boxType struct {
	typ  types.Type
	open bool // it is not tracked

	methods map[string]*types.Selection // by name
}

// boxNode is an interface value.
type boxNode struct {
	to      []boxEdge
	holds   map[*boxType]passing
	unknown bool // it may have values of types that are not tracked
	outside bool // it may, but only if it is not known who has called the function
	lost    bool // its values get where they are not followed
	uses    []func(t *boxType, how passing)

	whenUnknown []*reaction
}

// reaction is what follows from a value that may have values of types that are not tracked.
type reaction struct {
	then             func(outside bool)
	unknown, outside bool // it was called for that
}

// call calls the reaction for a value, once for each reason. The reaction may lead back to the value.
func (r *reaction) call(n *boxNode) {
	switch {
	case n.unknown && !r.unknown:
		r.unknown = true
		r.then(false)
	case n.outside && !n.unknown && !r.outside:
		r.outside = true
		r.then(true)
	}
}

// passing says how a type gets to a value.
type passing uint8

const (
	passed passing = 1 << iota // from a caller
	made                       // in some other way
)

type boxEdge struct {
	to *boxNode
	as passing // what becomes of it; 0: the same
}

// findBoxes finds the types that are tracked.
func (a *analysis) findBoxes() {
	b := &boxes{a: a, types: map[string]*boxType{}}
	a.boxes = b
	for _, f := range a.functions {
		for _, block := range f.fn.Blocks {
			for _, ins := range block.Instrs {
				if box, ok := ins.(*ssa.MakeInterface); ok {
					b.typeOf(box.X.Type())
				}
			}
		}
	}
	for _, in := range a.packages {
		for _, instance := range in.pkg.TypesInfo.Instances {
			for t := range instance.TypeArgs.Types() {
				a.callable(t) // generic code calls its methods
				a.mayReflect(t)
			}
		}
	}
	for {
		b.nodes, b.work = map[any]*boxNode{}, nil
		before := b.opened()
		for _, f := range a.functions {
			b.function(f)
		}
		b.solve()
		for _, f := range a.functions {
			b.reflected(f)
		}
		b.openReflected()
		if b.opened() == before {
			return
		}
		for _, f := range a.functions {
			f.unknownCallers = f.callersUnknown()
		}
	}
}

// opened counts what is not tracked.
func (b *boxes) opened() (n int) {
	for _, t := range b.types {
		if t.open {
			n++
		}
	}
	return n + len(b.a.open) + len(b.a.reflected)
}

// typeOf returns a type of which there are values in interfaces.
func (b *boxes) typeOf(t types.Type) *boxType {
	key := typeKey(t)
	of := b.types[key]
	if of == nil {
		of = &boxType{typ: t, methods: map[string]*types.Selection{}}
		b.types[key] = of
		set := types.NewMethodSet(t)
		for i := range set.Len() {
			of.methods[set.At(i).Obj().Name()] = set.At(i)
		}
		if !b.a.trackable(t) {
			b.open(of)
		}
	}
	return of
}

// trackable reports whether a type is one that a package under analysis declares, or a pointer to one.
func (a *analysis) trackable(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if pointer, isPointer := types.Unalias(t).(*types.Pointer); isPointer {
		n, ok = types.Unalias(pointer.Elem()).(*types.Named)
	}
	if !ok || n.TypeArgs().Len() > 0 || n.TypeParams().Len() > 0 || n.Obj().Pkg() == nil || !a.declares(n.Obj().Pkg()) {
		return false
	}
	_, named := typeName(n)
	return named && !types.IsInterface(n)
}

// open says that a type is not tracked.
func (b *boxes) open(t *boxType) {
	if !t.open {
		t.open = true
		b.a.openMethods(t.typ)
	}
}

// openMethods says that the methods of a type may be called from anywhere.
func (a *analysis) openMethods(t types.Type) {
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		if fn, ok := set.At(i).Obj().(*types.Func); ok {
			a.open[fn.Origin().FullName()] = true
		}
	}
}

// tracks reports whether a type is tracked.
func (b *boxes) tracks(t types.Type) bool {
	of := b.types[typeKey(t)]
	return of != nil && !of.open
}

// solve passes the types on.
func (b *boxes) solve() {
	for len(b.work) > 0 {
		n := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		for t, how := range n.holds {
			if t.open {
				n.unknown = true
			}
			for _, e := range n.to {
				b.add(e.to, t, e.of(how))
			}
			if n.lost {
				b.open(t)
			}
			for _, use := range n.uses {
				use(t, how)
			}
		}
		if n.unknown || n.outside {
			for _, e := range n.to {
				b.addUnknown(e.to)
			}
			for _, r := range n.whenUnknown {
				r.call(n)
			}
		}
	}
}

func (e boxEdge) of(how passing) passing {
	if e.as != 0 {
		return e.as
	}
	return how
}

func (b *boxes) add(n *boxNode, t *boxType, how passing) {
	if t.open {
		b.addUnknown(n)
		return
	}
	if old := n.holds[t]; old|how != old {
		if n.holds == nil {
			n.holds = map[*boxType]passing{}
		}
		n.holds[t] = old | how
		b.work = append(b.work, n)
	}
}

func (b *boxes) addUnknown(n *boxNode) {
	if !n.unknown {
		n.unknown = true
		b.work = append(b.work, n)
	}
}

func (b *boxes) edge(from, to *boxNode, as passing) {
	if from == nil || to == nil {
		return
	}
	from.to = append(from.to, boxEdge{to, as})
	b.work = append(b.work, from)
}

// use calls a function for each type that gets to a value.
func (b *boxes) use(n *boxNode, then func(t *boxType, how passing)) {
	if n != nil {
		n.uses = append(n.uses, then)
		b.work = append(b.work, n)
	}
}

// of returns the node of an interface value, or nil for other values.
func (b *boxes) of(v ssa.Value) *boxNode {
	if v == nil || !isInterface(v.Type()) {
		return nil
	}
	if _, isConst := v.(*ssa.Const); isConst {
		return nil
	}
	if extract, ok := v.(*ssa.Extract); ok {
		return b.node(outcome{extract.Tuple, extract.Index})
	}
	return b.node(v)
}

func (b *boxes) node(key any) *boxNode {
	n := b.nodes[key]
	if n == nil {
		n = &boxNode{}
		b.nodes[key] = n
	}
	return n
}

func isInterface(t types.Type) bool { return types.IsInterface(t) && !isTypeParameter(t) }

// lose says that a value of an interface gets where it is not followed.
func (b *boxes) lose(v ssa.Value) {
	if v != nil {
		b.loseNode(b.of(v))
	}
}

// loseNode is lose for a node, if there is one.
func (b *boxes) loseNode(n *boxNode) {
	if n != nil && !n.lost {
		n.lost = true
		b.work = append(b.work, n)
	}
}

// inGeneric reports whether a function has type parameters, or is a literal in such a function.
func inGeneric(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if s := fn.Signature; s.TypeParams().Len() > 0 || s.RecvTypeParams().Len() > 0 {
			return true
		}
	}
	return false
}

// called returns the methods that a call through an interface may call, for each tracked type. Complete says that there
// are no others.
func (b *boxes) called(f *function, ins *ssa.Call) (methods map[*boxType]*function, complete bool) {
	n := b.nodes[ins.Call.Value]
	if n == nil {
		if extract, ok := ins.Call.Value.(*ssa.Extract); ok {
			n = b.nodes[outcome{extract.Tuple, extract.Index}]
		}
	}
	if n == nil || inGeneric(f.fn) {
		return nil, false
	}
	methods = map[*boxType]*function{}
	for t := range n.holds {
		if t.open {
			return nil, false
		}
		methods[t] = b.method(t, ins.Call.Method.Name())
	}
	return methods, !n.unknown && (!n.outside || given(f, &ins.Call))
}

// complete reports whether a value of an interface has tracked types only.
func (b *boxes) complete(v ssa.Value) bool {
	n := b.of(v)
	if n == nil || n.unknown || n.outside || inGeneric(v.Parent()) {
		return false
	}
	for t := range n.holds {
		if t.open {
			return false
		}
	}
	return true
}

// may reports whether a value of an interface may be of a tracked type.
func (b *boxes) may(v ssa.Value, t *boxType) bool {
	n := b.of(v)
	if n == nil {
		return isInterface(v.Type()) && v.Parent() == nil
	}
	return n.holds[t] != 0
}
