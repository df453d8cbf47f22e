package patch

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// check returns why a region cannot hold the lock: what it calls takes the lock, too, or the lock has no name where the
// region begins.
func (r *repair) check(g *region) *refusal {
	p := r.p
	var nodes []ast.Node
	switch {
	case g.form == ahead && g.init != nil:
		nodes = []ast.Node{g.init}
	case g.form == ahead:
		return r.declared(g) // reads of variables only
	default:
		for _, s := range g.list[g.first : g.last+1] {
			nodes = append(nodes, s)
		}
	}
	if g.form == deferred && g.last != len(g.list)-1 {
		return refuse(g.list[g.last], "control leaves the statements that the lock would be held around")
	}
	if g.form == deferred && g.list[g.first] != nil && !sameList(g.list, g.fn.Body.List) {
		if _, ok := g.list[g.last].(*ast.ReturnStmt); !ok {
			return refuse(g.list[g.last], "control leaves the statements that the lock would be held around")
		}
	}
	var why *refusal
	for _, n := range nodes {
		static.Own(n, func(inner ast.Node) {
			expr, ok := inner.(*ast.CallExpr)
			if !ok || why != nil {
				return
			}
			if op := p.LockCall(g.fn.Info(), expr); op != nil {
				if op.Class == r.g.class {
					why = refuse(expr, "the program takes or gives back %s itself", g.lock)
				}
				return
			}
			for callee := range p.graph.Reach(p.graph.Call(expr).Targets) {
				if p.locks.Acquires(callee)[r.g.class] || slices.ContainsFunc(r.uses, func(u *use) bool { return u.fn == callee }) {
					why = refuse(expr, "%s takes the lock, too", types.ExprString(expr.Fun))
				}
			}
		})
	}
	if why != nil {
		return why
	}
	return r.declared(g)
}

func sameList(a, b []ast.Stmt) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// declared returns why the lock has no name where a region begins.
func (r *repair) declared(g *region) (why *refusal) {
	info := g.fn.Info()
	for _, u := range g.uses {
		if u.base == nil || r.g.absolute.Valid() {
			continue
		}
		ast.Inspect(u.base, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v, ok := info.Uses[id].(*types.Var)
			if !ok || v.IsField() {
				return true
			}
			if v.Pos() > g.start() && v.Pos() < g.end() {
				why = refuse(u.expr, "%s is not declared yet where the lock would be taken", id.Name)
			}
			inspectAll(g.list[g.first:g.last+1], func(n ast.Node) {
				if a, ok := n.(*ast.AssignStmt); ok && a.Pos() < u.expr.Pos() {
					for _, left := range a.Lhs {
						if static.Variable(info, left) == v && isIdent(left) {
							why = refuse(a, "%s is assigned while its lock would be held", id.Name)
						}
					}
				}
			})
			return true
		})
	}
	return why
}

func isIdent(e ast.Expr) bool {
	_, ok := e.(*ast.Ident)
	return ok
}

func inspectAll(list []ast.Stmt, visit func(ast.Node)) {
	for _, s := range list {
		static.Own(s, visit)
	}
}

// acyclic adds the orders in which the regions take locks to those of the program, and returns why there would be a
// deadlock.
func (r *repair) acyclic() *refusal {
	p := r.p
	waiting := p.locks.HeldWhere(p.waits.Certainly)
	r.order = map[static.Key]map[static.Key]bool{}
	add := func(first, second static.Key) {
		if r.order[first] == nil {
			r.order[first] = map[static.Key]bool{}
		}
		r.order[first][second] = true
	}
	for _, g := range r.result {
		outer := map[static.Key]bool{}
		for _, s := range g.list[g.first : g.last+1] {
			static.Own(s, func(n ast.Node) {
				h := p.locks.At(n)
				if h == nil || g.form == ahead && n.Pos() != s.Pos() {
					return
				}
				if n.Pos() == g.start() || len(outer) == 0 && n == ast.Node(g.uses[0].expr) {
					maps.Copy(outer, h.May)
				}
				call, ok := n.(*ast.CallExpr)
				if !ok || g.form == ahead {
					return
				}
				if op := p.LockCall(g.fn.Info(), call); op != nil && !op.Releases() {
					add(r.g.class, op.Class)
				}
				for callee := range p.graph.Reach(p.graph.Call(call).Targets) {
					for class := range p.locks.Acquires(callee) {
						add(r.g.class, class)
					}
				}
			})
		}
		for _, u := range g.uses {
			if h := p.locks.At(u.expr); h != nil && g.first == g.last {
				maps.Copy(outer, h.May)
			}
		}
		for class := range outer {
			add(class, r.g.class)
			if r.reaches(r.g.class, class) {
				return refuse(g.list[g.first], "%s would be taken while %s is held, and elsewhere %[2]s is taken while %[1]s is held: a deadlock", g.lock, class.Name)
			}
		}
	}
	if at := waiting[r.g.class]; at != nil {
		return refuse(r.result[0].list[r.result[0].first], "%s is held at %s while its goroutine waits for another one", r.g.class.Name, p.place(at))
	}
	for class := range r.order[r.g.class] {
		if at := waiting[class]; at != nil {
			g := r.result[0]
			return refuse(g.list[g.first], "%s would be held while %s is taken, which is held at %s while its goroutine waits for another one", g.lock, class.Name, p.place(at))
		}
		if r.reaches(class, r.g.class) {
			g := r.result[0]
			return refuse(g.list[g.first], "%s would be taken before %s in one place and after it in another: a deadlock", g.lock, class.Name)
		}
	}
	return nil
}

// reaches reports whether one lock may be taken while another is held, directly or by way of others.
func (r *repair) reaches(from, to static.Key) bool {
	seen := map[static.Key]bool{}
	work := []static.Key{from}
	for len(work) > 0 {
		class := work[0]
		work = work[1:]
		if class == to {
			return true
		}
		if seen[class] {
			continue
		}
		seen[class] = true
		for _, order := range []map[static.Key]map[static.Key]bool{r.p.locks.Order, r.order} {
			for next := range order[class] {
				work = append(work, next)
			}
		}
	}
	return false
}
