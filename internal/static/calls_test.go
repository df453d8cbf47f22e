package static

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestMayReturn: the calls at the end of a line with the comment "never" do not return, and all others may.
func TestMayReturn(t *testing.T) {
	const source = `package p

import (
	"log"
	"os"
	"runtime"
	"syscall"
	"testing"
)

type logger struct{ *log.Logger }

func (logger) Fatal(...any) {}

type embedded struct{ *log.Logger }

func exit(int) {}

func calls(t *testing.T, b *testing.B, tb testing.TB, l *log.Logger, own logger, e embedded, f func(int)) {
	panic(1)          // never
	(panic)(1)        // never
	os.Exit(1)        // never
	(os.Exit)(1)      // never
	syscall.Exit(1)   // never
	runtime.Goexit()  // never
	log.Fatal(1)      // never
	log.Panicln(1)    // never
	l.Fatalf("")      // never
	l.Panic(1)        // never
	e.Fatal(1)        // never
	t.Fatal(1)        // never
	t.Run("", func(t *testing.T) {})
	b.SkipNow()       // never
	tb.Fatalf("")     // never
	tb.Errorf("")
	t.Error(1)
	own.Fatal(1)
	own.Fatalf("")    // never
	exit(1)
	f(1)
	log.Print(1)
	(*log.Logger).Fatal(l, 1) // never
	func() { os.Exit(1) }()
	{
		panic := func(int) {}
		panic(1)
	}
}
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("p", fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(source, "\n")
	body := file.Decls[slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Name.Name == "calls"
	})].(*ast.FuncDecl).Body
	calls := 0
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		calls++
		line := lines[fset.Position(call.Pos()).Line-1]
		if MayReturn(info, call) == strings.HasSuffix(line, "// never") {
			t.Errorf("%s", strings.TrimSpace(line))
		}
		_, literal := call.Fun.(*ast.FuncLit)
		return !literal
	})
	if calls != 25 {
		t.Errorf("%d calls", calls)
	}
}
