package build

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"runtime"
)

// Declaration is one of GOROOT that the overlay changes.
type Declaration struct {
	File string // below GOROOT/src
	Name string // such as "findRunnable" or "Mutex.Lock"; of several that belong together, the first
	Text string
}

// Declarations returns the declarations of a GOROOT that the overlay changes, or removes, in files that it keeps. They are in no order. An
// error wraps ErrUnsupported if the overlay does not fit.
func Declarations(root string) (all []Declaration, err error) {
	o, err := newOverlay(&Toolchain{Root: root, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	for file, patched := range o {
		original, err := os.ReadFile(filepath.Join(root, "src", filepath.FromSlash(file)))
		if patched == nil || err != nil || filepath.Ext(file) != ".go" {
			continue
		}
		before, err := declarationsOf(file, original)
		if err != nil {
			return nil, err
		}
		after, err := declarationsOf(file, patched)
		if err != nil {
			return nil, err
		}
		for name, text := range before {
			if after[name] != text {
				all = append(all, Declaration{file, name, text})
			}
		}
	}
	return all, nil
}

// In returns the source of the declaration in another GOROOT, "" if it has none.
func (d *Declaration) In(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "src", filepath.FromSlash(d.File)))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	all, err := declarationsOf(d.File, text)
	return all[d.Name], err
}

// declarationsOf returns the declarations of a file by name, but no imports.
func declarationsOf(path string, text []byte) (map[string]string, error) {
	s, err := parseSource(path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[string]string{}
	for _, d := range s.file.Decls {
		if name := s.nameOf(d); name != "" {
			all[name] = string(text[s.offset(d.Pos()):s.offset(d.End())])
		}
	}
	return all, nil
}

// nameOf returns the name of a declaration, "" for imports.
func (s *source) nameOf(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return s.functionName(d)
	case *ast.GenDecl:
		if len(d.Specs) == 0 {
			return ""
		}
		switch spec := d.Specs[0].(type) {
		case *ast.ValueSpec:
			return spec.Names[0].Name
		case *ast.TypeSpec:
			return spec.Name.Name
		}
	}
	return ""
}
