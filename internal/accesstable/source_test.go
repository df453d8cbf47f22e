package accesstable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// atomicLines returns the lines of a file on which calls of functions of sync/atomic begin, end or go on.
func atomicLines(t *testing.T, file string) map[int]bool {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok {
			if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "atomic" {
				for l := fset.Position(call.Pos()).Line; l <= fset.Position(call.End()).Line; l++ {
					lines[l] = true
				}
			}
		}
		return true
	})
	return lines
}

// TestAtomicLines: no place is on a line with a direct call of a function of sync/atomic, according to the source.
func TestAtomicLines(t *testing.T) {
	plain, instrumented := buildBoth(t, "testdata/web")
	table, err := Find(plain, instrumented)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(goCommand(t, "env", "GOROOT"), "src")
	files, calls := map[string]map[int]bool{}, 0
	for _, p := range table.Places {
		name := p.Source.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(src, name)
		}
		if files[name] == nil {
			files[name] = atomicLines(t, name)
			calls += len(files[name])
		}
		if files[name][p.Source.Number] {
			t.Errorf("%s:%d: %v at %#x", name, p.Source.Number, p.Kind, p.PC)
		}
	}
	if calls == 0 {
		t.Error("no atomic operations in the sources")
	}
	t.Logf("%d places, %d lines with atomic operations", len(table.Places), calls)
}
