package static

import (
	"go/ast"
	"go/types"
	"maps"

	"golang.org/x/tools/go/cfg"
)

// A LockName is how a function names a lock of the program.
type LockName struct {
	Path  Path
	Class Key // the field or variable that has the lock: the locks of all objects have one class
}

// A LockCall is an operation on a lock.
type LockCall struct {
	LockOp
	LockName
	Expr     *ast.CallExpr
	Variable *types.Var // that has the lock, or a pointer to it, or elements that are locks; nil if there is none
	Abstract bool       // it is the call of a method of an interface
}

// unnamed is the class of all locks that no field or variable has.
var unnamed = Key{Name: "?"}

// LockCall returns the operation on a lock that a call is, or nil.
func (p *Program) LockCall(info *types.Info, expr *ast.CallExpr) *LockCall {
	fn := Callee(info, expr)
	op := &LockCall{LockOp: LockOpOf(fn), Expr: expr, LockName: LockName{Class: unnamed}}
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	if !ok || op.LockOp == NoLockOp {
		return nil
	}
	op.Abstract = throughInterface(fn)
	op.Path = p.PathOf(info, sel.X)
	e := ast.Unparen(sel.X)
	if addr, ok := e.(*ast.UnaryExpr); ok {
		e = addr.X
	}
	op.Variable = Variable(info, e)
	if selection := info.Selections[sel]; selection != nil {
		op.Path = op.Path.Through(selection)
		if fields := Embedded(selection); len(fields) > 0 {
			op.Variable = fields[len(fields)-1]
		}
	}
	if op.Variable != nil {
		op.Class = p.Key(op.Variable)
	}
	return op
}

// Held is what is known of locks at a point of a function.
type Held struct {
	Must map[LockName]bool // held on all paths to it; true: exclusively
	May  map[Key]bool      // the classes of locks that may be held
}

// Locks says which locks are held where, over all functions of a program.
//
// A lock counts as held on all paths if it is, as far as the same function, or all callers, show. It counts as possibly held
// if any call of the function may hold it. What a function acquires or releases for its callers is followed, and so are
// deferred calls, each as if it was deferred on all paths.
type Locks struct {
	g      *CallGraph
	graphs []*cfg.CFG // by function
	defers [][]*Call  // by function, the latest first
	ops    map[*Call]*LockCall

	// By node: the classes of locks that are acquired, that are released, and that are released without being acquired,
	// each also by calls; and those that may be held after it, and those that are released on all paths.
	acquires, releases, drops, leaves, frees []map[Key]bool

	entries []*Held // by node; nil: no call is known yet
	changed []bool  // by function: the entry has changed since the function was followed
	before  map[ast.Node]lockState

	// Order has the classes that may be acquired while one is held; true: by an operation that waits.
	Order map[Key]map[Key]bool
	// Panics has the classes that may be held, apart from those of callers, where a function panics.
	Panics map[Key]bool
}

// NewLocks computes which locks are held in a program.
func NewLocks(g *CallGraph) *Locks {
	n := g.Len()
	l := &Locks{
		g: g, acquires: make([]map[Key]bool, n), releases: make([]map[Key]bool, n), drops: make([]map[Key]bool, n),
		leaves: make([]map[Key]bool, n), frees: make([]map[Key]bool, n), entries: make([]*Held, n),
		before: map[ast.Node]lockState{}, ops: map[*Call]*LockCall{}, Order: map[Key]map[Key]bool{}, Panics: map[Key]bool{},
	}
	for _, fn := range g.Program.Functions {
		l.graphs = append(l.graphs, cfg.New(fn.Body, func(call *ast.CallExpr) bool { return MayReturn(fn.Info(), call) }))
		l.changed = append(l.changed, false)
		var defers []*Call
		for _, c := range g.Calls(fn) {
			if c.Deferred {
				defers = append([]*Call{c}, defers...)
			}
			if op := g.Program.LockCall(fn.Info(), c.Expr); op != nil {
				l.ops[c] = op
			}
		}
		l.defers = append(l.defers, defers)
	}
	l.summarize()
	l.findLeft()
	l.findEntries()
	return l
}

// At returns what is held before an expression, a range statement, or a select statement; nil if control does not reach it.
func (l *Locks) At(n ast.Node) *Held {
	s, ok := l.before[n]
	if !ok {
		return nil
	}
	h := &Held{Must: s.must, May: maps.Clone(s.own)}
	if fn := l.g.Program.Around(n); fn != nil {
		addAll(&h.May, l.entries[fn.Number].May)
	}
	return h
}

// Entry returns what is held whenever a function is called; nil if nothing calls it.
func (l *Locks) Entry(fn *Function) *Held { return l.entries[fn.Number] }

// Acquires returns the classes of locks that a function may acquire, itself or in calls.
func (l *Locks) Acquires(fn *Function) map[Key]bool { return l.acquires[fn.Number] }

// Releases returns the classes of locks that a function may release, itself or in calls.
func (l *Locks) Releases(fn *Function) map[Key]bool { return l.releases[fn.Number] }

// LeftByGroups returns the classes of locks that may be held after a call of a function value or of a method of an interface,
// and were not before it.
func (l *Locks) LeftByGroups() map[Key]bool {
	out := map[Key]bool{}
	for i := range l.g.Groups() {
		addAll(&out, l.leaves[len(l.graphs)+i])
	}
	return out
}

// CallersKnown reports whether a function is only called by name, or where it stands, and in this program.
func (l *Locks) CallersKnown(fn *Function) bool {
	p := l.g.Program
	decl, ok := fn.Node.(*ast.FuncDecl)
	if !ok {
		if l.g.InPlace(fn) != nil || l.g.named[fn] {
			return true
		}
		call, called := p.Parent(fn.Node).(*ast.CallExpr)
		if !called || call.Fun != fn.Node {
			return false
		}
		c := l.g.Call(call)
		return c != nil && !c.Started && !c.Deferred
	}
	if decl.Name.Name == "main" || decl.Name.Name == "init" || l.g.IsValue(fn) || decl.Name.IsExported() && fn.Package.Name != "main" {
		return false
	}
	return decl.Recv == nil || !l.g.invoked[decl.Name.Name]
}

// summarize finds what functions acquire and release, themselves and by calls.
func (l *Locks) summarize() {
	for i, fn := range l.g.Program.Functions {
		l.acquires[i], l.releases[i] = map[Key]bool{}, map[Key]bool{}
		for _, c := range l.g.Calls(fn) {
			op := l.ops[c]
			switch {
			case c.Started || op == nil:
			case op.Releases():
				l.releases[i][op.Class] = true
			default:
				l.acquires[i][op.Class] = true
			}
		}
	}
	Upwards(l.g, l.acquires)
	Upwards(l.g, l.releases)
	for node := range l.drops {
		for _, member := range l.g.Members(node) {
			for class := range l.releases[member] {
				if !l.acquires[member][class] {
					addAll(&l.drops[node], map[Key]bool{class: true})
				}
			}
		}
	}
}

// findLeft finds the locks that are held after functions, and those that these release on all paths. It begins with what is
// called: what a function is thought to leave locked stays so.
func (l *Locks) findLeft() {
	queued := make([]bool, l.g.Len())
	var work []int
	push := func(node int) {
		if !queued[node] {
			queued[node], work = true, append(work, node)
		}
	}
	for _, node := range l.g.postorder() {
		if len(l.acquires[node])+len(l.releases[node]) > 0 {
			push(node)
		}
	}
	kept := make([]map[Key]bool, l.g.Len()) // what was once thought to be released, and is not
	for len(work) > 0 {
		node := work[0]
		work = work[1:]
		queued[node] = false
		changed := false
		for _, member := range l.g.Members(node) {
			if member != node {
				changed = addAll(&l.leaves[node], l.leaves[member]) || changed
				continue
			}
			end := l.flow(l.g.Program.Functions[node], lockState{}, func(ast.Node, lockState) {})
			changed = addAll(&l.leaves[node], end.own) || changed
			for class := range l.frees[node] {
				if !end.freed[class] {
					addAll(&kept[node], map[Key]bool{class: true})
				}
			}
			freed := without(end.freed, func(class Key) bool { return kept[node][class] })
			changed = changed || !maps.Equal(freed, l.frees[node])
			l.frees[node] = freed
		}
		if changed {
			for _, caller := range l.g.Callers(node) {
				push(caller)
			}
		}
	}
}

// findEntries finds what is held when functions are called.
func (l *Locks) findEntries() {
	functions := l.g.Program.Functions
	called := make([]bool, l.g.Len())
	for _, fn := range functions {
		if !l.CallersKnown(fn) {
			l.enter(fn.Number, &Held{})
		}
		for _, c := range l.g.Calls(fn) {
			for _, target := range c.Targets {
				called[target] = true
			}
		}
	}
	l.solve()
	for _, onlyRoots := range []bool{true, false} { // what nothing calls, as far as the source shows, runs too
		for i := range functions {
			if l.entries[i] == nil && !(onlyRoots && called[i]) {
				l.enter(i, &Held{})
			}
		}
		l.solve()
	}
	l.passDown()
}

// solve follows functions until no entry changes.
func (l *Locks) solve() {
	for again := true; again; {
		again = false
		for i, fn := range l.g.Program.Functions {
			if l.changed[i] {
				l.changed[i], again = false, true
				l.follow(fn)
			}
		}
	}
}

// follow notes what is held in a function, and passes it on to the functions that it calls.
func (l *Locks) follow(fn *Function) {
	entry := l.entries[fn.Number]
	here := map[ast.Node]lockState{}
	l.flow(fn, lockState{must: entry.Must}, func(n ast.Node, s lockState) {
		if old, ok := here[n]; ok { // a deferred call, at several ends
			s, _ = old.join(s)
		}
		here[n] = s
		if call, ok := n.(*ast.CallExpr); ok {
			c := l.g.Call(call)
			if op := l.ops[c]; op != nil {
				l.ordered(op, s.own)
			}
			if l.enters(c) {
				l.pass(c, s)
			}
		}
	})
	maps.Copy(l.before, here)
}

// enters reports whether the functions that a call may call are followed: an operation on a lock is one step, unless any type
// may have its method.
func (l *Locks) enters(c *Call) bool { return l.ops[c] == nil || l.ops[c].Abstract }

// passDown passes what callers may hold on to what is called, and notes what is acquired while they hold it.
func (l *Locks) passDown() {
	may := make([]map[Key]bool, l.g.Len())
	next := make([][]int, l.g.Len())
	for node, entry := range l.entries {
		if entry != nil {
			may[node] = entry.May
		}
		if node >= len(l.graphs) {
			next[node] = l.g.Members(node)
			continue
		}
		for _, c := range l.g.Calls(l.g.Program.Functions[node]) {
			if _, reached := l.before[c.Expr]; reached && !c.Started && l.enters(c) {
				next[node] = append(next[node], c.Targets...)
			}
		}
	}
	spread(may, func(node int) []int { return next[node] })
	for node, entry := range l.entries {
		if entry == nil {
			continue
		}
		entry.May = may[node]
		if node >= len(l.graphs) {
			continue
		}
		for _, c := range l.g.Calls(l.g.Program.Functions[node]) {
			if _, reached := l.before[c.Expr]; reached && l.ops[c] != nil {
				l.ordered(l.ops[c], entry.May)
			}
		}
	}
}

// ordered notes that a lock may be acquired while others are held.
func (l *Locks) ordered(op *LockCall, held map[Key]bool) {
	if op.Releases() {
		return
	}
	for class := range held {
		if l.Order[class] == nil {
			l.Order[class] = map[Key]bool{}
		}
		l.Order[class][op.Class] = l.Order[class][op.Class] || !op.Tries()
	}
}

// pass passes what is held at a call on to what it calls.
func (l *Locks) pass(c *Call, s lockState) {
	for _, target := range c.Targets {
		inside := &Held{}
		if !c.Started {
			inside.May = s.own
		}
		if l.surely(c, target) && !c.Started && !c.Deferred {
			callee := l.g.Program.Functions[target]
			inside.Must = map[LockName]bool{}
			for at, exclusive := range s.must {
				if there, ok := l.g.Program.Translate(c, callee, at.Path); ok {
					inside.Must[LockName{there, at.Class}] = exclusive
				}
			}
		}
		l.enter(target, inside)
	}
}

// surely reports whether a call calls a target, rather than may do so.
func (l *Locks) surely(c *Call, target int) bool {
	if c.Only() != nil {
		return true
	}
	for _, lit := range c.InPlace {
		if lit.Number == target {
			return true
		}
	}
	return false
}

// enter merges what is held at a call into the entry of what is called.
func (l *Locks) enter(node int, at *Held) {
	changed := l.entries[node] == nil
	if changed {
		l.entries[node] = &Held{maps.Clone(at.Must), maps.Clone(at.May)}
	} else {
		entry := l.entries[node]
		entry.Must, changed = intersect(entry.Must, at.Must)
		addAll(&entry.May, at.May)
	}
	switch {
	case !changed:
	case node < len(l.graphs):
		l.changed[node] = true
	default:
		for _, member := range l.g.Members(node) {
			l.enter(member, &Held{})
		}
	}
}

// HeldWhere returns the classes of locks that may be held at a node for which is is true, with such a node. Nodes are those
// of functions: calls, operations on channels, loops, and select and goto statements.
func (l *Locks) HeldWhere(is func(*types.Info, ast.Node) bool) map[Key]ast.Node {
	out := map[Key]ast.Node{}
	for _, fn := range l.g.Program.Functions {
		Own(fn.Body, func(n ast.Node) {
			if !is(fn.Info(), n) {
				return
			}
			for class := range l.mayHold(fn, n) {
				out[class] = n
			}
		})
	}
	return out
}

// firstIn returns the first node in a part of a function for which is is true, or nil.
func firstIn(root ast.Node, is func(ast.Node) bool) (first ast.Node) {
	Own(root, func(n ast.Node) {
		if first == nil && is(n) {
			first = n
		}
	})
	return first
}

// mayHold returns the classes of locks that may be held at a node of a function.
func (l *Locks) mayHold(fn *Function, n ast.Node) map[Key]bool {
	var held map[Key]bool
	add := func(n ast.Node) {
		if h := l.At(n); h != nil {
			addAll(&held, h.May)
		}
	}
	switch n := n.(type) {
	case *ast.SendStmt:
		add(n.Chan)
	case *ast.SelectStmt:
		if len(n.Body.List) == 0 { // control-flow graphs do not have it
			addAll(&held, l.acquires[fn.Number])
			if entry := l.entries[fn.Number]; entry != nil {
				addAll(&held, entry.May)
			}
		}
		for _, c := range n.Body.List {
			if comm := c.(*ast.CommClause).Comm; comm != nil {
				Own(comm, add)
			}
		}
	case *ast.ForStmt:
		root := ast.Node(n.Body)
		if n.Cond != nil {
			root = n.Cond
		}
		if first := firstIn(root, func(n ast.Node) bool { return l.At(n) != nil }); first != nil {
			add(first)
		}
	case *ast.BranchStmt: // what is held at a label is not known
		addAll(&held, l.acquires[fn.Number])
		if entry := l.entries[fn.Number]; entry != nil {
			addAll(&held, entry.May)
		}
	default:
		add(n)
	}
	return held
}
