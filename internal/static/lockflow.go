package static

import (
	"go/ast"
	"maps"

	"golang.org/x/tools/go/cfg"
)

// lockState is what is known of locks at a point of a function, apart from what callers may hold. It is not changed: what
// comes after it is another one, which shares maps with it.
type lockState struct {
	must  map[LockName]bool // held on all paths to it; true: exclusively
	own   map[Key]bool      // classes that may be held, and were acquired in the function or in what it calls
	freed map[Key]bool      // classes that were released on all paths and not acquired since
}

// join returns what is known if either s or other is the case, and whether that is less than s.
func (s lockState) join(other lockState) (lockState, bool) {
	must, lessMust := intersect(s.must, other.must)
	freed, lessFreed := intersect(s.freed, other.freed)
	own, more := s.own, false
	for class := range other.own {
		if !own[class] {
			own, more = with(own, class, true), true
		}
	}
	return lockState{must, own, freed}, lessMust || lessFreed || more
}

// intersect returns the elements that both sets have, true if they are so in both, and whether that is less than a.
func intersect[K comparable](a, b map[K]bool) (out map[K]bool, less bool) {
	out = a
	for k, strong := range a {
		also, ok := b[k]
		if ok && (also || !strong) {
			continue
		}
		if !less {
			out, less = maps.Clone(a), true
		}
		if ok {
			out[k] = false
		} else {
			delete(out, k)
		}
	}
	return out, less
}

// with returns a set with another element.
func with[K comparable](set map[K]bool, k K, value bool) map[K]bool {
	out := maps.Clone(set)
	if out == nil {
		out = map[K]bool{}
	}
	out[k] = value
	return out
}

// without returns a set without some of its elements.
func without[K comparable](set map[K]bool, gone func(K) bool) map[K]bool {
	for k := range set {
		if gone(k) {
			out := maps.Clone(set)
			maps.DeleteFunc(out, func(k K, _ bool) bool { return gone(k) })
			return out
		}
	}
	return set
}

// flow follows the control flow of a function, and calls visit with what is known at its nodes, at deferred calls for each
// end of the function. It returns what is known where the function returns.
func (l *Locks) flow(fn *Function, start lockState, visit func(ast.Node, lockState)) lockState {
	blocks := l.graphs[fn.Number].Blocks
	starts := make([]*lockState, len(blocks))
	starts[0] = &start
	for work := []*cfg.Block{blocks[0]}; len(work) > 0; {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		s := *starts[b.Index]
		for _, n := range b.Nodes {
			s = l.node(fn, n, s, nil)
		}
		for _, succ := range b.Succs {
			if old := starts[succ.Index]; old == nil {
				starts[succ.Index] = &s
			} else if joined, less := old.join(s); less {
				starts[succ.Index] = &joined
			} else {
				continue
			}
			work = append(work, succ)
		}
	}
	var end *lockState
	for i, b := range blocks {
		if starts[i] == nil {
			continue
		}
		s := *starts[i]
		if b.Kind == cfg.KindRangeLoop {
			visit(b.Stmt, s)
		}
		for _, n := range b.Nodes {
			s = l.node(fn, n, s, visit)
		}
		if len(b.Succs) > 0 {
			continue
		}
		for _, c := range l.defers[fn.Number] {
			visit(c.Expr, s)
			s = l.call(c, s)
		}
		switch returns, panics := howEnds(fn, b); {
		case panics:
			addAll(&l.Panics, s.own)
		case !returns:
		case end == nil:
			end = &s
		default:
			*end, _ = end.join(s)
		}
	}
	if end == nil {
		return lockState{}
	}
	return *end
}

// howEnds reports whether a function returns at the end of a block without successors, or panics there itself.
func howEnds(fn *Function, b *cfg.Block) (returns, panics bool) {
	if len(b.Nodes) > 0 {
		if stmt, ok := b.Nodes[len(b.Nodes)-1].(*ast.ExprStmt); ok {
			if call, ok := ast.Unparen(stmt.X).(*ast.CallExpr); ok && !MayReturn(fn.Info(), call) {
				return false, Callee(fn.Info(), call) == nil
			}
		}
	}
	return true, false
}

// node returns what is known after a node of a control-flow graph, and calls visit, unless it is nil, with what is known
// before the expressions in it: for a call, after its operands.
func (l *Locks) node(fn *Function, root ast.Node, s lockState, visit func(ast.Node, lockState)) lockState {
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n != nil {
			stack = append(stack, n)
			if _, call := n.(*ast.CallExpr); !call && visit != nil {
				if _, ok := n.(ast.Expr); ok {
					visit(n, s)
				}
			}
			_, literal := n.(*ast.FuncLit)
			if literal {
				stack = stack[:len(stack)-1]
			}
			return !literal
		}
		n = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				s = l.assigned(fn, left, s)
			}
		case *ast.IncDecStmt:
			s = l.assigned(fn, n.X, s)
		case *ast.CallExpr:
			c := l.g.Call(n)
			if c.Deferred {
				return true // see flow
			}
			if visit != nil {
				visit(n, s)
			}
			s = l.call(c, s)
		}
		return true
	})
	return s
}

// assigned forgets the locks that a variable leads to when it is assigned.
func (l *Locks) assigned(fn *Function, left ast.Expr, s lockState) lockState {
	if to := l.g.Program.PathOf(fn.Info(), left); to.Valid() {
		s.must = without(s.must, func(at LockName) bool { return at.Path.DependsOn(to) })
	}
	return s
}

// call returns what is known after a call.
func (l *Locks) call(c *Call, s lockState) lockState {
	if c.Started {
		return s
	}
	if op := l.ops[c]; op != nil {
		s = operate(op, s)
	}
	if !l.enters(c) {
		return s
	}
	for _, target := range c.Targets {
		s.must = without(s.must, func(at LockName) bool { return l.drops[target][at.Class] })
		if c.Only() != nil {
			freed := l.frees[target]
			s.own = without(s.own, func(class Key) bool { return freed[class] })
			for class := range freed {
				s.freed = with(s.freed, class, true)
			}
		}
		left := l.leaves[target]
		for class := range left {
			if !s.own[class] {
				s.own = with(s.own, class, true)
			}
		}
		s.freed = without(s.freed, func(class Key) bool { return left[class] })
	}
	return s // (*sync.Cond).Wait, too, has acquired its lock again when it returns
}

// operate returns what is known after an operation on a lock.
func operate(op *LockCall, s lockState) lockState {
	if op.Releases() {
		s.must = without(s.must, func(at LockName) bool { return at == op.LockName })
		for at := range s.must {
			if at.Class == op.Class { // of another object
				return s
			}
		}
		if !s.own[op.Class] { // a lock of a caller
			s.freed = with(s.freed, op.Class, true)
		}
		s.own = without(s.own, func(class Key) bool { return class == op.Class })
		return s
	}
	s.own = with(s.own, op.Class, true)
	s.freed = without(s.freed, func(class Key) bool { return class == op.Class })
	if !op.Tries() && op.Path.Valid() {
		s.must = with(s.must, op.LockName, !op.Shared())
	}
	return s
}
