package patch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/heisen-go/heisen/internal/static"
)

// region is a critical section: statements that stand one after the other in a list.
type region struct {
	fn          *static.Function
	list        []ast.Stmt
	first, last int
	form        form
	uses        []*use
	lock        string // as source
	exclusive   bool
	init        ast.Stmt       // of an if statement, to be moved ahead of it
	names       []string       // of new variables
	early       []ast.Expr     // operands that are evaluated ahead of the statement, without the lock
	declared    []declaration  // variables that are declared ahead
	exits       []ast.Stmt     // by which control leaves it
	then        *region        // reads ahead of the next statement, which it has at its end
	moved       []*static.Call // operations on the lock that it replaces
}

// refusal is a reason not to patch something.
type refusal struct {
	at     token.Pos
	reason string
}

func refuse(n ast.Node, format string, args ...any) *refusal {
	return &refusal{n.Pos(), fmt.Sprintf(format, args...)}
}

// repair places a lock at the uses of a target that lack it.
type repair struct {
	p      *program
	t      *target
	g      *guard
	uses   []*use // that lack the lock
	spans  []span // what must be atomic
	texts  *texts
	result []*region
	shared []*use                    // all that other goroutines may come between
	moves  map[*static.Function]bool // functions whose own critical sections become larger

	upgrades []*static.Call // operations of readers that become those of writers

	accessors bool // the uses are calls of functions that access the target
	atomic    bool // the target becomes an atomic flag
	covered   bool // all uses hold the lock
}

// span is a check and an act that must be atomic: places in one function.
type span struct {
	fn          *static.Function
	first, last token.Pos
}

// place fills in the regions.
func (r *repair) place() *refusal {
	byFunction := map[*static.Function][]*use{}
	var functions []*static.Function
	for _, u := range r.uses {
		if u.fn == nil {
			return refuse(u.expr, "an initial value would have to hold the lock")
		}
		if byFunction[u.fn] == nil {
			functions = append(functions, u.fn)
		}
		byFunction[u.fn] = append(byFunction[u.fn], u)
	}
	for _, fn := range functions {
		regions, why := r.inFunction(fn, byFunction[fn])
		if why != nil {
			return why
		}
		r.result = append(r.result, regions...)
	}
	for _, region := range r.result {
		if why := r.check(region); why != nil {
			return why
		}
	}
	return nil
}

// inFunction returns the regions of a function.
func (r *repair) inFunction(fn *static.Function, uses []*use) ([]*region, *refusal) {
	spans := r.spansIn(fn)
	if r.moves[fn] {
		whole, why := r.moved(fn)
		if why != nil {
			return nil, why
		}
		return []*region{whole}, nil
	}
	var regions []*region
	var failed *refusal
	for _, u := range uses {
		lock := r.g.expression(r.p, u, r.texts.of)
		if lock == "" {
			return nil, refuse(u.expr, "%s has no lock that can be named there", r.texts.of(u.expr))
		}
		region, why := r.around(u)
		if why != nil {
			if region, _ = r.statement(u); !slices.ContainsFunc(spans, func(s span) bool { return s.has(u) }) {
				failed = cmp.Or(failed, why)
				region.form = ahead
			}
		}
		region.lock = lock
		regions = append(regions, region)
	}
	if failed == nil {
		regions, failed = r.merge(fn, regions, spans)
	}
	if failed == nil {
		regions = r.apart(regions)
		for _, g := range regions {
			if why := r.finish(g); why != nil {
				failed = cmp.Or(failed, why)
			}
		}
		regions = outermost(regions)
	}
	if whole := r.wholeFunction(fn, uses, regions, failed != nil); whole != nil {
		return []*region{whole}, nil
	}
	return regions, failed
}

// outermost leaves out regions that stand in others of the same lock.
func outermost(regions []*region) (out []*region) {
	for _, g := range regions {
		if !slices.ContainsFunc(regions, func(o *region) bool {
			return o != g && o.form != ahead && o.lock == g.lock && o.start() <= g.start() && g.end() <= o.end() && (o.start() < g.start() || g.end() < o.end())
		}) {
			out = append(out, g)
		}
	}
	return out
}

// spansIn returns what must be atomic in a function: what findings are about, and what is read and then written because of it.
func (r *repair) spansIn(fn *static.Function) (out []span) {
	for _, s := range r.spans {
		if s.fn == fn {
			out = append(out, s)
		}
	}
	lacks := func(u *use) bool { return slices.ContainsFunc(r.uses, func(o *use) bool { return o.expr == u.expr }) }
	var here []*use
	for _, u := range r.shared {
		if u.fn == fn {
			here = append(here, u)
		}
	}
	for _, pair := range r.p.dependences(fn, r.t, here) {
		read, write := pair[0], pair[1]
		switch {
		case lacks(read) && lacks(write):
			first, last := read.expr.Pos(), write.expr.Pos()
			if f := (&influence{p: r.p, fn: fn, from: read.expr}); last < first && f.operand(write.expr) {
				first, last = last, first
			} else if last < first { // in the next round of a loop
				if loop := f.loopAround(write.expr, read.expr); loop != nil {
					first, last = loop.Pos(), loop.End()-1
				} else { // a deferred call
					first, last = last, first
				}
			}
			out = append(out, span{fn, first, last})
		case lacks(read) != lacks(write) && !r.callersHold(fn):
			r.move(fn) // the section of the program becomes larger
		}
	}
	return out
}

// move notes that the critical sections of a function on the lock become one.
func (r *repair) move(fn *static.Function) {
	if r.moves == nil {
		r.moves = map[*static.Function]bool{}
	}
	r.moves[fn] = true
}

// has reports whether a use stands in a span.
func (s span) has(u *use) bool { return s.first <= u.expr.Pos() && u.expr.Pos() <= s.last }

// callersHold reports whether callers of a function may hold the lock.
func (r *repair) callersHold(fn *static.Function) bool {
	entry := r.p.locks.Entry(fn)
	return entry != nil && entry.May[r.g.class]
}

// statement returns the region of the statement in a list that a use stands in.
func (r *repair) statement(u *use) (*region, ast.Stmt) {
	for n := ast.Node(u.expr); ; n = r.p.Parent(n) {
		stmt, ok := n.(ast.Stmt)
		if !ok || r.p.Around(n) != u.fn && r.p.Of(n) != u.fn {
			continue
		}
		list := statements(r.p.Parent(n))
		if i := slices.Index(list, stmt); i >= 0 {
			return &region{fn: u.fn, list: list, first: i, last: i, uses: []*use{u}, exclusive: u.write || !r.g.rw}, stmt
		}
	}
}

// statements returns the list of statements that a node is.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		if len(n.List) > 0 {
			switch n.List[0].(type) {
			case *ast.CaseClause, *ast.CommClause:
				return nil // of a switch or select statement
			}
		}
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// around returns the plainest region for a use by itself.
func (r *repair) around(u *use) (*region, *refusal) {
	region, stmt := r.statement(u)
	if u.late {
		return r.toEnd(region)
	}
	w, takes := r.waitsIn(u.fn, stmt), r.takesLock(u.fn, stmt)
	if (w != nil || takes != nil) && r.readAhead(u, stmt) == nil {
		if region.early = r.evaluatedAhead(u, stmt); region.early != nil {
			w, takes = nil, nil
		}
	}
	switch s := stmt.(type) {
	case *ast.ReturnStmt:
		region.form = deferred
		if w == nil && takes == nil {
			return region, nil
		}
	case *ast.IfStmt:
		if r.writesIn(s.Body, u) || s.Else != nil && r.writesIn(s.Else, u) {
			return region, r.compound(u, s, w) // check and act
		}
		if s.Init != nil && within(s.Init, u.expr) {
			return r.initAhead(region, s, u)
		}
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.LabeledStmt, *ast.BlockStmt:
		if why := r.compound(u, s, w); why == nil {
			return region, nil
		} else if r.readAhead(u, stmt) == nil {
			return region, why
		}
	default:
		if w == nil && !r.terminates(u.fn, s) && (takes == nil || r.readAhead(u, stmt) == nil) {
			return region, nil
		}
	}
	if r.readAhead(u, stmt) != nil {
		region.form = ahead
		return region, nil
	}
	if w != nil {
		return region, refuse(w.At, "the lock would be held over %s", w.What)
	}
	if takes != nil {
		return region, takes
	}
	return region, refuse(u.expr, "%s is not read by a statement that the lock can be held around", r.texts.of(u.expr))
}

// toEnd returns the region of a deferred call, which reaches to the end of the function.
func (r *repair) toEnd(g *region) (*region, *refusal) {
	if !sameList(g.list, g.fn.Body.List) {
		return g, refuse(g.list[g.first], "the lock would be held from a deferred call to the end of the function, and there is no place for it")
	}
	g.last, g.form = len(g.list)-1, deferred
	for _, s := range g.list[g.first:] {
		if w := r.waitsIn(g.fn, s); w != nil {
			return g, refuse(w.At, "the lock would be held over %s", w.What)
		}
	}
	return g, nil
}

// late reports whether a region has a deferred call that needs the lock.
func (g *region) late() bool {
	return slices.ContainsFunc(g.uses, func(u *use) bool { return u.late })
}

// terminates reports whether a statement is a call that does not return.
func (r *repair) terminates(fn *static.Function, s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	return ok && !static.MayReturn(fn.Info(), call)
}

// compound returns why the lock cannot be held around a statement with statements in it.
func (r *repair) compound(u *use, s ast.Stmt, w *static.Wait) *refusal {
	if w != nil {
		return refuse(w.At, "the lock would be held over %s", w.What)
	}
	if at := leaves(s); at != nil {
		return refuse(at, "control leaves the statement that the lock would be held around")
	}
	return nil
}

// initAhead moves the first statement of an if statement ahead of it.
func (r *repair) initAhead(region *region, s *ast.IfStmt, u *use) (*region, *refusal) {
	w := r.waitsIn(u.fn, s.Init)
	if w != nil {
		return region, refuse(w.At, "the lock would be held over %s", w.What)
	}
	if why := r.compound(u, s, r.waitsIn(u.fn, s)); why == nil && len(s.Body.List) <= 3 {
		return region, nil // small enough as a whole
	}
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || u.leaves != nil {
		return region, refuse(s, "the if statement is too complex")
	}
	if _, isElse := r.p.Parent(s).(*ast.IfStmt); isElse {
		return region, refuse(s, "the if statement is too complex")
	}
	for _, left := range init.Lhs {
		id, ok := left.(*ast.Ident)
		if !ok || id.Name != "_" && init.Tok == token.DEFINE && r.named(u.fn, id.Name, s) {
			return region, refuse(s, "the if statement is too complex")
		}
	}
	region.form, region.init = ahead, init
	return region, nil
}

// named reports whether a name occurs in a function outside of a node.
func (r *repair) named(fn *static.Function, name string, outside ast.Node) (found bool) {
	for fn.Parent != nil {
		fn = fn.Parent
	}
	ast.Inspect(fn.Node, func(n ast.Node) bool {
		if n == outside {
			return false
		}
		id, ok := n.(*ast.Ident)
		if !ok || id.Name != name {
			return true
		}
		if sel, ok := r.p.Parent(id).(*ast.SelectorExpr); !ok || sel.Sel != id {
			found = true
		}
		return true
	})
	return found
}

// writesIn reports whether a part of a statement, in which u does not stand, writes the variable.
func (r *repair) writesIn(part ast.Node, u *use) bool {
	if within(part, u.expr) {
		return false
	}
	return slices.ContainsFunc(r.uses, func(other *use) bool { return other.write && other.fn == u.fn && within(part, other.expr) })
}

// waitsIn returns a place in a node at which a goroutine may wait with the lock, and would not wait with it in the program as it is.
func (r *repair) waitsIn(fn *static.Function, n ast.Node) *static.Wait {
	w := r.p.waits.In(fn, n)
	if w == nil || !r.moves[fn] {
		return w
	}
	var found *static.Wait
	static.Own(n, func(inner ast.Node) {
		call, isCall := inner.(*ast.CallExpr)
		if found != nil || !isCall && r.p.waits.Operation(fn.Info(), inner) == "" && !r.p.waits.Polls(inner) {
			return
		}
		var at *static.Held
		if isCall {
			at = r.p.locks.At(call)
		}
		if w := r.p.waits.In(fn, inner); w != nil && (at == nil || !at.May[r.g.class]) {
			found = w
		}
	})
	return found
}
