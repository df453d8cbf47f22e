package build

import (
	"fmt"
	"go/ast"
	"strings"
)

// mapFiles are the files with functions that access one key of a map.
var mapFiles = []string{
	"internal/runtime/maps/runtime.go", "internal/runtime/maps/runtime_fast32.go", "internal/runtime/maps/runtime_fast64.go",
	"internal/runtime/maps/runtime_faststr.go", "runtime/map.go",
}

// addMapKeys makes these functions tell the recorder the key, just before they report the access to the map
// as a whole. They have parameters for the type, the map and the key, in this order.
func (o overlay) addMapKeys(read func(string) ([]byte, error)) error {
	for _, path := range mapFiles {
		s, err := readSource(read, path)
		if err != nil {
			return err
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				s.reportKey(f)
			}
		}
		if len(s.edits) == 0 {
			return fmt.Errorf("%w GOROOT: %s: no access to a map is reported", ErrUnsupported, path)
		}
		if o[path], err = s.result(); err != nil {
			return err
		}
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
