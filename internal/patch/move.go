package patch

import (
	"go/ast"

	"github.com/heisen-go/heisen/internal/static"
)

// moved returns the region that replaces the critical sections of a function on the lock: from the first access, or the first
// section, to the end of the function.
func (r *repair) moved(fn *static.Function) (*region, *refusal) {
	one := &region{fn: fn, list: fn.Body.List, last: len(fn.Body.List) - 1, form: deferred, exclusive: true}
	first := fn.Body.End()
	for _, u := range r.shared {
		if u.fn != fn {
			continue
		}
		lock := r.g.expression(r.p, u, r.texts.of)
		if one.lock == "" {
			one.lock = lock
		}
		if lock == "" || lock != one.lock {
			return nil, refuse(u.expr, "the check and the act are about different objects")
		}
		one.uses = append(one.uses, u)
		first = min(first, u.expr.Pos())
	}
	for _, c := range r.p.graph.Calls(fn) {
		op := r.p.LockCall(fn.Info(), c.Expr)
		if op == nil || op.Class != r.g.class {
			continue
		}
		switch outer := r.p.Parent(c.Expr).(type) {
		case *ast.ExprStmt:
			if statements(r.p.Parent(outer)) == nil {
				return nil, refuse(c.Expr, "the operation on %s cannot be moved", r.g.class.Name)
			}
		case *ast.DeferStmt:
		default:
			return nil, refuse(c.Expr, "the operation on %s cannot be moved", r.g.class.Name)
		}
		if op.Tries() || op.Path != r.g.on(one.uses[0]) {
			return nil, refuse(c.Expr, "the operation on %s cannot be moved", r.g.class.Name)
		}
		one.moved = append(one.moved, c)
		first = min(first, c.Expr.Pos())
	}
	if len(one.moved) == 0 {
		return nil, refuse(one.uses[0].expr, "%s may or may not be held there", r.g.class.Name)
	}
	for i, s := range one.list {
		if first >= s.End() {
			one.first = i + 1
		}
	}
	for _, s := range one.list[one.first:] {
		if w := r.waitsIn(fn, s); w != nil {
			return nil, refuse(w.At, "line %d decides what is written, and the lock would be held over %s", r.p.position(one.uses[0].expr.Pos()).Line, w.What)
		}
		if hasLabels(s) {
			return nil, refuse(s, "the lock would be held over a statement with a label")
		}
	}
	return one, nil
}

// upgrade notes that a function is to hold a lock for writing that it holds for reading at a write. It reports whether that is
// possible: the function itself has acquired it, and nothing that it calls acquires it meanwhile.
func (r *repair) upgrade(u *use) bool {
	at := r.g.on(u)
	var ops []*static.Call
	for _, c := range r.p.graph.Calls(u.fn) {
		if op := r.p.LockCall(u.fn.Info(), c.Expr); op != nil {
			if op.Path == at && op.Shared() {
				if op.Tries() {
					return false
				}
				ops = append(ops, c)
			}
			continue
		}
		h := r.p.locks.At(c.Expr)
		if h == nil || c.Started {
			continue
		}
		if !h.May[r.g.class] {
			continue
		}
		if w := r.p.waits.In(u.fn, c.Expr); w != nil {
			return false
		}
		for callee := range r.p.graph.Reach(c.Targets) {
			if r.p.locks.Acquires(callee)[r.g.class] {
				return false
			}
		}
	}
	entry := r.p.locks.Entry(u.fn)
	if len(ops) < 2 || entry != nil && entry.May[r.g.class] {
		return false
	}
	for _, c := range ops {
		known := false
		for _, o := range r.upgrades {
			known = known || o == c
		}
		if !known {
			r.upgrades = append(r.upgrades, c)
		}
	}
	return true
}
