package build

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
)

// uncheckedFiles have functions whose conversions of pointers are not to be checked, small enough to be expanded elsewhere.
var uncheckedFiles = []string{"internal/abi/escape.go", "reflect/value.go", simdHelpers}

// simdHelpers is a file that not all releases have.
const simdHelpers = "simd/archsimd/unsafe_helpers.go"

// addUnchecked keeps the compiler from expanding these functions in packages where conversions are checked.
func (o overlay) addUnchecked(read func(string) ([]byte, error)) error {
	for _, path := range uncheckedFiles {
		s, err := readSource(read, path)
		if path == simdHelpers && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.hasDirective(f, "//go:nocheckptr") || s.hasDirective(f, "//go:noinline") {
				continue
			}
			if err := directed(s.functionName(f), "//go:noinline")(s); err != nil {
				return fmt.Errorf("%w GOROOT: %s: %w", ErrUnsupported, path, err)
			}
		}
		if len(s.edits) == 0 {
			continue
		}
		if o[path], err = s.result(); err != nil {
			return err
		}
	}
	return nil
}

// hasDirective reports whether a function has a compiler directive: anywhere behind the declaration before it.
func (s *source) hasDirective(f *ast.FuncDecl, directive string) bool {
	from := s.file.Name.End()
	for _, d := range s.file.Decls {
		if d.End() < f.Name.Pos() {
			from = d.End()
		}
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if from < c.Pos() && c.Pos() < f.Name.Pos() && c.Text == directive {
				return true
			}
		}
	}
	return false
}
