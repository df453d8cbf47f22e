package enforce

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go/ast"
	"go/parser"
	"go/token"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// randomSource writes a random function. Each access is on a line of its own.
type randomSource struct {
	r     *rand.Rand
	b     strings.Builder
	loops int
	tests int
}

func (g *randomSource) line(depth int, format string, args ...any) {
	fmt.Fprintf(&g.b, "%s"+format+"\n", append([]any{strings.Repeat("\t", depth)}, args...)...)
}

func (g *randomSource) condition() string {
	g.tests++
	if g.r.IntN(4) == 0 {
		return fmt.Sprintf("v%d > 0", g.r.IntN(2))
	}
	return fmt.Sprintf("flip(%d)", g.tests)
}

func (g *randomSource) block(depth, size int) {
	for range 1 + g.r.IntN(max(size, 1)) {
		g.statement(depth, size)
	}
}

func (g *randomSource) statement(depth, size int) {
	kind := g.r.IntN(12)
	if depth > 4 && kind > 4 {
		kind = g.r.IntN(5)
	}
	switch kind {
	case 0, 1:
		g.line(depth, "v%d = step()", g.r.IntN(2))
	case 2, 3:
		g.line(depth, "use(v%d)", g.r.IntN(2))
	case 4:
		g.line(depth, "v%d++", g.r.IntN(2))
	case 5, 6:
		g.line(depth, "if %s {", g.condition())
		g.block(depth+1, size-1)
		switch g.r.IntN(3) {
		case 0:
			g.line(depth, "} else {")
			g.block(depth+1, size-1)
		case 1:
			g.line(depth, "} else if %s {", g.condition())
			g.block(depth+1, size-1)
		}
		g.line(depth, "}")
	case 7:
		g.loops++
		g.line(depth, "for %s {", g.condition())
		g.block(depth+1, size-1)
		if g.r.IntN(2) == 0 {
			g.line(depth+1, "if %s {", g.condition())
			g.line(depth+2, "%s", []string{"break", "continue"}[g.r.IntN(2)])
			g.line(depth+1, "}")
			g.statement(depth+1, 1)
		}
		g.line(depth, "}")
	case 8:
		g.line(depth, "for range step() {")
		g.block(depth+1, size-1)
		g.line(depth, "}")
	case 9:
		g.line(depth, "switch step() {")
		for i := range 1 + g.r.IntN(2) {
			g.line(depth, "case %d:", i)
			g.block(depth+1, size-1)
		}
		if g.r.IntN(2) == 0 {
			g.line(depth, "default:")
			g.block(depth+1, size-1)
		}
		g.line(depth, "}")
	case 10:
		g.line(depth, "for i := 0; i < step(); i++ {")
		g.block(depth+1, size-1)
		g.line(depth, "}")
	case 11:
		g.line(depth, "if %s {", g.condition())
		g.line(depth+1, "return")
		g.line(depth, "}")
	}
}

const randomRest = `
var v0, v1 int

var choices []bool

func flip(int) bool {
	if len(choices) == 0 {
		return false
	}
	c := choices[0]
	choices = choices[1:]
	return c
}

func step() int {
	if flip(0) {
		return 1
	}
	return 0
}

func use(int) {}
`

// TestRandomFunctions follows random paths through random functions, in the source that Files has written, and checks
// that before each statement the lock of each variable is held exactly as the Placement on the abstract graph has it.
// The source is read anew: nothing but the order of statements is known of the abstract graph.
func TestRandomFunctions(t *testing.T) {
	count := tier.Pick(8, 8, 60)
	files := map[string]string{}
	for i := range count {
		g := &randomSource{r: rand.New(rand.NewPCG(uint64(i), 28))}
		g.line(0, "package main\n\nfunc f%d() {", i)
		g.block(1, 3)
		g.line(0, "}")
		files[fmt.Sprintf("f%d.go", i)] = g.b.String()
	}
	files["rest.go"] = "package main\n" + randomRest + "\nfunc main() {}\n"
	p := module(t, files)
	paths, operations := 0, 0
	for i := range count {
		r := rand.New(rand.NewPCG(uint64(i), 29))
		var u *unit
		for _, c := range p.units {
			if c.Decl != nil && c.Decl.Name.Name == fmt.Sprintf("f%d", i) {
				u = c
			}
		}
		profile := randomProfile(t, p, u, r)
		if profile == nil {
			continue
		}
		pl := plan(t, p, profile)
		if len(pl.Refused) > 0 && len(pl.names) == 0 {
			continue
		}
		written, err := pl.Files()
		if err != nil {
			t.Fatal(err)
		}
		text, ok := written[u.Path]
		if !ok {
			continue
		}
		m := newMachine(t, pl, u, text)
		for range 40 {
			paths++
			operations += m.follow(r)
			if t.Failed() {
				t.Fatalf("f%d\n%s", i, text)
			}
		}
	}
	if paths < 10*count || operations < 2*paths {
		t.Errorf("%d paths with %d operations", paths, operations)
	}
}

// randomProfile makes random pairs of the accesses in a function.
func randomProfile(t *testing.T, p *Program, u *unit, r *rand.Rand) *heal.Profile {
	t.Helper()
	pairs := map[string][]any{}
	found := false
	for n := range 2 {
		name := fmt.Sprintf("example.com/m.v%d", n)
		var all []jsonUse
		for _, s := range u.flow.steps {
			for _, a := range s.accesses {
				if a.variable == name {
					all = append(all, jsonUse{"f", u.Path, p.lineOf(a.at), map[bool]string{false: "read", true: "write"}[a.write]})
				}
			}
		}
		pairs[name] = []any{}
		for range 4 * len(all) {
			pairs[name] = append(pairs[name], jsonPair{all[r.IntN(len(all))], all[r.IntN(len(all))], []string{"read", "exclusive"}[r.IntN(2)]})
		}
		found = found || len(all) > 0
	}
	if !found {
		return nil
	}
	return decodeProfile(t, pairs)
}

// machine interprets a changed function. It knows Go, and nothing of the steps of package enforce.
type machine struct {
	t      *testing.T
	pl     *Plan
	u      *unit
	fset   *token.FileSet
	body   *ast.BlockStmt
	held   map[string]*heldState
	r      *rand.Rand
	done   int
	budget int
	at     int // the latest node
	model  map[string]map[reason]heal.Mode
}

// heldState is what a lock.Held does.
type heldState struct {
	variable string
	site     int
	latest   heal.Mode
	holds    map[int]heal.Mode
}

func (h *heldState) mode() heal.Mode {
	mode := h.latest
	for _, m := range h.holds {
		mode = max(mode, m)
	}
	return mode
}

func newMachine(t *testing.T, pl *Plan, u *unit, text []byte) *machine {
	t.Helper()
	m := &machine{t: t, pl: pl, u: u, fset: token.NewFileSet()}
	f, err := parser.ParseFile(m.fset, u.Path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.TrimSuffix(fn.Name.Name, suffix) == u.Decl.Name.Name {
			m.body = fn.Body
		}
	}
	old, err := os.ReadFile(filepath.Clean(u.Path))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Count(string(old), "\n"), strings.Count(string(text), "\n"); a != b {
		t.Errorf("%d lines have become %d", a, b)
	}
	return m
}

// outcome is how control leaves a statement.
type outcome int

const (
	next outcome = iota
	breaks
	continues
	returns
)

// follow follows a random path, and returns the number of operations that it has made.
func (m *machine) follow(r *rand.Rand) int {
	m.r, m.done, m.budget = r, 0, 200
	m.held = map[string]*heldState{}
	m.model = map[string]map[reason]heal.Mode{}
	for _, name := range m.pl.names {
		m.model[name] = map[reason]heal.Mode{}
	}
	m.at = -1
	m.block(m.body.List)
	return m.done
}

func (m *machine) block(list []ast.Stmt) outcome {
	for _, s := range list {
		if out := m.stmt(s); out != next {
			return out
		}
	}
	return next
}

func (m *machine) flip() bool {
	m.budget--
	return m.budget > 0 && m.r.IntN(2) == 0
}

// stmt interprets a statement.
func (m *machine) stmt(s ast.Stmt) outcome {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if m.operation(s.X) {
			return next
		}
		m.node(s.Pos())
	case *ast.AssignStmt, *ast.IncDecStmt:
		if a, ok := s.(*ast.AssignStmt); ok && m.inner(a) {
			return next
		}
		m.node(s.Pos())
	case *ast.DeclStmt:
		d := s.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
		m.held[d.Names[0].Name] = &heldState{holds: map[int]heal.Mode{}}
	case *ast.DeferStmt, *ast.EmptyStmt:
	case *ast.BlockStmt:
		return m.block(s.List)
	case *ast.IfStmt:
		m.expr(s.Cond)
		if m.flip() {
			return m.block(s.Body.List)
		}
		if s.Else != nil {
			return m.stmt(s.Else)
		}
	case *ast.ForStmt:
		if s.Init != nil {
			m.node(s.Init.Pos())
		}
		for {
			m.expr(s.Cond)
			if !m.flip() {
				return next
			}
			if out := m.block(s.Body.List); out == breaks {
				return next
			} else if out == returns {
				return out
			}
			if s.Post != nil {
				m.node(s.Post.Pos())
			}
		}
	case *ast.RangeStmt:
		m.node(s.X.Pos())
		for {
			m.head(s.X.Pos())
			if !m.flip() {
				return next
			}
			if out := m.block(s.Body.List); out == breaks {
				return next
			} else if out == returns {
				return out
			}
		}
	case *ast.SwitchStmt:
		m.node(s.Tag.Pos())
		i := m.r.IntN(len(s.Body.List) + 1)
		for _, c := range s.Body.List {
			if c.(*ast.CaseClause).List == nil && i == len(s.Body.List) {
				i = slices.Index(s.Body.List, c)
			}
		}
		if i < len(s.Body.List) {
			if out := m.block(s.Body.List[i].(*ast.CaseClause).Body); out != breaks {
				return out
			}
		}
	case *ast.ReturnStmt:
		m.node(s.Pos())
		return returns
	case *ast.BranchStmt:
		m.node(s.Pos())
		if s.Tok == token.BREAK {
			return breaks
		}
		return continues
	default:
		m.t.Errorf("a %T", s)
	}
	return next
}

// inner interprets h1 := h0.Inner().
func (m *machine) inner(a *ast.AssignStmt) bool {
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Inner" {
		return false
	}
	m.held[a.Lhs[0].(*ast.Ident).Name] = &heldState{holds: map[int]heal.Mode{}}
	return true
}

// expr interprets a condition, with operations before it.
func (m *machine) expr(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.LAND {
		if call, ok := b.X.(*ast.CallExpr); ok {
			if lit, ok := call.Fun.(*ast.FuncLit); ok {
				for _, s := range lit.Body.List {
					if x, ok := s.(*ast.ExprStmt); ok && !m.operation(x.X) {
						m.t.Errorf("no operation")
					}
				}
				e = b.Y
			}
		}
	}
	m.node(ast.Unparen(e).Pos())
}

var operand = regexp.MustCompile(`^V([0-9]+)$`)

// operation interprets an operation of a Held.
func (m *machine) operation(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	h := m.held[sel.X.(*ast.Ident).Name]
	if h == nil {
		m.t.Errorf("no Held %v", sel.X)
		return true
	}
	m.done++
	number := func(i int) int {
		n, err := strconv.Atoi(call.Args[i].(*ast.BasicLit).Value)
		if err != nil {
			m.t.Error(err)
		}
		return n
	}
	mode := func(i int) heal.Mode {
		name := call.Args[i].(*ast.SelectorExpr).Sel.Name
		for mode := heal.Free; mode <= heal.Exclusive; mode++ {
			if strings.EqualFold(mode.String(), name) {
				return mode
			}
		}
		m.t.Errorf("mode %s", name)
		return 0
	}
	variable := func() {
		v := operand.FindStringSubmatch(call.Args[0].(*ast.UnaryExpr).X.(*ast.SelectorExpr).Sel.Name)
		n, _ := strconv.Atoi(v[1])
		h.variable = m.pl.names[n]
	}
	switch sel.Sel.Name {
	case "Acquire":
		variable()
		h.latest, h.site = max(h.latest, mode(1)), number(2)
	case "Degrade":
		if h.site == number(0) {
			h.latest = min(h.latest, mode(1))
		}
	case "Hold":
		variable()
		h.holds[number(2)] = max(h.holds[number(2)], mode(1))
	case "Unhold":
		delete(h.holds, number(0))
	case "Yield": // nobody else is there
	default:
		m.t.Errorf("operation %s", sel.Sel.Name)
	}
	return true
}

// node comes to the step at a place.
func (m *machine) node(pos token.Pos) { m.come(pos, false) }

// head comes to the head of a loop.
func (m *machine) head(pos token.Pos) { m.come(pos, true) }

func (m *machine) come(pos token.Pos, head bool) {
	line := m.fset.Position(pos).Line
	var candidates []*step
	for _, s := range m.u.flow.steps {
		if s.id == 0 {
			continue
		}
		at := 0
		switch {
		case s.before.kind == jumps && len(s.before.jumps) > 0:
			at = m.pl.p.lineOf(s.before.jumps[0].pos)
		case s.before.kind == condition, s.before.kind == elseIf, s.before.kind == statement:
			at = m.pl.p.lineOf(s.before.pos)
		}
		if at == line || len(s.parts) > 0 && m.pl.p.lineOf(s.parts[0].Pos()) == line {
			candidates = append(candidates, s)
		}
	}
	// On one line, the successor of the latest node is meant.
	from := max(m.at, 0)
	candidates = slices.DeleteFunc(candidates, func(s *step) bool {
		return !slices.Contains(m.u.flow.edges, [2]int{from, s.id}) || head != (s.before.kind == jumps && isHead(m.u, s))
	})
	if len(candidates) != 1 {
		m.t.Errorf("line %d after node %d: %d steps", line, from, len(candidates))
		return
	}
	m.advance(from, candidates[0].id)
	m.at = candidates[0].id
}

// isHead reports whether a step is the head of a range loop rather than the last part of a for loop.
func isHead(u *unit, s *step) bool {
	n := 0
	for _, e := range u.flow.edges {
		if e[0] == s.id {
			n++
		}
	}
	return n > 1 || len(s.parts) == 0
}

// advance makes the operations of the Placements between two nodes, and compares what is held.
func (m *machine) advance(from, to int) {
	for _, name := range m.pl.names {
		pl := m.pl.result.Placements[m.u.Number][name]
		if pl == nil {
			continue
		}
		model := m.model[name]
		for _, r := range pl.Releases {
			key := reason{name, r.Access, r.Hold}
			if r.From != from || r.To != to {
				continue
			}
			if mode, ok := model[key]; ok {
				if r.Left == heal.Free {
					delete(model, key)
				} else {
					model[key] = min(mode, r.Left)
				}
			}
		}
		for _, a := range pl.Acquisitions {
			if a.Node != to {
				continue
			}
			key := reason{name, -1, a.Hold}
			if a.Hold < 0 {
				key = reason{name, a.Node, -1}
				strongest := a.Mode
				for other, mode := range model {
					if other.hold < 0 {
						strongest = max(strongest, mode)
						delete(model, other)
					}
				}
				model[key] = strongest
				continue
			}
			model[key] = max(model[key], a.Mode)
		}
		want := heal.Free
		for mode := range maps.Values(model) {
			want = max(want, mode)
		}
		got := heal.Free
		for _, h := range m.held {
			if h.variable == name {
				got = h.mode()
			}
		}
		if got != want {
			m.t.Errorf("from %d to %d: %s is held %v, want %v (%v)", from, to, name, got, want, model)
		}
	}
}
