package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestErrorTexts checks that no text of an error of a library package starts with the name of a package:
// it would be repeated, or contradict another one, where errors wrap each other. A text may start with
// the function that refuses an argument, such as "tree.NewFilter: ".
func TestErrorTexts(t *testing.T) {
	touchTree(t)
	root := filepath.Join("..", "..")
	var names []string
	var texts int
	for path := range table {
		name := strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], "/...")
		if path == "." {
			name = "heisen"
		}
		names = append(names, regexp.QuoteMeta(name))
	}
	prefixed := regexp.MustCompile(`^(` + strings.Join(names, "|") + `): `)
	for path, room := range table {
		if !room.library || strings.HasPrefix(path, "internal/") {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(root, path, entry.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				text, ok := errorText(n)
				if !ok {
					return true
				}
				texts++
				if prefixed.MatchString(text) {
					t.Errorf("%s: the error %q starts with the name of a package", files.Position(n.Pos()), text)
				}
				return true
			})
		}
	}
	if texts < 100 {
		t.Errorf("only %d texts of errors found", texts)
	}
}

// errorText returns the text or format of a call that makes an error.
func errorText(n ast.Node) (text string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) == 0 {
		return "", false
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, isName := f.X.(*ast.Ident); !isName || x.Name+"."+f.Sel.Name != "errors.New" && f.Sel.Name != "Errorf" {
			return "", false
		}
	default:
		return "", false
	}
	literal, isLiteral := call.Args[0].(*ast.BasicLit)
	if !isLiteral {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
