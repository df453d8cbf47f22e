package static

import (
	"go/ast"
	"go/types"
	"slices"
)

// A CallGraph says what each call of a program may call. Its nodes are the functions, by their numbers, and groups of
// functions: those that are used as values, and the methods with one name. A call of a function value, or through an
// interface, has a group as its target, so that the graph has not an edge for each of them. It is not changed after
// NewCallGraph, so that several goroutines may use it.
type CallGraph struct {
	Program *Program

	calls   [][]*Call // by function
	byExpr  map[*ast.CallExpr]*Call
	inPlace map[*Function]*Call
	named   map[*Function]bool // see onlyNamed
	values  map[*Function]bool
	invoked map[string]bool // names of methods that are called through interfaces
	groups  [][]int         // members, by number of the group
	groupOf map[string]int
	callers [][]int

	bindings     bindings
	packages     map[string]bool // of the program, by path
	signaturesOf map[*Function][]string
	callbacksBy  map[given][]int
}

// A Call is a call expression of a function, and what it may call.
type Call struct {
	In       *Function
	Expr     *ast.CallExpr
	Started  bool // by a go statement
	Deferred bool // by a defer statement

	// Callee is the function of the program that it names, or nil. If there is one, nothing else is called.
	Callee *Function
	// Bound is the function of the program that a variable has as its only value, by whose name it is called, or nil. If there is
	// one, nothing else is called.
	Bound *Function
	// Outside is the function of another module or the method of an interface that it names, or nil.
	Outside *types.Func
	// Open is set if it may call functions that the source does not show: it is the call of a method of an interface, or of a
	// function value, unless that is a variable with one value.
	Open bool
	// Targets has the nodes that it may call, in the goroutine that comes to it, in ascending order. Those that it starts
	// in other goroutines by way of Outside are not among them.
	Targets []int
	// InPlace has the literals among the arguments that Outside calls before it returns, and at no other time.
	InPlace []*Function
}

// Only returns the function that the call calls, and no other one: Callee or Bound. It returns nil if that is not known.
func (c *Call) Only() *Function {
	if c.Callee != nil {
		return c.Callee
	}
	return c.Bound
}

// anyValue is the name of the group of all functions that are used as values, and begins the names of those of one type. Other groups
// have the name of a method.
const anyValue = "()"

// anyMethod is the name of the group of all exported methods, which are called by reflection.
const anyMethod = "*"

// CallsBefore are the facts of a function that calls the functions which it is given before it returns, and not after that.
const CallsBefore = StartsNothing | HandsOver

// NewCallGraph returns the call graph of a program.
func NewCallGraph(p *Program) *CallGraph {
	g := &CallGraph{
		Program: p, bindings: bindingsOf(p), calls: make([][]*Call, len(p.Functions)), byExpr: map[*ast.CallExpr]*Call{}, inPlace: map[*Function]*Call{},
		values: map[*Function]bool{}, invoked: map[string]bool{}, groupOf: map[string]int{}, packages: map[string]bool{}, signaturesOf: map[*Function][]string{}, callbacksBy: map[given][]int{},
	}
	for _, pkg := range p.Packages {
		g.packages[pkg.PkgPath] = true
		g.packages[pkg.Types.Path()] = true
	}
	g.named = onlyNamed(p, g.bindings)
	for _, fn := range p.Functions {
		Own(fn.Body, func(n ast.Node) {
			if expr, ok := n.(*ast.CallExpr); ok {
				g.add(fn, expr)
			}
		})
	}
	for _, fn := range p.Values() {
		if g.inPlace[fn] == nil && !g.named[fn] {
			g.values[fn] = true
		}
	}
	for _, calls := range g.calls {
		for _, c := range calls {
			c.Targets = g.targets(c)
		}
	}
	g.findCallers()
	return g
}

// Calls returns the calls in a function, without those of literals in it.
func (g *CallGraph) Calls(fn *Function) []*Call { return g.calls[fn.Number] }

// Call returns the call that an expression in a function is, or nil.
func (g *CallGraph) Call(expr *ast.CallExpr) *Call { return g.byExpr[expr] }

// InPlace returns the call in whose arguments a literal stands that is called before the call returns, and at no other
// time, or nil.
func (g *CallGraph) InPlace(fn *Function) *Call { return g.inPlace[fn] }

// Values returns the functions that a call of a function value may call: those that are used other than by calling them, and
// are not called in place, or by the name of a local variable only.
func (g *CallGraph) Values() (out []*Function) {
	for _, fn := range g.Program.Values() {
		if g.values[fn] {
			out = append(out, fn)
		}
	}
	return out
}

// IsValue reports whether a function is one of Values.
func (g *CallGraph) IsValue(fn *Function) bool { return g.values[fn] }

// Len returns the number of nodes.
func (g *CallGraph) Len() int { return len(g.calls) + len(g.groups) }

// Groups returns the members of all groups. The first one is the node that follows those of the functions.
func (g *CallGraph) Groups() [][]int { return g.groups }

// Members returns the functions that a node stands for.
func (g *CallGraph) Members(node int) []int {
	if node < len(g.calls) {
		return []int{node}
	}
	return g.groups[node-len(g.calls)]
}

// Callers returns the nodes that may call a node, in the same goroutine. A group calls its members.
func (g *CallGraph) Callers(node int) []int { return g.callers[node] }

// May returns the functions that one of some nodes stands for.
func (g *CallGraph) May(nodes []int) (out []*Function) {
	for _, node := range nodes {
		for _, member := range g.Members(node) {
			out = append(out, g.Program.Functions[member])
		}
	}
	return out
}

// Function returns the functions of the program that an expression may be: the one that it names, or any of Values with its type. It
// returns nil if its type is not that of a function.
func (g *CallGraph) Function(info *types.Info, e ast.Expr) []*Function {
	e = ast.Unparen(e)
	if !isFunction(info.TypeOf(e)) {
		return nil
	}
	if lit, ok := e.(*ast.FuncLit); ok {
		return []*Function{g.Program.Of(lit)}
	}
	if fn, outside := g.bound(info, e); fn != nil {
		return []*Function{fn}
	} else if outside != nil {
		return nil
	}
	named := namedFunc(info, e)
	if named == nil {
		return g.valuesOf(info.TypeOf(e))
	}
	if throughInterface(named) {
		return g.Program.Methods(named.Name())
	}
	if fn := g.Program.Declared(named); fn != nil {
		return []*Function{fn}
	}
	return nil
}

// Reach returns the functions that are called from some nodes, in the same goroutine, with those of the nodes themselves.
func (g *CallGraph) Reach(from []int) map[*Function]bool {
	out := map[*Function]bool{}
	seen := make([]bool, g.Len())
	work := slices.Clone(from)
	for len(work) > 0 {
		node := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[node] {
			continue
		}
		seen[node] = true
		if node >= len(g.calls) {
			work = append(work, g.Members(node)...)
			continue
		}
		out[g.Program.Functions[node]] = true
		for _, c := range g.calls[node] {
			if !c.Started {
				work = append(work, c.Targets...)
			}
		}
	}
	return out
}

// ReachFrom is Reach for functions.
func (g *CallGraph) ReachFrom(from []*Function) map[*Function]bool {
	var nodes []int
	for _, fn := range from {
		nodes = append(nodes, fn.Number)
	}
	return g.Reach(nodes)
}

// postorder returns all nodes, what a node calls ahead of it unless they call each other.
func (g *CallGraph) postorder() (out []int) {
	seen := make([]bool, g.Len())
	var visit func(nodes []int)
	visit = func(nodes []int) {
		for _, node := range nodes {
			if seen[node] {
				continue
			}
			seen[node] = true
			if node >= len(g.calls) {
				visit(g.Members(node))
			} else {
				for _, c := range g.calls[node] {
					visit(c.Targets)
				}
			}
			out = append(out, node)
		}
	}
	for node := range seen {
		visit([]int{node})
	}
	return out
}

// Upwards adds what each node has to the nodes that may call it. A nil set stands for an empty one.
func Upwards[K comparable](g *CallGraph, sets []map[K]bool) { spread(sets, g.Callers) }

// spread adds what each node has to the next ones.
func spread[K comparable](sets []map[K]bool, next func(node int) []int) {
	from := map[K][]int{}
	for node, set := range sets {
		for k := range set {
			from[k] = append(from[k], node)
		}
	}
	for k, work := range from {
		for len(work) > 0 {
			at := work[len(work)-1]
			work = work[:len(work)-1]
			for _, node := range next(at) {
				if sets[node][k] {
					continue
				}
				if sets[node] == nil {
					sets[node] = map[K]bool{}
				}
				sets[node][k] = true
				work = append(work, node)
			}
		}
	}
}

// addAll adds the elements of a set to another one, and reports whether any was new.
func addAll[K comparable](to *map[K]bool, from map[K]bool) bool {
	if *to == nil && len(from) > 0 {
		*to = map[K]bool{}
	}
	before := len(*to)
	for k := range from {
		(*to)[k] = true
	}
	return len(*to) > before
}

// add adds a call with all but its targets.
func (g *CallGraph) add(fn *Function, expr *ast.CallExpr) {
	p, info := g.Program, fn.Info()
	c := &Call{In: fn, Expr: expr}
	g.calls[fn.Number] = append(g.calls[fn.Number], c)
	g.byExpr[expr] = c
	switch p.Parent(expr).(type) {
	case *ast.GoStmt:
		c.Started = true
	case *ast.DeferStmt:
		c.Deferred = true
	}
	if lit, ok := ast.Unparen(expr.Fun).(*ast.FuncLit); ok {
		c.Callee = p.Of(lit)
		return
	}
	named := Callee(info, expr)
	if named == nil {
		var fn *Function
		if fn, named = g.bound(info, expr.Fun); fn != nil {
			c.Bound = fn
			return
		}
	}
	switch {
	case named == nil: // unless it is a conversion or a builtin function, the call of a function value
		c.Open = info.Types[expr.Fun].IsValue()
	case throughInterface(named):
		c.Outside, c.Open = named, true
		g.invoked[named.Name()] = true
	case p.Declared(named) != nil:
		c.Callee = p.Declared(named)
	default:
		c.Outside = named
		if c.Started || c.Deferred || !Known(named).Has(CallsBefore) {
			return
		}
		for _, arg := range expr.Args {
			if lit, ok := arg.(*ast.FuncLit); ok {
				c.InPlace = append(c.InPlace, p.Of(lit))
				g.inPlace[p.Of(lit)] = c
			}
		}
	}
}

// targets returns what a call may call.
func (g *CallGraph) targets(c *Call) []int {
	switch {
	case c.Only() != nil:
		return []int{c.Only().Number}
	case c.Outside == nil && c.Open:
		return g.valueGroup(c.In.Info().TypeOf(c.Expr.Fun))
	case c.Open:
		return g.group(c.Outside.Name())
	case c.Outside != nil:
		return g.callbacks(c)
	}
	return nil
}

// group returns the targets of calls of function values, or of methods with a name: the number of the group. A group of one
// is the function itself, and one of none is nothing.
func (g *CallGraph) group(name string) []int {
	return g.groupOfAll(name, func() []*Function {
		switch name {
		case anyValue:
			return g.Values()
		case anyMethod:
			return g.Program.exportedMethods()
		}
		return g.Program.Methods(name)
	})
}

// groupOfAll returns the targets of calls of what a function returns, which is called once for a name.
func (g *CallGraph) groupOfAll(name string, all func() []*Function) []int {
	if n, ok := g.groupOf[name]; ok {
		return []int{n}
	}
	var members []int
	for _, fn := range all() {
		members = append(members, fn.Number)
	}
	if len(members) > 1 {
		n := g.Len()
		g.groupOf[name], g.groups = n, append(g.groups, members)
		return []int{n}
	}
	return members
}

// findCallers finds the nodes that may call each node.
func (g *CallGraph) findCallers() {
	g.callers = make([][]int, g.Len())
	add := func(caller, target int) {
		all := g.callers[target]
		if n := len(all); n == 0 || all[n-1] != caller { // callers come in order
			g.callers[target] = append(all, caller)
		}
	}
	for i, calls := range g.calls {
		for _, c := range calls {
			for _, target := range c.Targets {
				if !c.Started {
					add(i, target)
				}
			}
		}
	}
	for i, members := range g.groups {
		for _, member := range members {
			add(len(g.calls)+i, member)
		}
	}
}

// throughInterface reports whether a method is one of an interface, so that a call of it may call any implementation.
func throughInterface(fn *types.Func) bool {
	return fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type())
}
