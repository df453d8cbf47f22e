package ownership

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// analyze analyzes a folder. The analysis is whole, so that tests can look at all memory.
func analyze(t *testing.T, dir string) (*analysis, *Result) {
	t.Helper()
	loaded, err := loadModule(t.Context(), ssaload.Source{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAnalysis(t.Context(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	a.check()
	r, err := a.result(loaded)
	if err != nil {
		t.Fatal(err)
	}
	return a, r
}

// TestWants compares what the analysis says of variables with comments at their declarations:
//
//	n int // want guarded by mu; elements unsafe
//
// What is unsafe may have a part of a reason behind a colon. A variable without a comment must not be accessed.
func TestWants(t *testing.T) {
	for _, folder := range []string{"guards", "objects", "elements", "exposed", "confined", "phases", "beside", "callbacks"} {
		t.Run(folder, func(t *testing.T) {
			a, _ := analyze(t, filepath.Join("testdata", folder))
			path := a.packages[0].pkg.PkgPath
			seen := map[memory]bool{}
			for name, want := range wants(t, filepath.Join("testdata", folder)) {
				v, err := focus.ParseVariable(path + "." + name)
				if err != nil {
					t.Fatal(err)
				}
				own, elements, hasElements := strings.Cut(want, "; elements ")
				checkWant(t, a, memory{Variable: v}, own)
				seen[memory{Variable: v}] = true
				if hasElements {
					checkWant(t, a, memory{Variable: v, elements: true}, elements)
				}
			}
			for _, m := range a.memories() {
				if m.other == "" && !m.elements && !seen[m] && len(a.variables[m].accesses) > 0 {
					t.Errorf("%s has no comment", m)
				}
			}
		})
	}
}

func checkWant(t *testing.T, a *analysis, m memory, want string) {
	t.Helper()
	v := a.verdictOf(m)
	if v == nil {
		t.Errorf("%s: want %s, got nothing", m, want)
		return
	}
	text, unsafe := strings.CutPrefix(want, "unsafe")
	if !unsafe {
		// Names of other variables are shortened.
		if got := strings.ReplaceAll(v.owner.String(), a.packages[0].pkg.PkgPath, a.packages[0].pkg.Name); !v.safe || got != want {
			t.Errorf("%s: want %s, got %s, safe %t, %v", m, want, got, v.safe, v.reasons)
		}
		return
	}
	text = strings.TrimPrefix(text, ": ")
	found := false
	for _, reason := range v.reasons {
		found = found || strings.Contains(strings.ReplaceAll(reason.Text, a.packages[0].pkg.PkgPath, a.packages[0].pkg.Name), text)
	}
	if v.safe || !found {
		t.Errorf("%s: want unsafe, because %q; got %s, safe %t, %v", m, text, v.owner, v.safe, v.reasons)
	}
}

// wants reads the comments: by the name of the variable without the package.
func wants(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	fset := token.NewFileSet()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(folder, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		note := func(name string, comment *ast.CommentGroup) {
			if text, ok := strings.CutPrefix(comment.Text(), "want "); ok {
				out[name] = strings.TrimSpace(text)
			}
		}
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					note(spec.Names[0].Name, spec.Comment)
					fieldWants(spec.Names[0].Name, spec.Type, note)
				case *ast.TypeSpec:
					fieldWants(spec.Name.Name, spec.Type, note)
				}
			}
		}
	}
	return out
}

func fieldWants(name string, of ast.Expr, note func(string, *ast.CommentGroup)) {
	st, ok := of.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range st.Fields.List {
		names := field.Names
		if len(names) == 0 {
			at := field.Type
			if star, ok := at.(*ast.StarExpr); ok {
				at = star.X
			}
			if id, ok := at.(*ast.Ident); ok {
				names = []*ast.Ident{id}
			}
		}
		for _, id := range names {
			note(name+"."+id.Name, field.Comment)
			fieldWants(name+"."+id.Name, field.Type, note)
		}
	}
}

// TestFigure1 is the program of the paper's Figure 1.
func TestFigure1(t *testing.T) {
	_, r := analyze(t, "../../focus/testdata/figure1")
	if len(r.Variables) != 1 || r.Variables[0].Name.Name != "value" || r.Variables[0].Safe {
		t.Errorf("%v, want value alone, race-unsafe", r.Variables)
	}
}

// TestLines compares the lines on which nothing needs to be recorded with comments: "// R", "// W" and "// R W".
func TestLines(t *testing.T) {
	a, r := analyze(t, filepath.Join("testdata", "lines"))
	for _, name := range a.files() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(r.Root, name)
		if err != nil {
			t.Fatal(err)
		}
		file, ok := r.Plan.Files[filepath.ToSlash(relative)]
		if !ok || file.Hash != focus.HashOf(text) {
			t.Errorf("%s is not in the plan, or with another hash", relative)
		}
		for i, line := range strings.Split(string(text), "\n") {
			_, comment, _ := strings.Cut(line, "// ")
			for what, lines := range map[string]focus.Lines{"R": file.Reads, "W": file.Writes} {
				want := comment == what || comment == "R W"
				if got := lines.Contains(i + 1); got != want {
					t.Errorf("%s:%d: %s is %t, want %t: %s", relative, i+1, what, got, want, strings.TrimSpace(line))
				}
			}
		}
	}
}

// TestTyped: a function is typed if all its accesses are safe, those of its literals apart.
func TestTyped(t *testing.T) {
	_, r := analyze(t, filepath.Join("testdata", "typed"))
	got := map[string]string{}
	for name, f := range r.Plan.Functions {
		_, inside, _ := strings.Cut(string(name), "/typed.")
		got[inside] = map[bool]string{true: "typed", false: "untyped"}[f.Typed]
	}
	want := map[string]string{
		"(*account).Deposit": "typed", "(*account).Peek": "untyped", "(*account).both": "untyped", "(*account).later": "typed",
		"(*account).later.func1": "untyped", "(*account).locked": "typed", "main": "untyped", "main.func1": "typed", "nothing": "typed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
