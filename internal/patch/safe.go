package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// check returns why a region cannot hold the lock: what it calls takes the lock, too, or the lock has no name where the
// region begins.
func (r *repair) check(g *region) *refusal {
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
	for _, n := range nodes {
		if why := r.takesLock(g.fn, n, g); why != nil {
			return why
		}
	}
	if g.then != nil {
		if why := r.declared(g.then); why != nil {
			return why
		}
	}
	if why := r.renamed(g); why != nil && g.form != ahead {
		return why
	}
	return r.declared(g)
}

// takesLock returns why the lock cannot be held at a node: what is called there takes it, too, or the program operates on it. What
// the regions evaluate ahead, and the operations that they replace, do not count.
func (r *repair) takesLock(fn *static.Function, root ast.Node, regions ...*region) (why *refusal) {
	p := r.p
	static.Own(root, func(inner ast.Node) {
		expr, ok := inner.(*ast.CallExpr)
		if !ok || why != nil || slices.ContainsFunc(regions, func(g *region) bool { return g.leavesOut(expr) }) {
			return
		}
		if op := p.LockCall(fn.Info(), expr); op != nil {
			if op.Class == r.g.class {
				why = refuse(expr, "the program takes or gives back %s itself", op.Class.Name)
			}
			return
		}
		if p.graph.Call(expr).Started {
			return
		}
		for callee := range p.graph.Reach(p.graph.Call(expr).Targets) {
			if p.locks.Acquires(callee)[r.g.class] || slices.ContainsFunc(r.uses, func(u *use) bool { return u.fn == callee }) {
				why = refuse(expr, "%s takes the lock, too", types.ExprString(expr.Fun))
			}
		}
	})
	return why
}

// leavesOut reports whether a call in a region is not made there: it is evaluated ahead, or is an operation that is replaced.
func (g *region) leavesOut(call *ast.CallExpr) bool {
	return slices.ContainsFunc(g.early, func(e ast.Expr) bool { return within(e, call) }) ||
		slices.ContainsFunc(g.moved, func(c *static.Call) bool { return c.Expr == call })
}

func sameList(a, b []ast.Stmt) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// renamed returns why the lock has another name where a region ends: what leads to it is assigned in the region.
func (r *repair) renamed(g *region) (why *refusal) {
	info, until := g.fn.Info(), g.end()
	leading, fields := map[types.Object]bool{}, map[*types.Var]bool{}
	for _, u := range g.uses {
		if u.base == nil || r.g.absolute.Valid() {
			continue
		}
		ast.Inspect(u.base, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && info.Uses[id] != nil {
				leading[info.Uses[id]] = true
			}
			return true
		})
		for v := range u.fields() {
			fields[v.Origin()] = true
		}
	}
	if g.form == deferred || g.form == enclosed { // the lock is named where it is acquired
		until = token.NoPos
		for _, u := range g.uses {
			until = max(until, u.expr.Pos())
		}
	}
	assigned := func(n ast.Node, e ast.Expr) {
		if v := static.Variable(info, e); v != nil && leading[v] && n.Pos() < until {
			why = refuse(n, "%s is assigned while its lock would be held", types.ExprString(e))
		}
	}
	inspectAll(g.list[g.first:g.last+1], func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if n.Tok != token.DEFINE {
					assigned(n, left)
				}
			}
		case *ast.IncDecStmt:
			assigned(n, n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN && n.Key != nil {
				assigned(n, n.Key)
			}
			if n.Tok == token.ASSIGN && n.Value != nil {
				assigned(n, n.Value)
			}
		case *ast.CallExpr:
			if c := r.p.graph.Call(n); c != nil && !c.Started && !g.leavesOut(n) && n.Pos() < until {
				for _, callee := range r.p.graph.May(c.Targets) {
					for v := range r.p.writtenBy(callee) {
						if fields[v] {
							why = refuse(n, "%s assigns %s while its lock would be held", types.ExprString(n.Fun), v.Name())
						}
					}
				}
			}
		}
	})
	return why
}

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
