package patch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// elsewhere notes where files name a variable that is repaired which were not looked at: those of the module that are not built here,
// because of their names or build tags, those of other modules in its folder or its workspace, and vendored copies. It also notes which
// changed files are generated.
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
	for _, f := range m.p.Files() {
		if _, changed := m.result.new[f.Path]; changed && ast.IsGenerated(f.Syntax) {
			m.note("%s is generated: what generates it has to be changed, too", m.relative(f.Path))
		}
	}
	seen := map[string]bool{}
	for _, dir := range append([]string{m.root}, m.workspace()...) {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil:
				return nil
			case d.IsDir() && (seen[path] || path != dir && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))):
				return filepath.SkipDir
			case d.IsDir():
				seen[path] = true
			case strings.HasSuffix(name, ".go") && !loaded[path] && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "."):
				m.namedIn(path)
			}
			return nil
		})
	}
}

func (m *maker) note(format string, args ...any) {
	m.result.Notes = append(m.result.Notes, fmt.Sprintf(format, args...))
}

// workspace returns the folders of the other modules of the workspace that the module is in, and of what that vendors.
func (m *maker) workspace() (out []string) {
	command := func(args ...string) string {
		cmd := exec.CommandContext(m.ctx, "go", args...)
		cmd.Dir = m.root
		text, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	file := command("env", "GOWORK")
	if file == "" || file == "off" {
		return nil
	}
	for dir := range strings.Lines(command("list", "-m", "-f", "{{.Dir}}")) {
		if dir = strings.TrimSpace(dir); dir != "" && dir != m.root {
			out = append(out, dir)
		}
	}
	return append(out, filepath.Join(filepath.Dir(file), "vendor"))
}

func exists(name string) bool {
	_, err := filepath.EvalSymlinks(name)
	return err == nil
}

// namedIn notes the repaired variables that a file may name.
func (m *maker) namedIn(path string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		if m.moduleOf(path) == m.root {
			m.note("%s is not built here, and cannot be read: %v", m.relative(path), err)
		}
		return
	}
	for _, key := range m.guarded {
		v := m.p.byKey(key)
		if v == nil || v.fn != nil && !v.isField() {
			continue
		}
		name, pkg := v.first().v.Name(), v.file.Package.PkgPath
		why := ""
		switch {
		case strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "/vendor/"+pkg):
			why = "is in a vendored copy: it is not changed"
		case m.moduleOf(path) != m.root:
			if ast.IsExported(name) && imports(f, pkg) {
				why = "is in another module, " + m.relative(m.moduleOf(path)) + ": it was not looked at"
			}
		case ast.IsExported(name) || filepath.Dir(v.file.Path) == filepath.Dir(path):
			why = "is not built here: it was not looked at"
		}
		if why == "" {
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
			m.note("%s:%d names %s, and %s", m.relative(path), line, name, why)
		}
	}
}

// imports reports whether a file imports a package.
func imports(f *ast.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(spec *ast.ImportSpec) bool { return strings.Trim(spec.Path.Value, "\"`") == path })
}

// moduleOf returns the folder of the module that a file belongs to: the innermost one with a go.mod file or with vendored packages.
func (m *maker) moduleOf(path string) string {
	dir := filepath.Dir(path)
	for dir != m.root && filepath.Base(dir) != "vendor" && !exists(filepath.Join(dir, "go.mod")) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	return dir
}

func (m *maker) relative(path string) string {
	if rel, err := filepath.Rel(m.root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
