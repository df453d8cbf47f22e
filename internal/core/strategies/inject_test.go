package strategies

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// TestInjectable checks that the injected files keep the rules of package runtime, and that the
// injector can rename their top-level names word by word.
func TestInjectable(t *testing.T) {
	fset := token.NewFileSet()
	entries, err := Source.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	top := map[string]bool{}
	var files []*ast.File
	for _, e := range entries {
		text, err := Source.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, e.Name(), text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for name := range file.Scope.Objects {
			top[name] = true
		}
	}
	fault := func(n ast.Node, what string) { t.Errorf("%s: %s", fset.Position(n.Pos()), what) }
	allowed := map[string]bool{"len": true, "min": true, "max": true, "uint32": true, "uint64": true, "int": true}
	for _, file := range files {
		for _, s := range file.Imports {
			fault(s, "an import")
		}
		for _, id := range file.Unresolved {
			if !top[id.Name] && types.Universe.Lookup(id.Name) == nil {
				fault(id, id.Name+" is declared nowhere")
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt, *ast.MapType, *ast.InterfaceType,
				*ast.ChanType, *ast.SelectStmt, *ast.TypeAssertExpr:
				fault(n, "not in package runtime")
			case *ast.KeyValueExpr:
				fault(n, "a key, which may be renamed")
			case *ast.GenDecl:
				if n.Tok == token.VAR {
					fault(n, "a variable")
				}
			case *ast.StructType:
				for _, f := range n.Fields.List {
					if _, pointer := f.Type.(*ast.StarExpr); pointer {
						fault(f, "a pointer in a struct")
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && !allowed[f.Name] && !top[f.Name] {
					fault(n, "calls "+f.Name)
				}
			}
			return true
		})
	}
}

// TestSourceComplete checks that Source has all files of the package that are injected.
func TestSourceComplete(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	notInjected := map[string]bool{"doc.go": true, "source.go": true}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || notInjected[name] {
			continue
		}
		if _, err := Source.ReadFile(name); err != nil {
			t.Errorf("%s is not injected", name)
		}
	}
}
