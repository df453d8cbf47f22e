package patch

import (
	"go/ast"
	"go/types"
	"maps"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// lock is a lock of the program as a function names it.
type lock struct {
	path  path
	class static.Key // the field or variable that has the lock
}

// held is what is known about locks at a point of a function.
type held struct {
	must map[lock]bool       // held on all paths to it; true: exclusively
	may  map[static.Key]bool // classes that may be held; true: exclusively
}

func (h *held) clone() *held { return &held{maps.Clone(h.must), maps.Clone(h.may)} }

// locking computes which locks are held, over all functions of the program.
//
// A lock of the type sync.Mutex or sync.RWMutex counts as held on all paths if it is, as far as the same
// function, or all callers, show. It counts as possibly held if any call of the function may hold it.
type locking struct {
	p        *program
	entries  map[*function]*held // nil: no call is known yet
	before   map[ast.Node]*held  // at calls and other expressions
	acquires map[*function]map[static.Key]bool
	releases map[*function]map[static.Key]bool
	leaves   map[*function]map[static.Key]bool  // may be held at its end
	order    map[static.Key]map[static.Key]bool // a lock may be acquired while the first one is held
	dynamic  map[*function]bool                 // functions that call a function value
	changed  map[*function]bool                 // functions whose entries have changed since they were followed
	values   *held                              // at calls of function values; the function nil stands for these in the maps above
}

// lockCall is an operation on a lock.
type lockCall struct {
	static.LockOp
	lock lock
}

// lockCallOf returns the operation on a lock that a call is.
func (p *program) lockCallOf(info *types.Info, expr *ast.CallExpr) (lockCall, bool) {
	op := lockCall{LockOp: static.LockOpOf(static.Callee(info, expr))}
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	if !ok || op.LockOp == static.NoLockOp {
		return lockCall{}, false
	}
	op.lock.path = p.pathOf(info, sel.X)
	op.lock.class = p.classOf(info, sel.X)
	if selection := info.Selections[sel]; selection != nil {
		if op.lock.path.valid() {
			op.lock.path = through(op.lock.path, selection)
		}
		if fields := embedded(selection); len(fields) > 0 {
			op.lock.class = p.Key(fields[len(fields)-1])
		}
	}
	return op, true
}

// classOf returns the field or variable that an expression ends in.
func (p *program) classOf(info *types.Info, e ast.Expr) static.Key {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := info.ObjectOf(e).(*types.Var); ok {
			return p.Key(v)
		}
	case *ast.SelectorExpr:
		if v, ok := info.Uses[e.Sel].(*types.Var); ok {
			return p.Key(v)
		}
	case *ast.StarExpr:
		return p.classOf(info, e.X)
	case *ast.UnaryExpr:
		return p.classOf(info, e.X)
	case *ast.IndexExpr:
		return p.classOf(info, e.X)
	}
	return static.Key{Name: "?"}
}

func newLocking(p *program) *locking {
	l := &locking{
		p: p, entries: map[*function]*held{}, before: map[ast.Node]*held{},
		acquires: map[*function]map[static.Key]bool{}, releases: map[*function]map[static.Key]bool{},
		leaves: map[*function]map[static.Key]bool{}, order: map[static.Key]map[static.Key]bool{},
		dynamic: map[*function]bool{}, changed: map[*function]bool{}, values: &held{map[lock]bool{}, map[static.Key]bool{}},
	}
	l.acquires[nil], l.releases[nil], l.leaves[nil] = map[static.Key]bool{}, map[static.Key]bool{}, map[static.Key]bool{}
	for _, fn := range p.functions {
		l.acquires[fn], l.releases[fn], l.leaves[fn] = map[static.Key]bool{}, map[static.Key]bool{}, map[static.Key]bool{}
		if !l.callersKnown(fn) {
			l.changed[fn] = true
			l.entries[fn] = &held{map[lock]bool{}, map[static.Key]bool{}}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range p.functions {
			changed = l.summarize(fn) || changed
		}
		changed = l.summarizeValues() || changed
	}
	l.solve()
	called := map[*function]bool{}
	for _, fn := range p.functions {
		for _, c := range fn.calls {
			for _, callee := range c.callees {
				called[callee] = true
			}
		}
	}
	for _, onlyRoots := range []bool{true, false} { // what nothing calls, as far as the source shows, runs too
		for _, fn := range p.functions {
			if l.entries[fn] == nil && !(onlyRoots && called[fn]) {
				l.changed[fn] = true
				l.entries[fn] = &held{map[lock]bool{}, map[static.Key]bool{}}
			}
		}
		l.solve()
	}
	return l
}

// solve follows all functions until nothing changes.
func (l *locking) solve() {
	for changed := true; changed; {
		changed = false
		for _, fn := range l.p.functions {
			if l.changed[fn] {
				delete(l.changed, fn)
				l.follow(fn)
				changed = true
			}
		}
	}
}

// callersKnown reports whether a function is only called by name and in this module.
func (l *locking) callersKnown(fn *function) bool {
	decl, ok := fn.Node.(*ast.FuncDecl)
	if !ok {
		if l.p.inline(fn) {
			return true
		}
		call, called := l.p.Parent(fn.Node).(*ast.CallExpr)
		if !called || call.Fun != fn.Node {
			return false
		}
		switch l.p.Parent(call).(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return false
		}
		return true
	}
	if decl.Name.Name == "main" || decl.Name.Name == "init" || l.p.taken[fn] || decl.Name.IsExported() && fn.Package.Name != "main" {
		return false
	}
	if decl.Recv != nil { // an interface may have the method
		for _, other := range l.p.functions {
			for _, c := range other.calls {
				if !c.known && c.std != nil && c.std.Name() == decl.Name.Name {
					return false
				}
			}
		}
	}
	return true
}

// summarize adds the classes of locks that a function acquires, releases or leaves held, also by calls. It
// reports whether any were new.
func (l *locking) summarize(fn *function) (changed bool) {
	add := func(to map[static.Key]bool, class static.Key) {
		if !to[class] {
			to[class], changed = true, true
		}
	}
	for _, c := range fn.calls {
		if c.started {
			continue
		}
		if op, ok := l.p.lockCallOf(fn.Info(), c.expr); ok {
			if op.Releases() {
				add(l.releases[fn], op.lock.class)
			} else {
				add(l.acquires[fn], op.lock.class)
			}
			continue
		}
		if !c.known && c.std == nil {
			l.dynamic[fn] = true
			continue
		}
		for _, callee := range l.p.possible(c) {
			for class := range l.acquires[callee] {
				add(l.acquires[fn], class)
			}
			for class := range l.releases[callee] {
				add(l.releases[fn], class)
			}
		}
	}
	for class := range l.acquires[fn] {
		if !l.releases[fn][class] {
			add(l.leaves[fn], class)
		}
	}
	return changed
}

// summarizeValues passes what the functions that are used as values do with locks to those that call any of them. It reports
// whether anything was new.
func (l *locking) summarizeValues() (changed bool) {
	for _, of := range []map[*function]map[static.Key]bool{l.acquires, l.releases, l.leaves} {
		all := of[nil]
		for _, fn := range l.p.values {
			maps.Copy(all, of[fn])
		}
	}
	for fn := range l.dynamic {
		for _, of := range []map[*function]map[static.Key]bool{l.acquires, l.releases} {
			before := len(of[fn])
			maps.Copy(of[fn], of[nil])
			changed = changed || len(of[fn]) > before
		}
	}
	return changed
}

// follow computes what is held in a function, and passes it on to the functions that it calls. It reports
// whether any entry has changed.
func (l *locking) follow(fn *function) (changed bool) {
	entry := l.entries[fn]
	if entry == nil {
		return false
	}
	starts := make([]*held, len(fn.graph.Blocks))
	starts[0] = entry.clone()
	for again := true; again; {
		again = false
		for i, b := range fn.graph.Blocks {
			if starts[i] == nil {
				continue
			}
			h := starts[i].clone()
			for _, n := range b.Nodes {
				changed = l.node(fn, n, h) || changed
			}
			for _, succ := range b.Succs {
				if starts[succ.Index] == nil {
					starts[succ.Index], again = h.clone(), true
				} else if starts[succ.Index].meet(h) {
					again = true
				}
			}
		}
	}
	return changed
}

// meet weakens h to what holds on another path, too. It reports whether h has changed.
func (h *held) meet(other *held) (changed bool) {
	for at, exclusive := range h.must {
		also, ok := other.must[at]
		if !ok {
			delete(h.must, at)
			changed = true
		} else if exclusive && !also {
			h.must[at], changed = false, true
		}
	}
	for class, exclusive := range other.may {
		if known, ok := h.may[class]; !ok || exclusive && !known {
			h.may[class], changed = exclusive, true
		}
	}
	return changed
}

// node changes h by a node of a control-flow graph, and keeps what is held at the expressions in it.
func (l *locking) node(fn *function, n ast.Node, h *held) (changed bool) {
	_, deferred := n.(*ast.DeferStmt)
	now := h.clone()
	static.Own(n, func(inner ast.Node) {
		if e, ok := inner.(ast.Expr); ok {
			l.before[e] = now
		}
		defer func() {
			switch inner.(type) {
			case *ast.AssignStmt, *ast.IncDecStmt, *ast.CallExpr:
				if !maps.Equal(now.must, h.must) || !maps.Equal(now.may, h.may) {
					now = h.clone()
				}
			}
		}()
		switch inner := inner.(type) {
		case *ast.AssignStmt:
			for _, left := range inner.Lhs {
				l.assigned(fn, left, h)
			}
		case *ast.IncDecStmt:
			l.assigned(fn, inner.X, h)
		case *ast.CallExpr:
			if !deferred {
				changed = l.call(fn, inner, h) || changed
			} else if op, ok := l.p.lockCallOf(fn.Info(), inner); !ok || !op.Releases() {
				changed = l.call(fn, inner, h.clone()) || changed
			}
		}
	})
	return changed
}

// assigned forgets the locks that a variable leads to when it is assigned.
func (l *locking) assigned(fn *function, left ast.Expr, h *held) {
	to := l.p.pathOf(fn.Info(), left)
	if !to.valid() {
		return
	}
	for at := range h.must {
		if at.path.hasPrefix(to) || to.fields == "" && strings.Contains(at.path.fields, "["+to.root.Name+strconv.Itoa(to.root.Line)+"]") {
			delete(h.must, at)
		}
	}
}

// call changes h by a call.
func (l *locking) call(fn *function, expr *ast.CallExpr, h *held) (changed bool) {
	if op, ok := l.p.lockCallOf(fn.Info(), expr); ok {
		l.operate(fn, op, h)
		return false
	}
	if c := l.p.byCall[expr]; c != nil {
		if !c.known && c.std == nil {
			return l.callValue(c, h)
		}
		for _, callee := range l.p.possible(c) {
			if c.started {
				changed = l.enter(callee, &held{map[lock]bool{}, map[static.Key]bool{}}) || changed
				continue
			}
			inside := &held{map[lock]bool{}, maps.Clone(h.may)}
			if c.known && !c.later {
				for at, exclusive := range h.must {
					if there, ok := l.p.translate(c, callee, at.path); ok {
						inside.must[lock{there, at.class}] = exclusive
					}
				}
			}
			changed = l.enter(callee, inside) || changed
			for class := range l.leaves[callee] {
				h.may[class] = true
			}
			for at := range h.must {
				if l.releases[callee][at.class] && !l.acquires[callee][at.class] {
					delete(h.must, at)
				}
			}
		}
		if static.ReleasesWhileWaiting(c.std) {
			clear(h.must)
		}
	}
	return changed
}

// callValue changes h by the call of a function value, which may be any of those that are used as values.
func (l *locking) callValue(c *call, h *held) (changed bool) {
	inside := &held{map[lock]bool{}, map[static.Key]bool{}}
	if !c.started {
		inside.may = maps.Clone(h.may)
		for class := range l.leaves[nil] {
			h.may[class] = true
		}
		for at := range h.must {
			if l.releases[nil][at.class] && !l.acquires[nil][at.class] {
				delete(h.must, at)
			}
		}
	}
	if l.values.meet(inside) {
		for _, callee := range l.p.values {
			changed = l.enter(callee, inside) || changed
		}
	}
	return changed
}

// enter merges what is held at a call into the entry of a callee.
func (l *locking) enter(callee *function, at *held) bool {
	if l.entries[callee] == nil {
		l.entries[callee], l.changed[callee] = at.clone(), true
		return true
	}
	changed := l.entries[callee].meet(at)
	l.changed[callee] = l.changed[callee] || changed
	return changed
}

// operate changes h by an operation on a lock, and adds to the lock order.
func (l *locking) operate(fn *function, op lockCall, h *held) {
	if op.Releases() {
		delete(h.must, op.lock)
		_, another := l.entries[fn].may[op.lock.class]
		for at := range h.must {
			another = another || at.class == op.lock.class
		}
		if !another {
			delete(h.may, op.lock.class)
		}
		return
	}
	for class := range h.may {
		if l.order[class] == nil {
			l.order[class] = map[static.Key]bool{}
		}
		l.order[class][op.lock.class] = true
	}
	h.may[op.lock.class] = h.may[op.lock.class] || !op.Shared()
	if !op.Tries() && op.lock.path.valid() {
		h.must[op.lock] = !op.Shared()
	}
}

// at returns what is held at an expression, or nil if control does not reach it.
func (l *locking) at(e ast.Node) *held { return l.before[e] }
