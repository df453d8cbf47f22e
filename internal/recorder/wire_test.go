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
	"unicode"
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

// TestWireConstants compares the two definitions of the wire format, which cannot share a file: one
// is part of package runtime.
func TestWireConstants(t *testing.T) {
	injected := constantsOf(t, "inject/wire.go")
	for name, value := range constantsOf(t, "inject/*.go") {
		injected[name] = value
	}
	received := constantsOf(t, "wire.go")

	// The twin of heisenMsgHello is msgHello, that of heisenOrphan is orphan.
	twin := func(name string) string {
		name = strings.TrimPrefix(name, "heisen")
		return string(unicode.ToLower(rune(name[0]))) + name[1:]
	}
	same := 0
	for name, value := range constantsOf(t, "inject/wire.go") {
		other, ok := received[twin(name)]
		if !ok {
			t.Errorf("%s has no counterpart %s", name, twin(name))
			continue
		}
		if !constant.Compare(value, token.EQL, other) {
			t.Errorf("%s is %v, %s is %v", name, value, twin(name), other)
		}
		same++
	}
	if same < 20 {
		t.Errorf("only %d constants compared", same)
	}
	for _, pair := range [][2]string{
		{"heisenSocketEnv", "socketEnv"},
		{"heisenChildEnv", "childEnv"},
		{"heisenSymbolizeEnv", "symbolizeEnv"},
	} {
		a, b := injected[pair[0]], received[pair[1]]
		if a == nil || b == nil || !constant.Compare(a, token.EQL, b) {
			t.Errorf("%s is %v, %s is %v", pair[0], a, pair[1], b)
		}
	}
	if words := injected["heisenBufWords"]; words == nil || !constant.Compare(constant.BinaryOp(words, token.MUL, constant.MakeInt64(8)), token.EQL, constant.MakeInt64(maxPayload)) {
		t.Errorf("a buffer has %v words, a payload up to %d bytes", words, maxPayload)
	}

	// Every op has a name on both sides, a length and a meaning.
	for name, value := range received {
		if !strings.HasPrefix(name, "op") || name == "opShift" {
			continue
		}
		op, _ := constant.Uint64Val(value)
		if _, ok := injected["heisenOp"+strings.TrimPrefix(name, "op")]; !ok {
			t.Errorf("the recorder does not know %s", name)
		}
		if op >= numOps || recordWords[op] == 0 {
			t.Errorf("%s has no length", name)
		}
	}
}
