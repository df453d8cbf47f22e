package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// influence is what a read of the target may decide in one activation of a function: the variables whose values may depend on
// what was read, and the source that may be executed because of it.
type influence struct {
	p    *program
	fn   *static.Function
	t    *target
	from ast.Node // the read, or the call of a function that reads

	vars   map[*types.Var]bool
	ranges [][2]token.Pos // the source that is executed because of the read, or not
	wrote  func(*static.Function) map[*types.Var]bool
}

// influenceOf follows what a read decides.
func (p *program) influenceOf(fn *static.Function, t *target, from ast.Node) *influence {
	f := &influence{p: p, fn: fn, t: t, from: from, vars: map[*types.Var]bool{}, wrote: p.writtenBy}
	for again := true; again; {
		vars, ranges := len(f.vars), len(f.ranges)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			f.follow(n)
			return true
		})
		again = len(f.vars) > vars || len(f.ranges) > ranges
	}
	return f
}

// decides reports whether what is written at a node may be so because of the read: the value, which variable it is, or that
// it is written at all.
func (f *influence) decides(w ast.Node) bool {
	if w == f.from {
		return false
	}
	stmt := f.simple(w)
	switch end := f.afterBody(w); {
	case f.deferred(stmt):
		return f.tainted(stmt) || f.controlledAt(w.Pos())
	case end != token.NoPos:
		return f.tainted(stmt) || f.controlledAt(end)
	case w.Pos() < f.from.Pos() && !f.operand(w):
		return f.carried(w, stmt)
	}
	return f.tainted(stmt) || f.controlledAt(w.Pos())
}

// afterBody returns the end of the body of a loop with the read in it, after which a node is executed that stands ahead of it: the
// third part of a for statement.
func (f *influence) afterBody(w ast.Node) token.Pos {
	for n := f.p.Parent(w); n != nil && n != f.fn.Node; n = f.p.Parent(n) {
		if loop, ok := n.(*ast.ForStmt); ok && loop.Post != nil && within(loop.Post, w) && within(loop.Body, f.from) {
			return loop.Body.End() - 1
		}
	}
	return token.NoPos
}

// deferred reports whether a statement defers a call, which is made after all that the function reads.
func (f *influence) deferred(stmt ast.Node) bool {
	_, ok := stmt.(*ast.DeferStmt)
	return ok
}

// operand reports whether the read is an operand of what is written further to the left: an argument of a call that writes, or the
// value that is assigned.
func (f *influence) operand(w ast.Node) bool {
	assign, ok := f.simple(w).(*ast.AssignStmt)
	return within(w, f.from) || ok && slices.ContainsFunc(assign.Lhs, func(e ast.Expr) bool { return within(e, w) }) &&
		slices.ContainsFunc(assign.Rhs, func(e ast.Expr) bool { return within(e, f.from) })
}

// carried reports whether a write ahead of the read depends on it in the next round of a loop.
func (f *influence) carried(w ast.Node, stmt ast.Node) bool {
	loop := f.loopAround(w, f.from)
	if loop == nil {
		return false
	}
	round := loop // what is declared here is another variable in each round
	if loop, ok := loop.(*ast.ForStmt); ok {
		round = loop.Body
	}
	found := false
	ast.Inspect(stmt, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			v, ok := f.fn.Info().Uses[id].(*types.Var)
			found = found || ok && f.vars[v] && !(round.Pos() <= v.Pos() && v.Pos() < round.End())
		}
		return !found
	})
	return found
}

// loopAround returns the innermost loop with both nodes in its body, or nil.
func (f *influence) loopAround(a, b ast.Node) ast.Node {
	for n := f.p.Parent(a); n != nil && n != f.fn.Node; n = f.p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if within(n, b) {
				return n
			}
		}
	}
	return nil
}

// simple returns the statement around a node that has no statements in it, or the part of a compound statement that the node
// stands in.
func (f *influence) simple(n ast.Node) ast.Node {
	for {
		outer := f.p.Parent(n)
		switch outer.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.BlockStmt, *ast.CaseClause,
			*ast.CommClause, *ast.LabeledStmt, nil:
			return n
		}
		n = outer
	}
}

// tainted reports whether a node has the read in it, or a variable whose value may depend on it.
func (f *influence) tainted(root ast.Node) (found bool) {
	if root == nil {
		return false
	}
	info := f.fn.Info()
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || found {
			return false
		}
		if n == f.from {
			found = true
		}
		if id, ok := n.(*ast.Ident); ok {
			v, ok := info.Uses[id].(*types.Var)
			found = found || ok && f.vars[v]
		}
		return !found
	})
	return found
}

func (f *influence) controlled(n ast.Node) bool { return f.controlledAt(n.Pos()) }

func (f *influence) controlledAt(pos token.Pos) bool {
	return slices.ContainsFunc(f.ranges, func(r [2]token.Pos) bool { return r[0] <= pos && pos < r[1] })
}

// taint notes that the value of what is assigned may depend on the read. The target itself is not noted: each read of it
// decides for itself.
func (f *influence) taint(e ast.Expr) {
	if v := static.Variable(f.fn.Info(), e); v != nil {
		f.taintVariable(v)
	}
}

func (f *influence) taintVariable(v *types.Var) {
	if v = v.Origin(); !f.t.has(f.p.Key(v)) {
		f.vars[v] = true
	}
}

// control notes that some source is executed because of the read.
func (f *influence) control(first, last token.Pos) {
	r := [2]token.Pos{first, last}
	if first < last && !slices.Contains(f.ranges, r) {
		f.ranges = append(f.ranges, r)
	}
}

// follow notes what a node hands on.
func (f *influence) follow(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			from := ast.Node(n)
			if len(n.Lhs) == len(n.Rhs) && n.Tok == token.ASSIGN && !f.tainted(left) || n.Tok == token.DEFINE && len(n.Lhs) == len(n.Rhs) {
				from = n.Rhs[i]
			}
			if f.controlled(n) || f.tainted(from) {
				f.taint(left)
			}
		}
	case *ast.IncDecStmt:
		if f.controlled(n) || f.tainted(n.X) {
			f.taint(n.X)
		}
	case *ast.ValueSpec:
		for _, name := range n.Names {
			if slices.ContainsFunc(n.Values, func(e ast.Expr) bool { return f.tainted(e) }) {
				f.taint(name)
			}
		}
	case *ast.SendStmt:
		if f.controlled(n) || f.tainted(n.Value) {
			f.taint(n.Chan)
		}
	case *ast.CallExpr:
		f.call(n)
	case *ast.RangeStmt:
		if f.tainted(n.X) {
			f.taint(n.Key)
			if n.Value != nil {
				f.taint(n.Value)
			}
			f.branch(n, n.Body, n.Body)
		}
	case *ast.ForStmt:
		if f.tainted(n.Cond) || f.controlled(n) && n.Cond != nil {
			f.branch(n, n.Body, n.Body)
			f.control(n.End(), f.fn.Node.End()) // it comes there because of what was read
		}
	case *ast.IfStmt:
		if f.tainted(n.Cond) || n.Init != nil && f.tainted(n.Init) {
			f.branch(n, n.Body, n.Body)
			if n.Else != nil {
				f.branch(n, n.Else, n.Else)
			}
		}
	case *ast.SwitchStmt:
		if n.Init != nil && f.tainted(n.Init) || n.Tag != nil && f.tainted(n.Tag) || f.taintedCase(n.Body) {
			f.branch(n, n.Body, n.Body)
		}
	case *ast.TypeSwitchStmt:
		if n.Init != nil && f.tainted(n.Init) || f.tainted(n.Assign) {
			f.branch(n, n.Body, n.Body)
		}
	case *ast.SelectStmt:
		for _, c := range n.Body.List {
			if comm := c.(*ast.CommClause).Comm; comm != nil && f.tainted(comm) {
				f.branch(n, n.Body, n.Body)
			}
		}
	case *ast.BinaryExpr:
		if (n.Op == token.LAND || n.Op == token.LOR) && f.tainted(n.X) {
			f.control(n.Y.Pos(), n.Y.End())
		}
	}
}

func (f *influence) taintedCase(body *ast.BlockStmt) bool {
	for _, c := range body.List {
		if slices.ContainsFunc(c.(*ast.CaseClause).List, func(e ast.Expr) bool { return f.tainted(e) }) {
			return true
		}
	}
	return false
}

// branch notes that a part of a statement is executed because of the read; and what follows the statement, too, if control may
// leave the part other than at its end.
func (f *influence) branch(stmt, part ast.Node, body ast.Node) {
	f.control(part.Pos(), part.End())
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			f.control(stmt.End(), f.around(stmt).End())
		case *ast.BranchStmt:
			f.control(stmt.End(), f.leftBy(n, stmt).End())
		case *ast.CallExpr:
			if !static.MayReturn(f.fn.Info(), n) {
				f.control(stmt.End(), f.around(stmt).End())
			}
		}
		return true
	})
}

// around returns the function or literal that a node stands in.
func (f *influence) around(n ast.Node) ast.Node {
	if fn := f.p.Around(n); fn != nil {
		return fn.Node
	}
	return f.fn.Node
}

// leftBy returns the statement around stmt that a branch statement in it leaves or begins anew.
func (f *influence) leftBy(b *ast.BranchStmt, stmt ast.Node) ast.Node {
	if b.Tok == token.GOTO || b.Label != nil {
		return f.around(stmt)
	}
	for n := f.p.Parent(b); n != nil && n != f.fn.Node; n = f.p.Parent(n) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return n
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if b.Tok == token.BREAK {
				return n
			}
		}
	}
	return stmt
}

// call notes what a call may change because of the read: what it gets pointers to, and, of a function of the program, the
// fields and package-level variables that are written there.
func (f *influence) call(c *ast.CallExpr) {
	info := f.fn.Info()
	tainted := f.controlled(c) || slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return f.tainted(e) })
	if !tainted || info.Types[c.Fun].IsType() {
		return
	}
	call := f.p.graph.Call(c)
	if call == nil || call.Only() == nil {
		if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && info.Selections[sel] != nil {
			f.taint(sel.X)
		}
	}
	for _, arg := range c.Args {
		if addr, ok := ast.Unparen(arg).(*ast.UnaryExpr); ok && addr.Op == token.AND {
			f.taint(addr.X)
		} else if t := info.TypeOf(arg); t != nil && (isPointer(t) || leadsOn(t)) {
			f.taint(arg)
		}
	}
	if call != nil {
		if lit := call.Only(); lit != nil && lit.Parent != nil {
			f.control(lit.Node.Pos(), lit.Node.End())
		}
		for _, callee := range f.p.graph.May(call.Targets) {
			for v := range f.wrote(callee) {
				f.taintVariable(v)
			}
		}
	}
}

// writtenBy returns the fields and package-level variables that a function, or what it calls, assigns.
func (p *program) writtenBy(fn *static.Function) map[*types.Var]bool {
	if p.written == nil {
		p.written = make([]map[*types.Var]bool, p.graph.Len())
		for _, fn := range p.Functions {
			set := map[*types.Var]bool{}
			add := func(e ast.Expr) {
				if v := static.Variable(fn.Info(), e); v != nil && (v.IsField() || static.IsGlobal(v)) {
					set[v.Origin()] = true
				}
			}
			static.Own(fn.Body, func(n ast.Node) {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, left := range n.Lhs {
						add(left)
					}
				case *ast.IncDecStmt:
					add(n.X)
				}
			})
			p.written[fn.Number] = set
		}
		static.Upwards(p.graph, p.written)
	}
	return p.written[fn.Number]
}

// dependences returns the pairs of a read and a write of one activation of a function that must stay in one critical section:
// the write may be made because of the read.
func (p *program) dependences(fn *static.Function, t *target, uses []*use) (out [][2]*use) {
	var writes []*use
	for _, u := range uses {
		if u.write {
			writes = append(writes, u)
		}
	}
	if len(writes) == 0 || len(uses) < 2 {
		return nil
	}
	for _, u := range uses {
		if !p.reads(u) {
			continue
		}
		f := p.influenceOf(fn, t, u.expr)
		for _, w := range writes {
			if w != u && f.decides(w.expr) {
				out = append(out, [2]*use{u, w})
			}
		}
	}
	return out
}

// reads reports whether a use reads the variable: it is not just assigned.
func (p *program) reads(u *use) bool {
	if !u.write || p.updates(u) {
		return true
	}
	for n := ast.Node(u.expr); ; n = p.Parent(n) {
		switch outer := p.Parent(n).(type) {
		case *ast.AssignStmt:
			return !slices.ContainsFunc(outer.Lhs, func(e ast.Expr) bool { return e == n })
		case *ast.RangeStmt:
			return outer.X == n
		case *ast.CallExpr:
			id, ok := ast.Unparen(outer.Fun).(*ast.Ident)
			return !ok || id.Name != "delete" && id.Name != "clear"
		case *ast.IndexExpr, *ast.ParenExpr, *ast.StarExpr, *ast.SelectorExpr:
		default:
			return true
		}
	}
}

// updates reports whether a write also reads: n++, n += 1.
func (p *program) updates(u *use) bool {
	for n := p.Parent(u.expr); n != nil; n = p.Parent(n) {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			return true
		case *ast.AssignStmt:
			return n.Tok != token.ASSIGN && n.Tok != token.DEFINE
		case ast.Stmt:
			return false
		}
	}
	return false
}
