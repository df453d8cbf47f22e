package recorder

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// constantsOf returns the package-level constants in the files of a folder. The folder's package
// need not compile: what does not type-check is no constant expression.
func constantsOf(t *testing.T, pattern string) map[string]constant.Value {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, error %v", pattern, len(paths), err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{Error: func(error) {}, Importer: importer.ForCompiler(fset, "source", nil), FakeImportC: true}
	pkg, _ := config.Check(files[0].Name.Name, fset, files, nil)
	values := map[string]constant.Value{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && c.Val().Kind() != constant.Unknown {
			values[name] = c.Val()
		}
	}
	return values
}

// TestWire: operations and messages have different numbers, and every operation has a length.
func TestWire(t *testing.T) {
	ops, messages := map[uint64]string{}, map[uint64]string{}
	for name, value := range constantsOf(t, "../core/wire/*.go") {
		if value.Kind() != constant.Int {
			continue
		}
		n, _ := constant.Uint64Val(value)
		of := ops
		switch {
		case name == "OpShift":
			continue
		case strings.HasPrefix(name, "Op"):
			if n >= wire.NumOps || recordWords[n] == 0 {
				t.Errorf("%s has no length", name)
			}
		case strings.HasPrefix(name, "Msg"):
			of = messages
		default:
			continue
		}
		if of[n] != "" {
			t.Errorf("%s and %s are both %d", name, of[n], n)
		}
		of[n] = name
	}
	if len(ops) < 30 || len(messages) < 20 {
		t.Errorf("%d operations and %d messages", len(ops), len(messages))
	}
	for op, words := range recordWords {
		if words > 0 && ops[uint64(op)] == "" {
			t.Errorf("operation %d has a length and no name", op)
		}
	}
}
