package atomrace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestInjectable checks that the injected files keep the rules of package runtime, and that the
// injector can rename their top-level names word by word.
func TestInjectable(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	entries, err := Source.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := Source.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, e.Name(), text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Imports) != 1 || file.Imports[0].Path.Value != `"sync/atomic"` {
			t.Errorf("%s imports other than sync/atomic", e.Name())
		}
		files = append(files, file)
	}
	fault := func(n ast.Node, what string) { t.Errorf("%s: %s", fset.Position(n.Pos()), what) }

	top := map[string]bool{}
	var declarations []ast.Decl
	for _, file := range files {
		declarations = append(declarations, file.Decls...)
	}
	for _, d := range declarations {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil || !strings.HasSuffix(d.Doc.List[len(d.Doc.List)-1].Text, "//go:nosplit") {
				fault(d, d.Name.Name+" is not nosplit")
			}
			if d.Recv == nil {
				top[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					top[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						top[name.Name] = true
					}
					if d.Tok == token.VAR {
						fault(s, "a variable")
					}
				}
			}
		}
	}
	names := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, f := range list.List {
			for _, name := range f.Names {
				if top[name.Name] {
					fault(name, name.Name+" is a top-level name too")
				}
			}
		}
	}
	allowed := map[string]bool{"uint32": true, "uint64": true, "min": true, "max": true, "range": true}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names(n.Recv)
			if n.Recv != nil && top[n.Name.Name] {
				fault(n, n.Name.Name+" is a top-level name too")
			}
		case *ast.FuncType:
			names(n.Params)
			names(n.Results)
		case *ast.StructType:
			names(n.Fields)
			for _, f := range n.Fields.List {
				if _, pointer := f.Type.(*ast.StarExpr); pointer {
					fault(f, "a pointer in a struct")
				}
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && top[name.Name] {
					fault(name, name.Name+" is a top-level name too")
				}
			}
		case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt, *ast.MapType, *ast.InterfaceType,
			*ast.ChanType, *ast.SelectStmt, *ast.TypeAssertExpr, *ast.SliceExpr:
			fault(n, "not in package runtime")
		case *ast.ArrayType:
			if n.Len == nil {
				fault(n, "a slice")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && !allowed[f.Name] && !top[f.Name] &&
				types.Universe.Lookup(f.Name) != nil {
				fault(n, "calls "+f.Name)
			}
		}
		return true
	}
	for _, file := range files {
		ast.Inspect(file, inspect)
	}
}
