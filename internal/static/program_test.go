package static

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// load returns a program of one file.
func load(t *testing.T, source string) *Program {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "/p/p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("p", fset, []*ast.File{file}, info)
	if err != nil {
		t.Fatal(err)
	}
	return NewProgram(fset, []*packages.Package{{PkgPath: "p", Types: pkg, TypesInfo: info, Syntax: []*ast.File{file}}})
}

// TestProgram: functions are found with what they stand in, and those that are used as values are told from those that
// are only called.
func TestProgram(t *testing.T) {
	p := load(t, `package p

type T[E any] struct{}

func (T[E]) onlyCalled() {}
func (T[E]) value()      {}

func generic[A, B any](f func()) {}
func instance[A any]()           {}
func taken()                     {}
func atStart()                   {}
func recursive()                 { recursive() }

var start = atStart
var literal = func() { func() {}() }

func main() {
	var t T[int]
	t.onlyCalled()
	(T[int].onlyCalled)(t)
	_ = t.value
	generic[int, string](taken)
	(instance[int])()
	(recursive)()
	func() {
		go func() {}()
	}()
}
`)
	type function struct {
		line, parent int // -1: none
		decl         string
	}
	line := func(fn *Function) int {
		if fn == nil {
			return -1
		}
		return p.Fset.Position(fn.Node.Pos()).Line
	}
	var got []function
	for i, fn := range p.Functions {
		f := function{line: line(fn), parent: line(fn.Parent)}
		if fn.Decl != nil {
			f.decl = fn.Decl.Name.Name
		}
		got = append(got, f)
		if fn.Number != i || p.Of(fn.Node) != fn || p.Around(fn.Body) != fn || fn.File != p.File("/p/p.go") {
			t.Errorf("function %d of line %d is not found by what it is", i, line(fn))
		}
	}
	want := []function{
		{5, -1, "onlyCalled"}, {6, -1, "value"}, {8, -1, "generic"}, {9, -1, "instance"}, {10, -1, "taken"}, {11, -1, "atStart"},
		{12, -1, "recursive"}, {15, -1, ""}, {15, 15, ""}, {17, -1, "main"}, {25, 17, "main"}, {26, 25, "main"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("functions\n%v, want\n%v", got, want)
	}
	var values []int
	for _, fn := range p.Values() {
		values = append(values, line(fn))
	}
	if want := []int{6, 10, 11, 15}; !slices.Equal(values, want) {
		t.Errorf("the functions of lines %v are used as values, want %v", values, want)
	}
	if got := p.Methods("value"); len(got) != 1 || line(got[0]) != 6 {
		t.Errorf("methods %v", got)
	}
}

// TestOwn: the nodes of literals in a function are not its own, the literals themselves are.
func TestOwn(t *testing.T) {
	p := load(t, "package p\n\nfunc f() {\n\tx := 1\n\tfunc() { x = 2; func() { x = 3 }() }()\n\t_ = x\n}\n")
	var own []int
	for _, fn := range p.Functions {
		assigned, literals := 0, 0
		Own(fn.Node, func(n ast.Node) {
			switch n.(type) {
			case *ast.AssignStmt:
				assigned++
			case *ast.FuncLit:
				literals++
			}
		})
		own = append(own, assigned, literals)
	}
	if want := []int{2, 1, 1, 2, 1, 1}; !slices.Equal(own, want) { // a literal counts for itself, too
		t.Errorf("assignments and literals %v, want %v", own, want)
	}
}
