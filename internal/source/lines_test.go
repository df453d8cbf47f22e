package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// generated has files with line directives, as generators write them. DIR stands for the folder of the module.
var generated = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.26\n",
	// goyacc: the actions of the grammar follow a directive each.
	"parser/y.go": `package parser

//line expr.y:5
var depth, total int

func action() {
//line expr.y:20
	{
		depth++
	}
//line expr.y:30
	{
		total = depth
	}
//line yacctab:1
	total++
}
`,
	"parser/expr.y": "%{\n%}\n%%\n",
	// A template: several statements are made from one line.
	"views/page.go": `package views

var hits, misses int

func render() {
//line page.tmpl:3
	hits = 1
//line page.tmpl:3
	println(hits)
//line page.tmpl:4
	misses = 2
}
`,
	// The source is in another folder, or named by its absolute name.
	"gen/out.go": `package gen

var state, other int

func step() {
//line ../spec/machine.rl:7
	state++
//line DIR/spec/machine.rl:8
	other++
}
`,
	"spec/machine.rl": "%%{\n}%%\n",
	// A file that says of itself that its lines are others.
	"self/self.go": `package self

var first, second int

func f() {
	first++
//line self.go:106
	second++
}
`,
	// A directive within a line, and a name of a Go file that does not exist.
	"inline/a.go": `package inline

var x, y int

func f() {
	x++
	/*line gone.go:40:2*/ y++
}
`,
	// A file that is named and is one of Go, but not of the build.
	"ignored/src.go": "//go:build ignore\n\npackage ignored\n\nvar n int\n\nfunc f() {\n\tn++\n}\n",
	"ignored/out.go": "package ignored\n\nvar n int\n\nfunc f() {\n//line src.go:8\n\tn++\n}\n",
}

// TestLineDirectives: what is said of a place that a line directive names comes from the code there, whatever the named file is.
func TestLineDirectives(t *testing.T) {
	dir := t.TempDir()
	for name, text := range generated {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", filepath.ToSlash(dir))), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		function, file string
		line           int
		op             heisen.Op
		variable       string
		statement      string
	}{
		"an action":                {"parser.action", "parser/expr.y", 21, heisen.Write, "depth", "depth++"},
		"another action":           {"parser.action", "parser/expr.y", 31, heisen.Write, "total", "total = depth"},
		"it reads":                 {"parser.action", "parser/expr.y", 31, heisen.Read, "depth", "total = depth"},
		"the table":                {"parser.action", "parser/yacctab", 1, heisen.Write, "total", "total++"},
		"no code":                  {"parser.action", "parser/expr.y", 300, heisen.Write, "", ""},
		"a line of a template":     {"views.render", "views/page.tmpl", 3, heisen.Write, "hits", "hits = 1"},
		"the next one":             {"views.render", "views/page.tmpl", 4, heisen.Write, "misses", "misses = 2"},
		"another folder":           {"example.com/m/gen.step", "spec/machine.rl", 7, heisen.Write, "state", "state++"},
		"an absolute name":         {"example.com/m/gen.step", "spec/machine.rl", 8, heisen.Write, "other", "other++"},
		"the folder is not known":  {"other.com/m/gen.step", "spec/machine.rl", 8, heisen.Write, "", ""},
		"itself":                   {"self.f", "self/self.go", 106, heisen.Write, "second", "second++"},
		"itself before":            {"self.f", "self/self.go", 6, heisen.Write, "first", "first++"},
		"what its own line is not": {"self.f", "self/self.go", 8, heisen.Write, "", ""},
		"within a line":            {"inline.f", "inline/gone.go", 40, heisen.Write, "y", "y++"},
		"before a directive":       {"inline.f", "inline/a.go", 6, heisen.Write, "x", "x++"},
		"a Go file":                {"ignored.f", "ignored/src.go", 8, heisen.Write, "n", "n++"},
	} {
		cache := NewCache(DefaultMemory)
		for range 2 { // the second time from what is kept
			frame := heisen.Frame{Func: c.function, File: filepath.Join(dir, filepath.FromSlash(c.file)), Line: c.line}
			if e := cache.At(frame, c.op, 8); e.Variable() != c.variable || e.Statement != c.statement {
				t.Errorf("%s: %q in %q, want %q in %q", name, e.Variable(), e.Statement, c.variable, c.statement)
			}
		}
		cache.Close()
	}
}

// TestLineDirectivesOfOthers: only files that may be read are.
func TestLineDirectivesOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "y.go"), []byte(generated["parser/y.go"]), 0o666); err != nil {
		t.Fatal(err)
	}
	frame := heisen.Frame{Func: "parser.action", File: filepath.Join(dir, "expr.y"), Line: 21}
	for _, allowed := range []bool{true, false} {
		cache := NewCacheOf(DefaultMemory, func(string) bool { return allowed }, nil)
		if got := cache.At(frame, heisen.Write, 8).Variable(); (got == "depth") != allowed {
			t.Errorf("%q, allowed: %t", got, allowed)
		}
		cache.Close()
	}
}
