package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// The import paths of the libraries.
const (
	goleakPath   = "go.uber.org/goleak"
	deadlockPath = "github.com/sasha-s/go-deadlock"
)

// An edit replaces the bytes of a file from one offset to another.
type edit struct {
	from, to int
	text     string
}

// apply makes edits that do not overlap.
func apply(source string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(source[at:e.from] + e.text)
		at = e.to
	}
	return b.String() + source[at:]
}

// addGoleak lets each test of a file look for goroutines that are left at its end. No line moves.
func addGoleak(name, source string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var edits []edit
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
			continue
		}
		params := f.Type.Params.List
		if len(params) != 1 || len(params[0].Names) != 1 || params[0].Names[0].Name == "_" {
			return "", fmt.Errorf("%v: %s has no name for its *testing.T", fset.Position(f.Pos()), f.Name.Name)
		}
		after := offset(f.Body.Lbrace) + 1
		edits = append(edits, edit{after, after, fmt.Sprintf(" defer goleak.VerifyNone(%s);", params[0].Names[0].Name)})
	}
	if len(edits) == 0 {
		return source, nil
	}
	end := offset(file.Name.End())
	return apply(source, append(edits, edit{end, end, fmt.Sprintf("; import %q", goleakPath)})), nil
}

// replaceMutexes puts the types of go-deadlock in the place of sync.Mutex and sync.RWMutex. No line moves.
func replaceMutexes(name, source string) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, 0)
	if err != nil {
		return "", err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var imported *ast.ImportSpec
	for _, spec := range file.Imports {
		if spec.Path.Value == `"sync"` {
			if spec.Name != nil {
				return "", fmt.Errorf("%v: sync is imported by another name", fset.Position(spec.Pos()))
			}
			imported = spec
		}
	}
	if imported == nil {
		return source, nil
	}
	var edits []edit
	others := 0
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch x, ok := s.X.(*ast.Ident); {
		case !ok || x.Name != "sync" || x.Obj != nil: // a variable of that name
		case s.Sel.Name == "Mutex" || s.Sel.Name == "RWMutex":
			edits = append(edits, edit{offset(x.Pos()), offset(x.End()), "deadlock"})
		default:
			others++
		}
		return true
	})
	if len(edits) == 0 {
		return source, nil
	}
	if others == 0 {
		at := offset(imported.Pos())
		edits = append(edits, edit{at, at, "_ "})
	}
	end := offset(file.Name.End())
	return apply(source, append(edits, edit{end, end, fmt.Sprintf("; import deadlock %q", deadlockPath)})), nil
}

// deadlockOptions returns a file of a package that shortens the timeout of go-deadlock.
func deadlockOptions(pkg string) string {
	return fmt.Sprintf("package %s\n\nimport (\n\t\"time\"\n\n\tdeadlock %q\n)\n\nfunc init() { deadlock.Opts.DeadlockTimeout = 2 * time.Second }\n", pkg, deadlockPath)
}
