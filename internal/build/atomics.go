package build

import (
	"fmt"
	"go/ast"
	"strings"
)

// addAtomics makes every operation of the types of sync/atomic a call that the recorder sees. In
// packages that are not instrumented, the compiler expands calls of the package's functions in
// place, by name. So the methods of the types, and of Value, call the same functions by other
// names. Packages that call the functions themselves must be instrumented (see chooseFlags).
func (o overlay) addAtomics(read func(string) ([]byte, error)) error {
	var aliases strings.Builder
	aliases.WriteString("package atomic\n\nimport \"unsafe\"\n")
	names := map[string]bool{}
	for _, path := range []string{"sync/atomic/doc.go", "sync/atomic/doc_64.go"} {
		s, err := readSource(read, path)
		if err != nil {
			return err
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body != nil {
				continue
			}
			names[f.Name.Name] = true
			fmt.Fprintf(&aliases, "\n//go:linkname %s sync/atomic.%s\n", alias(f.Name.Name), f.Name.Name)
			for _, c := range f.Doc.List {
				if strings.HasPrefix(c.Text, "//go:noescape") {
					aliases.WriteString(c.Text + "\n")
				}
			}
			decl := &ast.FuncDecl{Name: ast.NewIdent(alias(f.Name.Name)), Type: f.Type}
			aliases.WriteString(s.printed(decl) + "\n")
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%w GOROOT: sync/atomic declares no functions", ErrUnsupported)
	}
	o["sync/atomic/heisen.go"] = []byte(aliases.String())

	for _, path := range []string{"sync/atomic/type.go", "sync/atomic/value.go"} {
		text, err := read(path)
		if err != nil {
			return err
		}
		if o[path], err = apply(path, text, renameCalls(names)); err != nil {
			return err
		}
	}
	return nil
}

// alias returns the name by which the methods call a function.
func alias(name string) string { return "heisen" + name }

// renameCalls makes calls of the named functions use their aliases.
func renameCalls(names map[string]bool) patch {
	return func(s *source) error {
		found := false
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.Ident); ok && names[f.Name] {
					s.replace(f, alias(f.Name))
					found = true
				}
			}
			return true
		})
		if !found {
			return fmt.Errorf("no calls of the package's functions")
		}
		return nil
	}
}
