package patch

import (
	"go/ast"
	"go/token"
	"go/types"
)

// flag returns a repair that makes a bool an atomic flag, or nil: a variable that a loop looks at, and that is only read and
// assigned, as one that tells a goroutine to stop. No lock could be held around such a loop.
func (m *maker) flag(t *target, uses, shared []*use) *repair {
	v := t.first().v
	if len(t.variables) != 1 || !types.Identical(v.Type(), types.Typ[types.Bool]) || !m.p.declaresAlone(t) {
		return nil
	}
	looped := false
	for _, u := range uses {
		if u.fn == nil || u.addr || u.fn.Cgo() {
			return nil
		}
		if u.write && m.p.store(u) == nil {
			return nil
		}
		if _, literal := m.p.Parent(u.expr).(*ast.KeyValueExpr); literal && m.p.Parent(u.expr).(*ast.KeyValueExpr).Key == u.expr {
			return nil
		}
		looped = looped || !u.write && m.p.looksInLoop(u)
	}
	if !looped || m.p.initialized(t) {
		return nil
	}
	if owner := m.p.ownerOf(t); owner != nil && m.p.shows(owner, ast.IsExported(v.Name()), true) != nil {
		return nil
	}
	for _, u := range shared { // what is checked and then changed is no flag
		var here []*use
		for _, other := range shared {
			if other.fn == u.fn {
				here = append(here, other)
			}
		}
		if len(m.p.dependences(u.fn, t, here)) > 0 {
			return nil
		}
	}
	return &repair{p: m.p, t: t, g: &guard{name: "atomic.Bool"}, uses: uses, texts: m.texts, shared: shared, atomic: true}
}

// declaresAlone reports whether a variable has a declaration of its own with a type.
func (p *program) declaresAlone(t *target) bool {
	switch decl := p.Parent(t.first().ident).(type) {
	case *ast.Field:
		return len(decl.Names) == 1 && decl.Tag == nil && t.isField()
	case *ast.ValueSpec:
		return len(decl.Names) == 1 && len(decl.Values) == 0 && decl.Type != nil
	}
	return false
}

// initialized reports whether a composite literal gives a field a value.
func (p *program) initialized(t *target) (found bool) {
	if !t.isField() {
		return false
	}
	for _, f := range p.Files() {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if id, ok := pair.Key.(*ast.Ident); ok {
					v, ok := f.Info().Uses[id].(*types.Var)
					found = found || ok && t.has(p.Key(v))
				}
			}
			return !found
		})
	}
	return found
}

// store returns the plain assignment of one value that a write is, or nil.
func (p *program) store(u *use) *ast.AssignStmt {
	a, ok := p.Parent(u.expr).(*ast.AssignStmt)
	if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != 1 || len(a.Rhs) != 1 || a.Lhs[0] != u.expr {
		return nil
	}
	return a
}

// looksInLoop reports whether a read stands in the condition of a loop, or in that of an if statement by which control leaves a
// loop.
func (p *program) looksInLoop(u *use) bool {
	for n := ast.Node(u.expr); n != nil && p.Of(n) == nil; n = p.Parent(n) {
		switch outer := p.Parent(n).(type) {
		case *ast.ForStmt:
			if outer.Cond == n {
				return true
			}
		case *ast.IfStmt:
			if outer.Cond != n || leaves(outer.Body) == nil {
				continue
			}
			for loop := p.Parent(outer); loop != nil && p.Of(loop) == nil; loop = p.Parent(loop) {
				switch loop.(type) {
				case *ast.ForStmt, *ast.RangeStmt:
					return true
				}
			}
		}
	}
	return false
}

// writeFlag turns the repair of a flag into edits.
func (r *repair) writeFlag() (*edits, *refusal) {
	e := &edits{texts: r.texts, files: map[string][]edit{}}
	ident := r.t.first().ident
	pkg, err := e.importStd(r.t.file, "sync/atomic")
	if err != nil {
		return nil, &refusal{ident.Pos(), err.Error()}
	}
	var typ ast.Expr
	switch decl := r.p.Parent(ident).(type) {
	case *ast.Field:
		typ = decl.Type
	case *ast.ValueSpec:
		typ = decl.Type
	}
	e.replace(typ.Pos(), typ.End(), pkg+".Bool")
	for _, u := range r.uses {
		if a := r.p.store(u); a != nil {
			e.replace(u.expr.End(), a.Rhs[0].Pos(), ".Store(")
			e.replace(a.Rhs[0].End(), a.Rhs[0].End(), ")")
		} else {
			e.replace(u.expr.End(), u.expr.End(), ".Load()")
		}
	}
	return e, nil
}
