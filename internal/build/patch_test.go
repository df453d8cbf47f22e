package build

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const patchable = `package p

import (
	"a/b"
	"sync/atomic"
)

import "c"

// f is a function.
func f(x int) { // with a comment
	g(x, 1)
	for x > 0 {
		g(x, 2)
	}
	for { g( x,1 ) }
}

type T[E any] struct{ e E }

func (t *T[E]) m() {}

func (t U) m() { atomic.AddInt32(nil, 1); b.AddInt32() }

//go:noescape
//go:linkname bare other.bare
func bare(p *int)

func once() { c.F(); Load(nil); x.Load(nil); y = f(x) }
`

func TestPatches(t *testing.T) {
	for _, test := range []struct {
		name  string
		patch patch
		want  [2]string // a part of the result, and the text before the patch
		err   string    // or of the error
	}{
		{name: "start", patch: atStart("f", "h()"),
			want: [2]string{"func f(x int) { h(); // with a comment\n", "func f(x int) { // with a comment\n"}},
		{name: "start of an empty method", patch: atStart("U.m", "h()"), want: [2]string{"func (t U) m() { h(); atomic", "func (t U) m() { atomic"}},
		{name: "start of a generic method", patch: atStart("T[E].m", "h()"), want: [2]string{"m() { h();}", "m() {}"}},
		{name: "start of nothing", patch: atStart("gone", "h()"), err: "no function gone"},
		{name: "start of a method as function", patch: atStart("m", "h()"), err: "no function m"},
		{name: "start of a declaration", patch: atStart("bare", "h()"), err: "function bare has no body"},

		{name: "functions by parameters", patch: delegated("(x int)", "h()"), want: [2]string{"func f(x int) { h(); //", "func f(x int) { //"}},
		{name: "functions without parameters", patch: delegated("()", "h()"), want: [2]string{"func once() { h(); c", "func once() { c"}},
		{name: "functions with a declaration among them", patch: delegated("(p *int)", "h()"), err: "no function with (p *int)"},

		{name: "loop", patch: inEndlessLoop("f", "h()"), want: [2]string{"for { h(); g( x,1 ) }", "for { g( x,1 ) }"}},
		{name: "no loop", patch: inEndlessLoop("once", "h()"), err: "no endless loop in once"},
		{name: "loop of nothing", patch: inEndlessLoop("gone", "h()"), err: "no function gone"},

		{name: "calls", patch: replaceCalls("f", "g(x, 2)", "h(x)", 1), want: [2]string{"\t\th(x)\n", "\t\tg(x, 2)\n"}},
		{name: "calls in any spelling", patch: replaceCalls("f", "g(x, 1)", "h()", 2), want: [2]string{"for { h() }", "for { g( x,1 ) }"}},
		{name: "too few calls", patch: replaceCalls("f", "g(x, 2)", "h()", 2), err: "1 calls of g(x, 2) in f, not 2"},
		{name: "too many calls", patch: replaceCalls("f", "g(x, 1)", "h()", 1), err: "2 calls of g(x, 1) in f, not 1"},
		{name: "calls in nothing", patch: replaceCalls("gone", "g(x, 1)", "h()", 1), err: "no function gone"},

		{name: "statements", patch: replaceStatements("g(x, 1)", "_ = x", 2), want: [2]string{"for { _ = x }", "for { g( x,1 ) }"}},
		{name: "statements out", patch: replaceStatements("g(x, 1)", "", 2), want: [2]string{"for {  }", "for { g( x,1 ) }"}},
		{name: "too few statements", patch: replaceStatements("c.F()", "", 2), err: "1 calls of c.F(), not 2"},
		{name: "calls that are no statements", patch: replaceStatements("f(x)", "", 1), err: "0 calls of f(x), not 1"},

		{name: "selectors", patch: replaceSelectors("atomic.AddInt32", "race.Add"), want: [2]string{"race.Add(nil, 1); b.AddInt32()", "atomic.AddInt32(nil, 1); b.AddInt32()"}},
		{name: "no selectors", patch: replaceSelectors("atomic.AddInt64", "race.Add"), err: "no atomic.AddInt64"},

		{name: "directive", patch: directed("f", "//go:norace"), want: [2]string{"\n//go:norace\nfunc f(", "// f is a function.\n"}},
		{name: "directive for nothing", patch: directed("gone", "//go:norace"), err: "no function gone"},
		{name: "directive without a place", patch: directed("bare", "//go:norace"), err: "function bare has no comment"},
		{name: "directive without a comment", patch: directed("once", "//go:norace"), err: "function once has no comment"},

		{name: "import", patch: dropImport("sync/atomic"), want: [2]string{"\"a/b\"\n\t\n)", "\"a/b\"\n\t\"sync/atomic\"\n)"}},
		{name: "import by itself", patch: dropImport("c"), want: [2]string{"\n)\n\n\n\n", "\n)\n\nimport \"c\"\n\n"}},
		{name: "no import", patch: dropImport("d"), err: "no import of d"},

		{name: "declaration", patch: dropDeclaration("bare"), want: [2]string{"//\n//\n\n", "//go:noescape\n//go:linkname bare other.bare\nfunc bare(p *int)\n"}},
		{name: "declaration with a body", patch: dropDeclaration("once"), want: [2]string{"func bare(p *int)\n\n\n", "func bare(p *int)\n\nfunc once() { c.F(); Load(nil); x.Load(nil); y = f(x) }\n"}},
		{name: "no declaration", patch: dropDeclaration("gone"), err: "no function gone"},

		{name: "names", patch: renameCalls(map[string]bool{"Load": true}), want: [2]string{"c.F(); heisenLoad(nil); x.Load(nil)", "c.F(); Load(nil); x.Load(nil)"}},
		{name: "no names", patch: renameCalls(map[string]bool{"Store": true}), err: "no calls of the package's functions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := apply("dir/file.go", []byte(patchable), test.patch)
			if test.err != "" {
				want := "unsupported GOROOT: dir/file.go: " + test.err
				if !errors.Is(err, ErrUnsupported) || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := string(out)
			if !strings.Contains(got, test.want[0]) || !strings.Contains(patchable, test.want[1]) || strings.Contains(got, test.want[1]) {
				t.Errorf("got\n%s", got)
			}
			if strings.Count(got, "\n") != strings.Count(patchable, "\n") {
				t.Errorf("%d lines became %d", strings.Count(patchable, "\n"), strings.Count(got, "\n"))
			}
			before, after := declared(t, patchable), declared(t, got)
			for name, line := range after {
				if before[name] != line {
					t.Errorf("%s was on line %d and is on line %d", name, before[name], line)
				}
			}
		})
	}
}

// declared returns the lines of a file's declarations by their names; the file
// must be valid Go.
func declared(t *testing.T, text string) map[string]int {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "file.go", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	lines := map[string]int{}
	add := func(id *ast.Ident, kind string) { lines[kind+id.Name] = fset.Position(id.Pos()).Line }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			kind := "func "
			if d.Recv != nil {
				kind = "method of " + text[d.Recv.Pos()-1:d.Recv.End()-1]
			}
			add(d.Name, kind)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, "type ")
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name, "value ")
					}
				}
			}
		}
	}
	return lines
}

func TestPatchesTogether(t *testing.T) {
	out, err := apply("file.go", []byte(patchable),
		atStart("f", "one()"), atStart("f", "two()"), replaceCalls("f", "g(x, 2)", "h()", 1), dropImport("c"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); !strings.Contains(got, "{ one(); two(); //") || !strings.Contains(got, "\t\th()\n") {
		t.Errorf("got\n%s", got)
	}
	if out, err := apply("file.go", []byte(patchable)); err != nil || string(out) != patchable {
		t.Errorf("no patches: %v\n%s", err, out)
	}
	_, err = apply("file.go", []byte(patchable),
		replaceCalls("U.m", "atomic.AddInt32(nil, 1)", "h()", 1), replaceSelectors("atomic.AddInt32", "race.Add"))
	if err == nil || !strings.Contains(err.Error(), "file.go: overlapping edits at offset") {
		t.Errorf("overlapping edits: error %v", err)
	}
	if _, err := apply("file.go", []byte("package"), atStart("f", "h()")); err == nil {
		t.Error("a file that is no Go is patched")
	}
}
