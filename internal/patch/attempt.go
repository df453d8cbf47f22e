package patch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/internal/static"
	"github.com/heisen-go/heisen/internal/textdiff"
	"github.com/heisen-go/heisen/report"
)

// attempts returns the ways to repair a task, the plainest first: with a lock that the program uses for the variable already,
// as an atomic flag, with a new mutex beside the variable, and for a field with a new mutex at package level.
func (m *maker) attempts(t *task, target *target) (out []func() (*repair, *refusal)) {
	p := m.p
	uses := p.uses(target)
	var spans []span
	accessors := false
	for _, s := range t.spans {
		found, ok := m.span(s)
		if !ok {
			return []func() (*repair, *refusal){func() (*repair, *refusal) {
				return nil, &refusal{target.first().ident.Pos(), "the sequence of accesses is not found"}
			}}
		}
		spans = append(spans, found)
		accessors = accessors || s.calls
	}
	ordering := p.newOrdering(p.starts(), uses)
	shared := slices.DeleteFunc(slices.Clone(uses), func(u *use) bool { return ordering.alone(u, target) })
	var flag []func() (*repair, *refusal)
	if r := m.flag(target, uses, shared); r != nil {
		flag = append(flag, func() (*repair, *refusal) { return r, nil })
	}
	var why *refusal
	if !accessors {
		shared, why = m.lift(target, shared, ordering)
	}
	if why == nil {
		why = m.unsupported(shared, target)
	}
	if why != nil {
		return append(flag, func() (*repair, *refusal) { return nil, why })
	}
	if accessors {
		shared = m.calls(shared, spans)
		shared = slices.DeleteFunc(shared, func(u *use) bool { return ordering.alone(u, target) })
	} else {
		for _, g := range p.candidates(shared) {
			out = append(out, func() (*repair, *refusal) { return m.with(g, target, shared, spans) })
		}
	}
	if len(t.parts) > 1 && len(out) > 0 {
		return out // rather one lock for each than a new one for all
	}
	out = append(out, flag...)
	abroad := slices.ContainsFunc(shared, func(u *use) bool { return u.fn != nil && u.fn.Package.Types.Path() != target.file.Package.Types.Path() })
	news := []*guard{p.newVariable(target, abroad)}
	if target.isField() {
		if owner := p.ownerOf(target); owner == nil || p.shows(owner, abroad, false) == nil {
			news = append([]*guard{p.newField(target, abroad)}, news...)
		}
	}
	for _, g := range news {
		if g != nil {
			out = append(out, func() (*repair, *refusal) {
				r, why := m.with(g, target, shared, spans)
				if r != nil {
					r.accessors = accessors
				}
				return r, why
			})
		}
	}
	return out
}

// unsupported returns why no lock can protect the uses.
func (m *maker) unsupported(uses []*use, t *target) *refusal {
	changed := inPlace(uses)
	for _, u := range uses {
		text := m.texts.of(u.expr)
		switch {
		case u.fn != nil && u.fn.Cgo():
			return refuse(u.expr, "the file uses cgo")
		case u.addr && m.atomically(u):
			return refuse(u.expr, "%s is accessed by a function of sync/atomic: access it so everywhere, or give it a type such as atomic.Int64", text)
		case u.addr:
			return refuse(u.expr, "the address of %s is taken, so it may be accessed elsewhere", text)
		case u.leaves != nil && isMap(u.fn.Info().TypeOf(u.leaves)):
			return refuse(u.expr, "the map %s is passed on, so it may be accessed elsewhere without the lock", m.texts.of(u.leaves))
		case u.leaves != nil && changed > u.left:
			return refuse(u.expr, "the slice %s is passed on, so its elements may be accessed elsewhere without the lock", m.texts.of(u.leaves))
		}
	}
	if at := m.p.copied(t); at != nil {
		if sel, ok := at.(*ast.SelectorExpr); ok && m.p.isMethod(sel) {
			return refuse(at, "the method %s gets a copy of the whole struct, which is made without a lock: give it a pointer as its receiver", sel.Sel.Name)
		}
		return refuse(at, "the whole struct is read or written, and no lock is placed around that")
	}
	return nil
}

// isMethod reports whether a selector names a method.
func (p *program) isMethod(sel *ast.SelectorExpr) bool {
	fn := p.Around(sel)
	if fn == nil {
		return false
	}
	selection := fn.Info().Selections[sel]
	return selection != nil && selection.Kind() == types.MethodVal
}

// atomically reports whether the address of a variable is taken for a function of package sync/atomic.
func (m *maker) atomically(u *use) bool {
	addr, ok := m.p.Parent(u.expr).(*ast.UnaryExpr)
	if !ok || u.fn == nil {
		return false
	}
	call, ok := m.p.Parent(addr).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := static.Callee(u.fn.Info(), call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic"
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// with tries to repair a target with a lock.
func (m *maker) with(g *guard, t *target, shared []*use, spans []span) (*repair, *refusal) {
	p := m.p
	r := &repair{p: p, t: t, g: g, spans: spans, texts: m.texts, shared: shared}
	for _, u := range shared {
		if why := m.visible(g, t, u); why != nil {
			return nil, why
		}
		if !g.existing {
			r.uses = append(r.uses, u)
			continue
		}
		lacking, why := m.lacking(r, u, 0)
		if why != nil {
			return nil, why
		}
		for _, u := range lacking {
			i := slices.IndexFunc(r.uses, func(o *use) bool { return o.expr == u.expr })
			if i < 0 {
				r.uses = append(r.uses, u)
			} else { // a call, because of several accesses
				r.uses[i].write = r.uses[i].write || u.write
			}
		}
	}
	if len(r.uses)+len(r.upgrades) == 0 {
		r.covered = true
		return r, nil
	}
	return r, r.place()
}

// visible returns why a lock cannot be named at a use.
func (m *maker) visible(g *guard, t *target, u *use) *refusal {
	if u.fn == nil {
		return refuse(u.expr, "it is accessed by the initial value of a package-level variable")
	}
	if u.fn.Package.Types.Path() != t.file.Package.Types.Path() && !ast.IsExported(g.lockField()) {
		return refuse(u.expr, "it is accessed in another package, %s", u.fn.Package.PkgPath)
	}
	return nil
}

// maxLift bounds the calls from an access up to where the lock is taken.
const maxLift = 3

// lacking returns what lacks the lock: u itself, or, if only some callers hold it, the calls of the others.
func (m *maker) lacking(r *repair, u *use, depth int) ([]*use, *refusal) {
	p, g := m.p, r.g
	exclusive, ok := g.holds(p, u)
	switch {
	case ok && (exclusive || !u.write):
		return nil, nil
	case ok && (!g.absolute.Valid() || !r.t.isField()) && r.upgrade(u):
		return nil, nil
	case ok:
		return nil, refuse(u.expr, "%s is written while %s is held for reading only", m.texts.of(u.expr), g.class.Name)
	case !g.mayHold(p, u):
		return []*use{u}, nil
	}
	entry := p.locks.Entry(u.fn)
	_, fromCaller := entry.May[g.class]
	if !fromCaller && depth == 0 { // the section of the function itself becomes larger
		r.move(u.fn)
		return []*use{u}, nil
	}
	if !fromCaller || depth == maxLift || !p.locks.CallersKnown(u.fn) {
		return nil, refuse(u.expr, "%s may or may not be held there", g.class.Name)
	}
	var out []*use
	for c := range p.calls {
		if !slices.Contains(p.graph.May(c.Targets), u.fn) {
			continue
		}
		caller, ok := p.callUse(c, u)
		if !ok {
			return nil, refuse(c.Expr, "%s may or may not be held there", g.class.Name)
		}
		lacking, why := m.lacking(r, caller, depth+1)
		if why != nil {
			return nil, why
		}
		out = append(out, lacking...)
	}
	return out, nil
}

// callUse returns the use that a call is, because a function that it calls has one.
func (p *program) callUse(c *static.Call, u *use) (*use, bool) {
	if c.Started || c.Only() == nil && !slices.Contains(c.InPlace, u.fn) {
		return nil, false
	}
	out := &use{fn: c.In, expr: c.Expr, write: u.write, late: c.Deferred}
	if u.base == nil {
		return out, true
	}
	for param, arg := range p.Arguments(c, u.fn) {
		if u.path.Root == param && u.path.Fields == "" {
			out.base, out.path = arg, p.ArgumentPath(c, arg)
			return out, out.path.Valid()
		}
	}
	if out.base, out.path = u.base, u.path; p.meansThere(c, u) {
		return out, true
	}
	return nil, false
}

// meansThere reports whether the struct of a use in a literal, by variables that are declared around the literal, is the same one
// at a call of it.
func (p *program) meansThere(c *static.Call, u *use) bool {
	if u.fn.Parent == nil || !u.path.Valid() {
		return false
	}
	same := true
	scope := c.In.Package.Types.Scope().Innermost(c.Expr.Pos())
	ast.Inspect(u.base, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if v, ok := u.fn.Info().Uses[id].(*types.Var); ok && !v.IsField() {
			if scope == nil {
				same = false
			} else if _, there := scope.LookupParent(id.Name, c.Expr.Pos()); there != v {
				same = false
			}
		}
		return true
	})
	return same
}

// calls returns the calls of functions that access the variable, from functions that do not, and from those of spans. Of
// the latter also the accesses.
func (m *maker) calls(uses []*use, spans []span) (out []*use) {
	p := m.p
	spanning := func(fn *static.Function) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.fn == fn })
	}
	accessors := map[*static.Function]bool{}
	for _, u := range uses {
		if u.fn == nil {
			continue
		}
		if spanning(u.fn) {
			out = append(out, u)
		} else {
			accessors[u.fn] = true
		}
	}
	for c := range p.calls {
		for _, u := range uses {
			if accessors[c.In] || !accessors[u.fn] || c.Only() != u.fn {
				continue
			}
			i := slices.IndexFunc(out, func(o *use) bool { return o.expr == c.Expr })
			if i >= 0 {
				out[i].write = out[i].write || u.write
				continue
			}
			call, ok := p.callUse(c, u)
			if !ok {
				call = &use{fn: c.In, expr: c.Expr, write: u.write}
			}
			out = append(out, call)
		}
	}
	return out
}

// span finds a sequence of accesses in the source as it is now.
func (m *maker) span(s place) (span, bool) {
	f := m.p.fileNamed(s.file)
	if f == nil {
		return span{}, false
	}
	first, last := m.currentLine(f.Path, s.first), m.currentLine(f.Path, s.last)
	var out span
	for _, fn := range m.p.Functions {
		if fn.File != f {
			continue
		}
		from, to := m.p.position(fn.Node.Pos()).Line, m.p.position(fn.Node.End()).Line
		if from > first || last > to || out.fn != nil && fn.Node.Pos() < out.fn.Node.Pos() {
			continue
		}
		out.fn = fn
	}
	if out.fn == nil {
		return out, false
	}
	static.Own(out.fn.Body, func(n ast.Node) {
		if _, ok := n.(ast.Expr); !ok {
			return
		}
		at := m.p.position(n.Pos()).Line
		if at == first && !out.first.IsValid() {
			out.first = n.Pos()
		}
		if at == last {
			out.last = n.Pos()
		}
	})
	return out, out.first.IsValid() && out.last.IsValid()
}

// currentLine returns the number of a line of the original source in the source as it is now.
func (m *maker) currentLine(name string, line int) int {
	now, ok := m.result.new[name]
	if !ok {
		return line
	}
	for _, p := range textdiff.Common(m.result.old[name], now) {
		if p.Old+1 == line {
			return p.New + 1
		}
	}
	return line
}

// originalLine is the inverse of currentLine.
func (m *maker) originalLine(name string, line int) int {
	now, ok := m.result.new[name]
	if !ok {
		return line
	}
	for _, p := range textdiff.Common(m.result.old[name], now) {
		if p.New+1 == line {
			return p.Old + 1
		}
	}
	return line
}

// fileNamed returns the file that a finding names.
func (p *program) fileNamed(name string) *static.File {
	if f := p.File(name); f != nil {
		return f
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return p.File(real)
	}
	return nil
}

// targetsOf returns the variable that all accesses of a finding are about, or why it is not known, with the access that does not
// show it. An access may name several expressions, one of which it is; then the others tell which. If they do not, it returns all
// variables that it may be.
func (p *program) targetsOf(accesses []report.Access) ([]*target, *report.Access, string) {
	var common map[static.Key]namedVariable
	var unclear *report.Access
	for i := range accesses {
		a := &accesses[i]
		at := a.Stack[0]
		names := a.Alternatives
		if a.Variable != "" {
			names = []string{a.Variable}
		}
		found := p.find(p.position(p.fileNamed(at.File).Syntax.Package).Filename, at.Line, names)
		if len(found) == 0 {
			unclear = a
			continue
		}
		if common == nil {
			common = found
			continue
		}
		before := common
		common = map[static.Key]namedVariable{}
		for key, v := range before {
			if _, ok := found[key]; ok {
				common[key] = v
			}
		}
		if len(common) == 0 {
			if common = p.within(before, found); len(common) > 0 {
				continue
			}
			return nil, a, fmt.Sprintf("the accesses name different variables, %s and %s, that share memory", oneName(before), oneName(found))
		}
	}
	if unclear != nil && len(common) != 1 || len(common) == 0 {
		if unclear == nil {
			unclear = &accesses[0]
		}
		return nil, unclear, "it is not known which variable is accessed there"
	}
	var out []*target
	for _, key := range slices.SortedFunc(maps.Keys(common), compareKeys) {
		v := common[key]
		t := p.declare(v.v)
		switch {
		case t == nil:
			return nil, &accesses[0], "the variable is declared outside of the module"
		case t.fn == nil || t.isField():
		case len(common) > 1 && !hasReferences(v.v.Type()) && !p.shares(t):
			continue
		case isPointer(v.v.Type()) && v.expr != v.v.Name() || t.parameter(p):
			return nil, &accesses[0], "the variable is reached through " + v.v.Name() + ", and it is not known what else leads to it"
		}
		out = append(out, t)
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(t *target) bool { return !p.writtenAt(t, accesses) })
	}
	if len(out) == 0 {
		return nil, &accesses[0], "it is not known which variable is accessed there"
	}
	return out, nil, ""
}

func compareKeys(a, b static.Key) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// writtenAt reports whether a variable may be written on a line of one of the accesses that write.
func (p *program) writtenAt(t *target, accesses []report.Access) bool {
	return slices.ContainsFunc(p.uses(t), func(u *use) bool {
		first, last := p.position(u.expr.Pos()), p.position(u.expr.End())
		return (u.write || u.leaves != nil || u.addr) && slices.ContainsFunc(accesses, func(a report.Access) bool {
			at := a.Stack[0]
			return a.Op != "read" && first.Line <= at.Line && at.Line <= last.Line && p.position(p.fileNamed(at.File).Syntax.Package).Filename == first.Filename
		})
	})
}

// shares reports whether other goroutines may access a local variable: a literal names it that may run in one of them, or its
// address is taken.
func (p *program) shares(t *target) (found bool) {
	for _, u := range p.uses(t) {
		if u.addr {
			return true
		}
		for fn := p.Around(u.expr); fn != nil && fn != t.fn; fn = fn.Parent {
			if !p.runsInPlace(fn) {
				return true
			}
		}
	}
	return false
}

// runsInPlace reports whether a literal only runs in the goroutine and in the activation of the function that it stands in.
func (p *program) runsInPlace(lit *static.Function) bool {
	if !p.locks.CallersKnown(lit) {
		return false
	}
	for c := range p.calls {
		if c.Only() == lit && (c.Started || c.In != lit.Parent && c.In != lit) {
			return false
		}
	}
	return true
}

// oneName returns the first of the names of some variables.
func oneName(all map[static.Key]namedVariable) string {
	var names []string
	for _, v := range all {
		names = append(names, v.v.Name())
	}
	return slices.Min(names)
}

// within returns the variables of one set whose types declare those of the other one: a struct, of which others name a field.
func (p *program) within(a, b map[static.Key]namedVariable) map[static.Key]namedVariable {
	out := map[static.Key]namedVariable{}
	for _, sets := range [][2]map[static.Key]namedVariable{{a, b}, {b, a}} {
		for key, outer := range sets[0] {
			st, ok := outer.v.Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for field := range st.Fields() {
				if _, ok := sets[1][p.Key(field)]; ok {
					out[key] = outer
				}
			}
		}
	}
	return out
}

// parameter reports whether a local variable is a parameter whose elements were passed in.
func (t *target) parameter(p *program) bool {
	for n := ast.Node(t.first().ident); n != nil && n != t.fn.Body; n = p.Parent(n) {
		if n == ast.Node(t.fn.Type.Params) || t.fn.Recv() != nil && n == ast.Node(t.fn.Recv()) {
			return leadsOn(t.first().v.Type()) || isPointer(t.first().v.Type())
		}
	}
	return false
}

// copies counts the places at which packages copy locks, by message.
func copies(all []*packages.Package) (map[string]int, error) { return diagnose(copylock.Analyzer, all) }

// diagnose counts what an analyzer finds in packages, by message. An error means that it is not known.
func diagnose(a *analysis.Analyzer, all []*packages.Package) (map[string]int, error) {
	graph, err := checker.Analyze([]*analysis.Analyzer{a}, all, nil)
	if err != nil {
		return nil, fmt.Errorf("analyzer %s: %w", a.Name, err)
	}
	out := map[string]int{}
	for _, root := range graph.Roots {
		if root.Err != nil {
			return nil, fmt.Errorf("analyzer %s: %s: %w", a.Name, root.Package.PkgPath, root.Err)
		}
		for _, d := range root.Diagnostics {
			out[d.Message]++
		}
	}
	return out, nil
}

func containsAll(known, now map[string]int) bool {
	for message, n := range now {
		if n > known[message] {
			return false
		}
	}
	return true
}
