package patch

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// judge returns why a patched program may do what the program before did not: it may deadlock, or hold a lock while it waits.
// It also returns a reason if an access still lacks the lock. The patched source is analyzed like any other: judge knows nothing
// of how the locks were placed.
func (m *maker) judge(before, after *program, r *repair) *refusal {
	at := r.t.first().ident.Pos()
	reverse := after.reversible()
	for pair := range before.reversible() {
		delete(reverse, pair)
	}
	pairs := slices.SortedFunc(maps.Keys(reverse), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	if len(pairs) > 0 {
		one, other := pairs[0][0], pairs[0][1]
		if one == other {
			return &refusal{at, "a goroutine could hold " + one + " of one object and wait for that of another one, or of the same: a deadlock"}
		}
		return &refusal{at, "a goroutine could hold " + one + " and wait for " + other + ", and another one the other way around: a deadlock"}
	}
	was, is := before.heldWhileWaiting(), after.heldWhileWaiting()
	lock := r.g.label(r)
	for _, name := range slices.Sorted(maps.Keys(is)) {
		place := after.place(is[name])
		switch {
		case was[name] == nil:
			return &refusal{at, name + " would be held at " + place + " while its goroutine waits for another one"}
		case name == lock && !r.atomic:
			return &refusal{at, name + " is held at " + place + " while its goroutine waits for another one"}
		}
		if order := [2]string{lock, name}; after.orders()[order] && !before.orders()[order] {
			return &refusal{at, lock + " would be held while " + name + " is taken, which is held at " + place + " while its goroutine waits for another one"}
		}
	}
	return m.lacks(after, r)
}

// label returns the name of a lock that does not depend on lines.
func (g *guard) label(r *repair) string {
	if g.existing {
		return r.p.lockName(g.class)
	}
	key := r.t.first().key
	if r.t.isField() && g.absolute.Valid() {
		return r.t.file.Package.PkgPath + "." + g.name
	}
	return withName(key, g.name)
}

// withName returns the key of another variable that is declared beside one.
func withName(key, name string) string {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] == '.' {
			return key[:i+1] + name
		}
	}
	return name
}

// lockName returns the name of a class of locks that does not depend on lines.
func (p *program) lockName(class static.Key) string {
	if name, ok := p.names[class]; ok {
		return name
	}
	name := class.Name
	if v := p.variableOfClass(class); v != nil {
		if t := p.declare(v); t != nil {
			name = t.first().key
		}
	}
	if p.names == nil {
		p.names = map[static.Key]string{}
	}
	p.names[class] = name
	return name
}

// orders returns the pairs of locks the second of which is waited for while the first is held.
func (p *program) orders() map[[2]string]bool {
	if p.ordered == nil {
		p.ordered = map[[2]string]bool{}
		for class, next := range p.locks.Order {
			for other, waits := range next {
				if waits {
					p.ordered[[2]string{p.lockName(class), p.lockName(other)}] = true
				}
			}
		}
		for pair := range p.onceOrders() {
			p.ordered[pair] = true
		}
	}
	return p.ordered
}

// reversible returns the pairs of locks each of which may be waited for, by way of others too, while the other one is held.
func (p *program) reversible() map[[2]string]bool {
	reach := map[string]map[string]bool{}
	for pair := range p.orders() {
		if reach[pair[0]] == nil {
			reach[pair[0]] = map[string]bool{}
		}
		reach[pair[0]][pair[1]] = true
	}
	for again := true; again; {
		again = false
		for _, next := range reach {
			for b := range next {
				for c := range reach[b] {
					if !next[c] {
						next[c], again = true, true
					}
				}
			}
		}
	}
	out := map[[2]string]bool{}
	for a, next := range reach {
		for b := range next {
			if reach[b][a] {
				out[[2]string{a, b}] = true
			}
		}
	}
	return out
}

// onceOrders returns the orders of a sync.Once with locks: who calls Do waits for a call of it that is running, so a Once is
// held while its function runs.
func (p *program) onceOrders() map[[2]string]bool {
	out := map[[2]string]bool{}
	for c := range p.calls {
		if c.Outside == nil || c.Outside.FullName() != "(*sync.Once).Do" {
			continue
		}
		sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr)
		if !ok {
			continue
		}
		v := static.Variable(c.In.Info(), sel.X)
		if v == nil {
			continue
		}
		once := "once " + p.lockName(p.Key(v))
		if h := p.locks.At(c.Expr); h != nil {
			for class := range h.May {
				out[[2]string{p.lockName(class), once}] = true
			}
		}
		for callee := range p.graph.Reach(c.Targets) {
			for class := range p.locks.Acquires(callee) {
				out[[2]string{once, p.lockName(class)}] = true
			}
		}
	}
	return out
}

// heldWhileWaiting returns the locks that may be held where a goroutine waits for another one for certain, with such a place. The
// lock of a condition variable is not held there.
func (p *program) heldWhileWaiting() map[string]ast.Node {
	if p.stalled != nil {
		return p.stalled
	}
	p.stalled = map[string]ast.Node{}
	isWait := func(info *types.Info, n ast.Node) *ast.SelectorExpr {
		call, ok := n.(*ast.CallExpr)
		if !ok || !static.ReleasesWhileWaiting(static.Callee(info, call)) {
			return nil
		}
		sel, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		return sel
	}
	for class, at := range p.locks.HeldWhere(func(info *types.Info, n ast.Node) bool {
		return isWait(info, n) == nil && p.waits.Certainly(info, n)
	}) {
		p.stalled[p.lockName(class)] = at
	}
	conds := p.CondLocks()
	for c := range p.calls {
		sel := isWait(c.In.Info(), c.Expr)
		h := p.locks.At(c.Expr)
		if sel == nil || h == nil {
			continue
		}
		var own static.Key
		if v := static.Variable(c.In.Info(), sel.X); v != nil {
			own = conds[p.Key(v)]
		}
		for class := range h.May {
			if class != own {
				p.stalled[p.lockName(class)] = c.Expr
			}
		}
	}
	return p.stalled
}

// lacks returns a reason if an access in the patched program lacks the lock that it is to hold.
func (m *maker) lacks(after *program, r *repair) *refusal {
	if r.accessors || r.atomic {
		return nil
	}
	t := r.t
	for _, v := range t.variables {
		now := after.byKey(v.key)
		if now == nil {
			return &refusal{v.ident.Pos(), "the variable is not found in the patched source"}
		}
		uses := after.uses(now)
		ordering := after.newOrdering(after.starts(), uses)
		name := r.g.label(r)
		for _, u := range uses {
			if u.fn != nil && !after.protected(u, now, ordering, name, 0) {
				return &refusal{v.ident.Pos(), "the access at " + after.place(u.expr) + " would still lack the lock"}
			}
		}
	}
	return nil
}

// protected reports whether no other goroutine that holds the lock of a name can come to a use: its goroutine holds the lock there, or
// is alone. Each of the calls that lead to it may have a reason of its own: a test reads alone what other callers read under the lock.
func (p *program) protected(u *use, t *target, o *ordering, name string, depth int) bool {
	h := p.locks.At(u.expr)
	if h == nil || o.alone(u, t) {
		return true
	}
	for l, exclusive := range h.Must {
		if p.lockName(l.Class) == name && (exclusive || !u.write) {
			return true
		}
	}
	if depth == maxLift || !p.callersKnown(u.fn) {
		return false
	}
	for class := range p.locks.Releases(u.fn) {
		if p.lockName(class) == name {
			return false
		}
	}
	for c := range p.calls {
		if c.Only() != u.fn && !slices.Contains(p.graph.May(c.Targets), u.fn) {
			continue
		}
		if call, ok := p.callUse(c, u); !ok || !p.protected(call, t, o, name, depth+1) {
			return false
		}
	}
	return true
}
