package patch

import (
	"go/ast"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// Repair is a variable, or several of one type, that a patch repairs.
type Repair struct {
	Summary  string   // such as "counter.n: guarded by a new mutex, mu"
	Findings []string // the fingerprints of its findings
	Tests    []Test   // those that may come to what is changed

	touched []string // the changed functions, see declared
}

// Test is a test function.
type Test struct{ Package, Name string }

// declared names the function that a function is or stands in, in a way that does not depend on lines.
func declared(fn *static.Function) string {
	if fn == nil || fn.Decl == nil {
		return ""
	}
	name := fn.Package.PkgPath + "." + fn.Decl.Name.Name
	if fn.Decl.Recv != nil && len(fn.Decl.Recv.List) > 0 {
		name += " " + exprText(fn.Decl.Recv.List[0].Type)
	}
	return name
}

func exprText(e ast.Expr) string {
	var b strings.Builder
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			b.WriteString(id.Name + " ")
		}
		return true
	})
	return b.String()
}

// touches returns the functions that a repair changes.
func (r *repair) touches() (out []string) {
	for _, g := range r.result {
		out = append(out, declared(g.fn))
	}
	for _, u := range r.uses {
		out = append(out, declared(u.fn))
	}
	for _, c := range r.upgrades {
		out = append(out, declared(c.In))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// findTests finds the tests that may come to what repairs change, in any goroutine.
func (m *maker) findTests() {
	for _, fn := range m.p.Functions {
		decl, ok := fn.Node.(*ast.FuncDecl)
		if !ok || decl.Recv != nil || !strings.HasPrefix(fn.Name(), "Test") || fn.Name() == "TestMain" || !strings.HasSuffix(fn.Path, "_test.go") {
			continue
		}
		reached := map[string]bool{}
		for callee := range m.p.everywhere(fn) {
			reached[declared(callee)] = true
		}
		for i := range m.result.Repairs {
			r := &m.result.Repairs[i]
			if slices.ContainsFunc(r.touched, func(name string) bool { return reached[name] }) {
				r.Tests = append(r.Tests, Test{strings.TrimSuffix(fn.Package.PkgPath, "_test"), fn.Name()})
			}
		}
	}
}

// everywhere returns the functions that a function may call, also in other goroutines, with the literals in them.
func (p *program) everywhere(fn *static.Function) map[*static.Function]bool {
	seen := map[*static.Function]bool{}
	work := []*static.Function{fn}
	for len(work) > 0 {
		fn := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[fn] {
			continue
		}
		seen[fn] = true
		for _, c := range p.graph.Calls(fn) {
			work = append(work, p.graph.May(c.Targets)...)
			work = append(work, p.graph.GivenTo(c)...)
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok && p.Of(lit) != nil {
				work = append(work, p.Of(lit))
			}
			return true
		})
	}
	return seen
}
