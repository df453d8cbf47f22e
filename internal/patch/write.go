package patch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// write turns a repair into edits.
func (r *repair) write() (*edits, *refusal) {
	if r.atomic {
		return r.writeFlag()
	}
	e := &edits{texts: r.texts, files: map[string][]edit{}}
	if !r.g.existing {
		if why := r.declare(e); why != nil {
			return nil, why
		}
	}
	for _, g := range r.result {
		if why := r.section(e, g); why != nil {
			return nil, why
		}
	}
	for _, c := range r.upgrades {
		name := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr).Sel
		e.replace(name.Pos(), name.End(), strings.TrimPrefix(name.Name, "R"))
	}
	return e, nil
}

// declare declares the new mutex.
func (r *repair) declare(e *edits) *refusal {
	t := r.t
	pkg, err := e.importStd(t.file, "sync")
	if err != nil {
		return &refusal{t.first().ident.Pos(), err.Error()}
	}
	comment := "// guards " + t.names()
	if r.accessors {
		comment = "// makes sequences of accesses to " + t.names() + " atomic"
	}
	line := r.g.name + " " + pkg + ".Mutex " + comment
	ident := t.first().ident
	if t.isField() && !r.g.absolute.Valid() {
		field, ok := r.p.Parent(ident).(*ast.Field)
		if !ok {
			return refuse(ident, "the field has no declaration of its own")
		}
		at := field.Pos()
		if field.Doc != nil {
			at = field.Doc.Pos()
		}
		e.before(at, line)
		return nil
	}
	if t.isField() {
		comment = strings.Replace(comment, "// guards ", "// guards "+r.p.typeSpec(ident).Name.Name+".", 1)
		return r.beforeDeclaration(e, "var "+r.g.name+" "+pkg+".Mutex "+comment)
	}
	if t.fn == nil {
		return r.besideVariable(e, line)
	}
	for n := ast.Node(ident); n != nil; n = r.p.Parent(n) {
		if n == t.fn.Node || r.p.Parent(n) == t.fn.Node { // a parameter or result
			e.before(t.fn.Body.List[0].Pos(), "var "+line)
			return nil
		}
		if slices.ContainsFunc(statements(r.p.Parent(n)), func(s ast.Stmt) bool { return s == n }) {
			switch n.(type) {
			case *ast.AssignStmt, *ast.DeclStmt:
				e.before(n.Pos(), "var "+line)
				return nil
			}
			break
		}
	}
	return refuse(ident, "%s is declared where no mutex can be declared beside it", ident.Name)
}

// beforeDeclaration inserts a line before the declaration of a type at package level.
func (r *repair) beforeDeclaration(e *edits, line string) *refusal {
	for n := ast.Node(r.t.first().ident); n != nil; n = r.p.Parent(n) {
		decl, ok := n.(*ast.GenDecl)
		if !ok {
			continue
		}
		if _, top := r.p.Parent(decl).(*ast.File); !top {
			break
		}
		at := decl.Pos()
		if decl.Doc != nil {
			at = decl.Doc.Pos()
		}
		e.before(at, line, "")
		return nil
	}
	return refuse(r.t.first().ident, "the type is declared in a function")
}

// besideVariable inserts a declaration after that of a package-level variable.
func (r *repair) besideVariable(e *edits, line string) *refusal {
	for n := ast.Node(r.t.first().ident); n != nil; n = r.p.Parent(n) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			continue
		}
		decl := r.p.Parent(spec).(*ast.GenDecl)
		if decl.Lparen.IsValid() {
			e.after(spec.Pos(), spec.End(), line)
		} else {
			e.after(decl.Pos(), decl.End(), "", "var "+line)
		}
		return nil
	}
	return refuse(r.t.first().ident, "the declaration is not understood")
}

// section writes a critical section.
func (r *repair) section(e *edits, g *region) *refusal {
	take, give := ".Lock()", ".Unlock()"
	if r.g.rw && !g.exclusive {
		take, give = ".RLock()", ".RUnlock()"
	}
	comment := r.comment(g)
	if why := r.operands(e, g); why != nil {
		return why
	}
	for _, c := range g.moved {
		stmt := r.p.Parent(c.Expr)
		if stmt == ast.Node(g.list[g.first]) {
			e.replace(stmt.Pos(), stmt.End(), "")
		} else {
			e.remove(stmt)
		}
	}
	switch g.form {
	case enclosed:
		var lines []string
		for _, d := range g.declared {
			lines = append(lines, "var "+d.name+" "+d.typ)
		}
		for i, d := range g.declared {
			if i == 0 || g.declared[i-1].at != d.at {
				e.replace(d.at.TokPos, d.at.TokPos+2, "=")
			}
		}
		e.before(g.start(), append(lines, comment, "func() {", g.lock+take, "defer "+g.lock+give)...)
		e.after(g.start(), g.end(), "}()")
	case withExits:
		e.before(g.start(), comment, g.lock+take)
		for _, exit := range g.exits {
			if why := r.exit(e, g, exit, give); why != nil {
				return why
			}
		}
		if !ends(g.list[g.last]) {
			e.after(g.start(), g.end(), g.lock+give)
		}
	case around:
		e.before(g.start(), comment, g.lock+take)
		if g.then == nil {
			e.after(g.start(), g.end(), g.lock+give)
			break
		}
		lines, why := r.values(e, g, g.then)
		if why != nil {
			return why
		}
		e.before(g.then.start(), append(lines, g.lock+give)...)
	case deferred:
		e.before(g.start(), comment, g.lock+take, "defer "+g.lock+give, "")
	case ahead:
		lines := []string{comment, g.lock + take}
		if g.init != nil {
			stmt := g.list[g.first].(*ast.IfStmt)
			lines = append(lines, e.texts.of(g.init))
			e.replace(stmt.Init.Pos(), stmt.Cond.Pos(), "")
		}
		values, why := r.values(e, g, g)
		if why != nil {
			return why
		}
		e.before(g.start(), append(append(lines, values...), g.lock+give)...)
	}
	return nil
}

// values writes the values that a region reads ahead of its statement, and returns the lines that read them. Their names are those of
// another region, or of the same one.
func (r *repair) values(e *edits, of, g *region) (lines []string, why *refusal) {
	names := map[string]string{} // by expression
	replaced := map[ast.Expr]bool{}
	for _, u := range g.uses {
		if g.init != nil && within(g.init, u.expr) {
			continue
		}
		expr := r.readAhead(u, g.list[g.first])
		if expr == nil {
			return nil, refuse(u.expr, "%s is not read by a statement that the lock can be held around", e.texts.of(u.expr))
		}
		text := e.texts.of(expr)
		if names[text] == "" {
			name := r.newName(of, expr, names)
			if name == "" {
				return nil, refuse(u.expr, "there is no name for the value of %s", text)
			}
			names[text] = name
			lines = append(lines, name+" := "+text)
		}
		if !replaced[expr] {
			replaced[expr] = true
			e.replace(expr.Pos(), expr.End(), names[text])
		}
	}
	return lines, nil
}

// operands writes the operands that are evaluated ahead of a statement.
func (r *repair) operands(e *edits, g *region) *refusal {
	var lines []string
	for _, operand := range g.early {
		base := "received"
		if call, ok := operand.(*ast.CallExpr); ok {
			base = operandName(g.fn.Info(), call)
		}
		name := r.freeName(g, base, nil)
		if name == "" {
			return refuse(operand, "there is no name for the value of %s", e.texts.of(operand))
		}
		lines = append(lines, name+" := "+e.texts.of(operand))
		e.replace(operand.Pos(), operand.End(), name)
	}
	if len(lines) > 0 {
		e.before(g.start(), lines...)
	}
	return nil
}

// exit writes a return or branch statement that leaves a region: what it reads of the target is read first.
func (r *repair) exit(e *edits, g *region, exit ast.Stmt, give string) *refusal {
	var lines []string
	if ret, ok := exit.(*ast.ReturnStmt); ok {
		for _, result := range ret.Results {
			if !r.hasUse(g, result) {
				continue
			}
			name := r.freeName(g, "result", nil)
			if name == "" {
				return refuse(result, "there is no name for the value of %s", e.texts.of(result))
			}
			lines = append(lines, name+" := "+e.texts.of(result))
			e.replace(result.Pos(), result.End(), name)
		}
	}
	e.before(exit.Pos(), append(lines, g.lock+give)...)
	return nil
}

// comment says what a critical section makes atomic.
func (r *repair) comment(g *region) string {
	reads, writes := false, false
	var names []string
	conditions := false
	uses := g.uses
	if g.then != nil {
		uses = slices.Concat(uses, g.then.uses)
	}
	for _, u := range uses {
		writes = writes || u.write
		reads = reads || !u.write || r.p.updates(u)
		conditions = conditions || !u.write && g.form != ahead && r.inCondition(u)
		if name := strings.Join(strings.Fields(r.texts.of(u.expr)), " "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if _, calls := g.uses[0].expr.(*ast.CallExpr); calls {
		names = []string{r.t.names()}
	}
	verb := "is"
	if len(names) > 1 {
		names = []string{r.t.names()}
		if len(r.t.variables) > 1 {
			verb = "are"
		}
	}
	switch {
	case writes && conditions:
		return fmt.Sprintf("// %s %s checked and changed in one step.", names[0], verb)
	case reads && writes:
		return fmt.Sprintf("// %s %s read and written in one step.", names[0], verb)
	case writes:
		return fmt.Sprintf("// %s %s written while nobody else accesses %s.", names[0], verb, pronoun(verb))
	}
	return fmt.Sprintf("// %s %s read while nobody writes %s.", names[0], verb, pronoun(verb))
}

func pronoun(verb string) string {
	if verb == "are" {
		return "them"
	}
	return "it"
}

// inCondition reports whether a use stands in the condition of an if statement.
func (r *repair) inCondition(u *use) bool {
	for n := ast.Node(u.expr); n != nil; n = r.p.Parent(n) {
		if s, ok := r.p.Parent(n).(*ast.IfStmt); ok {
			return s.Cond == n || s.Init == n
		}
		if _, ok := n.(ast.Stmt); ok {
			if s, ok := r.p.Parent(n).(*ast.IfStmt); !ok || s.Init != n {
				return false
			}
		}
	}
	return false
}

// newName returns a name for the value of an expression that the function does not use yet, or "".
func (r *repair) newName(g *region, expr ast.Expr, others map[string]string) string {
	base := ""
	switch e := ast.Unparen(expr).(type) {
	case *ast.CallExpr:
		base = "length"
	case *ast.SelectorExpr:
		base = lowered(e.Sel.Name)
	case *ast.IndexExpr:
		base = "value"
	case *ast.Ident:
		base = "current"
	case *ast.BinaryExpr:
		base = "ok"
	}
	if base == "" {
		return ""
	}
	return r.freeName(g, base, others)
}

// freeName returns a name that begins with a word and that the function does not use yet, or "".
func (r *repair) freeName(g *region, base string, others map[string]string) string {
	for _, name := range []string{base, base + "Now", "current" + raised(base), base + "2", base + "3", base + "4"} {
		used := r.named(g.fn, name, nil) || types.Universe.Lookup(name) != nil || token.IsKeyword(name) ||
			g.fn.Package.Types.Scope().Lookup(name) != nil
		for _, other := range others {
			used = used || other == name
		}
		used = used || slices.Contains(g.names, name) && others == nil
		for _, other := range r.result {
			used = used || other != g && other.fn == g.fn && slices.Contains(other.names, name)
		}
		if !used {
			g.names = append(g.names, name)
			return name
		}
	}
	return ""
}
