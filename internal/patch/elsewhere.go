package patch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// elsewhere notes where files of the module that are not built here, because of their names or build tags, name a variable that is
// repaired. Folders of other modules, vendored ones among them, are not read.
func (m *maker) elsewhere() {
	if len(m.guarded) == 0 {
		return
	}
	loaded := map[string]bool{}
	for _, pkg := range m.p.Packages {
		for _, name := range slices.Concat(pkg.GoFiles, pkg.CompiledGoFiles) {
			loaded[name] = true
		}
	}
	var notes []string
	filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != m.root:
			if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || exists(filepath.Join(path, "go.mod")) {
				return filepath.SkipDir
			}
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !loaded[path] && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "."):
			notes = append(notes, m.namedIn(path)...)
		}
		return nil
	})
	m.result.Notes = append(m.result.Notes, notes...)
}

func exists(name string) bool {
	_, err := filepath.EvalSymlinks(name)
	return err == nil
}

// namedIn returns notes about the repaired variables that a file may name.
func (m *maker) namedIn(path string) (notes []string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		return []string{fmt.Sprintf("%s is not built here, and cannot be read: %v", m.relative(path), err)}
	}
	for _, key := range m.guarded {
		v := m.p.byKey(key)
		if v == nil || v.fn != nil && !v.isField() {
			continue
		}
		name := v.first().v.Name()
		if !ast.IsExported(name) && filepath.Dir(v.file.Path) != filepath.Dir(path) {
			continue
		}
		line := 0
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if ok && id.Name == name && line == 0 {
				line = fset.Position(id.Pos()).Line
			}
			return line == 0
		})
		if line > 0 {
			notes = append(notes, fmt.Sprintf("%s:%d names %s, and is not built here: it was not looked at", m.relative(path), line, name))
		}
	}
	return notes
}

func (m *maker) relative(path string) string {
	if rel, err := filepath.Rel(m.root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
