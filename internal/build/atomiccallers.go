package build

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// atomicCallers returns the packages of the standard library that call functions of sync/atomic instead of methods of its
// types (see addAtomics), in order, apart from those that sync is made of, which are instrumented. They are compiled with
// atomicsOnly at least.
func atomicCallers(src, goos, goarch string) ([]string, error) {
	platform := build.Default
	platform.GOOS, platform.GOARCH = goos, goarch
	var callers []string
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(src, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") || name == "cmd" || slices.Contains(ownAtomics, name)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		calls, err := callsAtomic(&platform, path)
		if calls {
			callers = append(callers, filepath.ToSlash(filepath.Dir(name)))
		}
		return err
	})
	slices.Sort(callers)
	return slices.Compact(callers), err
}

// ownAtomics are packages whose calls of sync/atomic need no flags: sync is instrumented, and crypto/internal/entropy
// measures the time of its own accesses to memory, and orders nothing else.
var ownAtomics = []string{"sync", "internal/sync", "crypto/internal/entropy"}

// callsAtomic reports whether a file of the platform may call a function of sync/atomic.
func callsAtomic(platform *build.Context, path string) (bool, error) {
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(`"sync/atomic"`)) {
		return false, err
	}
	if match, err := platform.MatchFile(filepath.Dir(path), filepath.Base(path)); err != nil || !match {
		return false, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return true, nil // as far as is known: the syntax is of a release that this program does not know
	}
	if file.Name.Name == "main" {
		return false, nil
	}
	local := "atomic"
	for _, spec := range file.Imports {
		if spec.Path.Value == `"sync/atomic"` && spec.Name != nil {
			local = spec.Name.Name
		}
	}
	calls := false
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := sel.X.(*ast.Ident)
			calls = calls || ok && pkg.Name == local && !atomicTypes[sel.Sel.Name]
		}
		return !calls
	})
	return calls, nil
}

// atomicTypes are the types of sync/atomic; its other exported names are functions.
var atomicTypes = map[string]bool{
	"Bool": true, "Int32": true, "Int64": true, "Uint32": true, "Uint64": true,
	"Uintptr": true, "Pointer": true, "Value": true,
}
