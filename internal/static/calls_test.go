package static

import (
	"go/ast"
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
	p := load(t, source)
	file := p.Files()[0]
	lines := strings.Split(source, "\n")
	body := file.Syntax.Decls[slices.IndexFunc(file.Syntax.Decls, func(d ast.Decl) bool {
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
		line := lines[p.Fset.Position(call.Pos()).Line-1]
		if MayReturn(file.Info(), call) == strings.HasSuffix(line, "// never") {
			t.Errorf("%s", strings.TrimSpace(line))
		}
		_, literal := call.Fun.(*ast.FuncLit)
		return !literal
	})
	if calls != 25 {
		t.Errorf("%d calls", calls)
	}
}
