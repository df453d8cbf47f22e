package build

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// addMapKeys makes the functions that access one key of a map tell the recorder the key, just before they
// report the access to the map as a whole. They have parameters for the type, the map and the key, in
// this order. Their files are named otherwise in each release.
func (o overlay) addMapKeys(src string, read func(string) ([]byte, error)) error {
	found := 0
	for dir, prefix := range map[string]string{"internal/runtime/maps": "runtime", "runtime": "map"} {
		entries, err := os.ReadDir(filepath.Join(src, filepath.FromSlash(dir)))
		if err != nil {
			return fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := read(name)
			if err != nil {
				return err
			}
			s, err := parseSource(name, text)
			if err != nil {
				return err
			}
			for _, d := range s.file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					s.reportKey(f)
				}
			}
			if len(s.edits) == 0 {
				continue
			}
			found += len(s.edits)
			if o[name] != nil {
				return fmt.Errorf("%s is patched twice", name)
			}
			if o[name], err = s.result(); err != nil {
				return err
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("%w GOROOT: no access to a map is reported", ErrUnsupported)
	}
	return nil
}

// reportKey inserts the call in f, if f reports an access to a map and has its key.
func (s *source) reportKey(f *ast.FuncDecl) {
	var names, types []string
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			names, types = append(names, name.Name), append(types, s.printed(field.Type))
		}
	}
	if len(names) < 3 || names[1] != "m" || names[2] != "key" {
		return
	}
	key := "key"
	// The names of functions whose pointers are keys end in ptr.
	if types[2] != "unsafe.Pointer" || strings.HasSuffix(f.Name.Name, "ptr") {
		key = "abi.NoEscape(unsafe.Pointer(&key))"
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		stmt, ok := n.(*ast.ExprStmt)
		if !ok {
			return true
		}
		report := "race.MapKey"
		switch s.printed(stmt) {
		case "racereadpc(unsafe.Pointer(m), callerpc, pc)", "racewritepc(unsafe.Pointer(m), callerpc, pc)":
			report = "race_MapKey"
		case "race.ReadPC(unsafe.Pointer(m), callerpc, pc)", "race.WritePC(unsafe.Pointer(m), callerpc, pc)":
		default:
			return true
		}
		s.insert(stmt.Pos(), fmt.Sprintf("%s(unsafe.Pointer(m), %s.Hasher, %s); ", report, names[0], key))
		return false
	})
}
