package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder walks the statements on a line and collects the expressions that they use, with their
// roles. It follows what the compiler instruments: loads and stores of memory that other goroutines
// may reach.
type finder struct {
	pkg        *pkg
	file       *file
	fset       *token.FileSet
	lines      []int
	importPath string // of the package; empty if it is not known

	found     []candidate
	innermost map[int]string // text of the innermost statement on the line, by the function literals around it
	deepest   string         // text of the innermost one of all
	statement string         // text of the statement being walked
	operator  token.Pos      // of its assignment, the place of its stores
	depth     int            // function literals around it
	nesting   int            // expressions around the one being walked that need its value
	verb      string         // of the candidates that are added
	choosing  bool           // it is the case of a select statement
	within    ast.Node       // what is accessed may be so on any line of this; nil for none
	results   []*ast.Ident   // the named results of the function
	received  ast.Expr       // the channel that is sent to or received from
}

// search walks the file's declarations on the line.
func (f *finder) search() {
	for _, d := range f.file.syntax.Decls {
		if !f.onLine(d.Pos(), d.End()) {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.function(d.Recv, d.Type, d.Body)
		case *ast.GenDecl:
			f.specs(d)
		}
	}
}

// statementIn returns the innermost statement on the line in a function literal of a depth, or of all if the function is
// not known.
func (f *finder) statementIn(function string) string {
	if function == "" {
		return f.deepest
	}
	return f.innermost[literalDepth(function)]
}

// begin starts a statement that ends at end, where the blocks in it begin.
func (f *finder) begin(s ast.Node, end, operator token.Pos) {
	f.statement, f.operator = f.textOf(s, end), operator
	if f.onLine(s.Pos(), end) {
		f.innermost[f.depth], f.deepest = f.statement, f.statement
	}
}

func (f *finder) simple(s ast.Node, operator token.Pos) { f.begin(s, s.End(), operator) }

// stmt walks the parts of s on the line.
func (f *finder) stmt(s ast.Stmt) {
	if !f.onLine(s.Pos(), s.End()) {
		return
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		f.stmts(s.List)
	case *ast.LabeledStmt:
		f.stmt(s.Stmt)
	case *ast.DeclStmt:
		f.specs(s.Decl.(*ast.GenDecl))
	case *ast.ExprStmt:
		f.simple(s, token.NoPos)
		f.expr(s.X, reads, rankShared)
	case *ast.SendStmt:
		f.simple(s, token.NoPos)
		f.channel(s.Chan, Send)
		f.expr(s.Value, reads, rankShared)
	case *ast.IncDecStmt:
		f.simple(s, s.TokPos)
		f.expr(s.X, reads|writes, rankShared)
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.GoStmt:
		f.simple(s, token.NoPos)
		f.call(s.Call)
	case *ast.DeferStmt:
		f.simple(s, token.NoPos)
		f.call(s.Call)
	case *ast.ReturnStmt:
		f.simple(s, s.Pos())
		for _, name := range f.results {
			f.target(name, writes)
		}
		f.exprs(s.Results)
	case *ast.IfStmt:
		if f.header(s, s.Init, s.Body) {
			f.expr(s.Cond, reads, rankShared)
		}
		f.stmt(s.Body)
		if s.Else != nil {
			f.stmt(s.Else)
		}
	case *ast.ForStmt:
		if f.header(s, s.Init, s.Body) {
			f.expr(s.Cond, reads, rankShared)
			if s.Post != nil {
				f.stmt(s.Post)
			}
		}
		f.stmt(s.Body)
	case *ast.RangeStmt:
		f.rangeOver(s)
	case *ast.SwitchStmt:
		if f.header(s, s.Init, s.Body) {
			f.expr(s.Tag, reads, rankShared)
		}
		f.stmt(s.Body)
	case *ast.TypeSwitchStmt:
		if f.header(s, s.Init, s.Body) {
			f.stmt(s.Assign)
		}
		f.stmt(s.Body)
	case *ast.SelectStmt:
		if f.header(s, nil, s.Body) {
			f.retell(f.selectText(s))
			f.within, f.choosing = s, true
			for _, clause := range s.Body.List {
				f.selectable(clause.(*ast.CommClause))
			}
			f.within, f.choosing = nil, false
		}
		f.stmt(s.Body)
	case *ast.CaseClause:
		if f.onLine(s.Pos(), s.Colon) {
			f.begin(s, s.Colon, token.NoPos)
			f.exprs(s.List)
		}
		f.stmts(s.Body)
	case *ast.CommClause:
		if s.Comm != nil {
			f.stmt(s.Comm)
		}
		f.stmts(s.Body)
	}
}

func (f *finder) stmts(list []ast.Stmt) {
	for _, s := range list {
		f.stmt(s)
	}
}

// header begins a statement whose blocks start with body, and reports whether the part before body
// is on the line.
func (f *finder) header(s ast.Stmt, init ast.Stmt, body *ast.BlockStmt) bool {
	if !f.onLine(s.Pos(), body.Lbrace) {
		return false
	}
	if init != nil {
		f.stmt(init)
	}
	f.begin(s, body.Lbrace, token.NoPos)
	return true
}

// retell gives the statement that has begun another text.
func (f *finder) retell(text string) {
	f.statement = text
	f.innermost[f.depth], f.deepest = text, text
}

// selectText returns the text of a select statement: its cases, without what follows them.
func (f *finder) selectText(s *ast.SelectStmt) string {
	var cases []string
	for _, clause := range s.Body.List {
		if c := clause.(*ast.CommClause); c.Comm == nil {
			cases = append(cases, "default:")
		} else {
			cases = append(cases, f.textOf(c, c.Colon)+":")
		}
	}
	if len(cases) == 0 {
		return "select {}"
	}
	return shorten("select { " + strings.Join(cases, " ") + " }")
}

// selectable adds the channel operation of a select's case. It takes place on the line of the
// select.
func (f *finder) selectable(c *ast.CommClause) {
	ast.Inspect(c, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SendStmt:
			f.message(n.Chan, Send)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				f.message(n.X, Receive)
			}
		}
		return n != nil && !slices.ContainsFunc(c.Body, func(s ast.Stmt) bool { return s == n })
	})
}

func (f *finder) assign(s *ast.AssignStmt) {
	f.simple(s, s.TokPos)
	r := writes
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		r |= reads
	}
	for _, x := range s.Lhs {
		f.target(x, r)
	}
	f.exprs(s.Rhs)
}

// target walks an expression that is assigned to.
func (f *finder) target(e ast.Expr, r role) {
	if id, ok := e.(*ast.Ident); e != nil && !(ok && id.Name == "_") {
		f.expr(e, r, rankShared)
	}
}

func (f *finder) rangeOver(s *ast.RangeStmt) {
	if f.onLine(s.Pos(), s.Body.Lbrace) {
		f.begin(s, s.Body.Lbrace, s.TokPos)
		f.target(s.Key, writes)
		f.target(s.Value, writes)
		switch under(f.typeOf(s.X)).(type) {
		case *types.Chan:
			f.message(s.X, Receive)
		case *types.Map:
			f.addElements(s.X, reads)
		case nil, *types.Array, *types.Slice, *types.Pointer:
			if s.Value != nil {
				f.addElements(s.X, reads)
			} else if f.typeOf(s.X) == nil { // perhaps a channel
				f.verb = Receive
				f.addElements(s.X, messages)
				f.verb = ""
			}
		}
		f.expr(s.X, reads, rankShared)
	}
	f.stmt(s.Body)
}

// specs walks the variables of a declaration.
func (f *finder) specs(d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if !f.onLine(v.Pos(), v.End()) {
			continue
		}
		f.simple(v, v.Pos())
		for _, name := range v.Names {
			f.target(name, writes)
		}
		f.exprs(v.Values)
	}
}

func (f *finder) exprs(list []ast.Expr) {
	for _, e := range list {
		f.expr(e, reads, rankShared)
	}
}

// expr walks an expression that is used in a role. Its parts are read. limit bounds the rank of the
// expression itself. e is nil for an omitted expression.
func (f *finder) expr(e ast.Expr, r role, limit int) {
	if e == nil || f.pkg.info.Types[e].IsType() {
		return
	}
	switch e := e.(type) {
	case *ast.Ident:
		f.add(e, r, limit)
	case *ast.ParenExpr:
		f.expr(e.X, r, limit)
	case *ast.SelectorExpr:
		f.add(e, r, limit)
		f.base(e)
	case *ast.IndexExpr:
		f.index(e, r, limit)
	case *ast.StarExpr:
		f.add(e, r, limit)
		f.part(e.X, rankShared)
	case *ast.UnaryExpr:
		switch e.Op {
		case token.AND:
			f.address(e.X)
		case token.ARROW:
			f.channel(e.X, Receive)
		default:
			f.expr(e.X, reads, rankShared)
		}
	case *ast.BinaryExpr:
		f.expr(e.X, reads, rankShared)
		f.expr(e.Y, reads, rankShared)
	case *ast.CallExpr:
		f.call(e)
	case *ast.TypeAssertExpr:
		f.expr(e.X, reads, rankShared)
	case *ast.SliceExpr:
		f.container(e.X)
		for _, i := range [...]ast.Expr{e.Low, e.High, e.Max} {
			f.part(i, rankShared)
		}
	case *ast.CompositeLit:
		f.add(e, writes, rankRemote)
		for _, element := range e.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				if _, named := kv.Key.(*ast.Ident); !named { // perhaps a field
					f.expr(kv.Key, reads, rankShared)
				}
				element = kv.Value
			}
			f.expr(element, reads, rankShared)
		}
	case *ast.FuncLit:
		f.literal(e)
	}
}

// literal walks the body of a function literal that stands in a statement.
func (f *finder) literal(e *ast.FuncLit) {
	statement, operator := f.statement, f.operator
	f.depth++
	f.function(nil, e.Type, e.Body)
	f.depth--
	f.statement, f.operator = statement, operator
}

// function walks the body of a function, and its parameters: those that goroutines share are copied when it is called.
func (f *finder) function(receiver *ast.FieldList, t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil {
		return
	}
	outer := f.results
	f.results = namesIn(t.Results)
	if f.onLine(t.Pos(), body.Lbrace) {
		statement, operator := f.statement, f.operator
		f.statement, f.operator = "", token.NoPos
		for _, name := range slices.Concat(namesIn(receiver), namesIn(t.Params)) {
			f.target(name, writes)
		}
		f.statement, f.operator = statement, operator
	}
	f.stmt(body)
	f.results = outer
}

// namesIn returns the names of parameters or results.
func namesIn(list *ast.FieldList) (all []*ast.Ident) {
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		all = append(all, field.Names...)
	}
	return all
}

// channel walks a channel that is sent to or received from. The runtime reports a read of the
// channel for both, and a write for closing it.
func (f *finder) channel(e ast.Expr, verb string) {
	f.message(e, verb)
	outer := f.received
	f.received = ast.Unparen(e)
	f.expr(e, reads, rankShared)
	f.received = outer
}

// Verbs of candidates.
const (
	Send    = "send"
	Receive = "receive"
	Close   = "close"
	Lock    = "lock"
	Wait    = "wait for"
)

// message adds a channel that is sent to or received from.
func (f *finder) message(e ast.Expr, verb string) {
	f.verb = verb
	f.addElements(e, reads|messages)
	f.verb = ""
}

// part walks an expression whose value the expression around it needs.
func (f *finder) part(e ast.Expr, limit int) {
	f.nesting++
	f.expr(e, reads, limit)
	f.nesting--
}

// base walks what has to be loaded to reach a field or method.
func (f *finder) base(e *ast.SelectorExpr) {
	switch {
	case f.packageName(e.X) != "":
	case f.typeOf(e.X) == nil:
		f.part(e.X, rankUnknown)
	case isPointer(f.typeOf(e.X)):
		f.part(e.X, rankShared)
	default:
		f.address(e.X)
	}
}

func (f *finder) index(e *ast.IndexExpr, r role, limit int) {
	switch under(f.typeOf(e.X)).(type) {
	case *types.Signature: // an instantiated function
		return
	case *types.Map: // the runtime reports the map, not the element
		f.addElements(e.X, r)
	default:
		f.add(e, r, limit)
	}
	f.container(e.X)
	f.part(e.Index, rankShared)
}

// container walks an expression that is indexed or sliced. An array contains its elements; anything
// else is loaded first.
func (f *finder) container(e ast.Expr) {
	if _, ok := under(f.typeOf(e)).(*types.Array); ok {
		f.address(e)
	} else {
		f.part(e, rankShared)
	}
}

// address walks an expression whose address is taken. The expression itself is not loaded, but its
// parts are.
func (f *finder) address(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
	case *ast.ParenExpr:
		f.address(e.X)
	case *ast.SelectorExpr:
		f.base(e)
	case *ast.IndexExpr:
		f.container(e.X)
		f.part(e.Index, rankShared)
	case *ast.StarExpr:
		f.part(e.X, rankShared)
	default:
		f.expr(e, reads, rankShared)
	}
}

// textOf returns the source from the start of s to end on one line, without comments and without the
// bodies of function literals.
func (f *finder) textOf(s ast.Node, end token.Pos) string {
	var skips []ast.Node
	for _, group := range f.file.syntax.Comments {
		for _, c := range group.List {
			skips = append(skips, c)
		}
	}
	bodies := map[ast.Node]bool{}
	ast.Inspect(s, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			bodies[lit.Body] = true
			skips = append(skips, lit.Body)
			return false
		}
		return true
	})
	slices.SortFunc(skips, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	var out strings.Builder
	at := s.Pos()
	for _, skip := range skips {
		if skip.Pos() < at || skip.Pos() >= end {
			continue
		}
		out.WriteString(f.source(at, skip.Pos()))
		if bodies[skip] {
			out.WriteString("{…}")
		}
		at = skip.End()
	}
	out.WriteString(f.source(min(at, end), end))
	return shorten(out.String())
}

// source returns the text between two positions of the file.
func (f *finder) source(from, to token.Pos) string {
	a, b := f.fset.PositionFor(from, false), f.fset.PositionFor(to, false)
	var out strings.Builder
	for n := a.Line; n <= b.Line && n <= len(f.file.lines); n++ {
		line := f.file.lines[n-1]
		first, last := 0, len(line)
		if n == a.Line {
			first = min(a.Column-1, len(line))
		}
		if n == b.Line {
			last = min(b.Column-1, len(line))
		}
		if first < last {
			out.Write(line[first:last])
		}
		out.WriteByte(' ')
	}
	return out.String()
}
