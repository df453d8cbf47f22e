package build

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Hiding is what a run needs to know of hidden packages.
type Hiding struct {
	Packages  []string    // import paths
	Reaches   []Directive // variables that hidden code uses without being given them
	Constants []Directive // variables by which hidden code does not synchronize
}

// Directive is a variable that a directive names.
type Directive struct {
	Variable string // import path, dot, name
	At       string // file:line of the directive
}

// reachesDirective is on a line of its own in a Go file of the main module or of a hidden package,
// before the import path and the name of a variable:
//
//	//heisen:reaches net/http.DefaultClient
//
// It is the annotation of global variables of TREE and RDIT (section 4.3, caveat 5), for all hidden
// calls. The variables of the hidden packages need no annotation: they are in all sets, and so
// order all calls. A variable that does not change after initialization, and leads only to objects
// that don't change either, orders nothing. It can be declared in such a file by
//
//	//heisen:constant example.com/hidden.ErrEmpty
//
// This is not checked. (The thesis found only immutable singletons among the global variables of
// its programs, and leaves out those that are not annotated.)
const (
	reachesDirective  = "//heisen:reaches "
	constantDirective = "//heisen:constant "
)

// Hide compiles the packages that match the patterns so that calls of their functions are
// recognized. They are compiled as recorded packages, whatever the patterns of New. flags are build
// flags, which may decide which files a package has.
func (b *Builder) Hide(ctx context.Context, dir string, flags []string, patterns ...string) (hiding Hiding, err error) {
	for _, pattern := range patterns {
		if _, err := b.patternFlags(ctx, dir, pattern); err != nil {
			return hiding, err
		}
		matches, err := b.list(ctx, dir, pattern)
		if err != nil {
			return hiding, err
		}
		for _, path := range matches {
			if path == "runtime" || strings.HasPrefix(path, "runtime/") || path == "sync" || strings.HasPrefix(path, "internal/") {
				return hiding, fmt.Errorf("%s cannot be hidden: it is part of how programs run", path)
			}
		}
		hiding.Packages = append(hiding.Packages, matches...)
		b.gcflags = append(b.gcflags, compiled{pattern, instrumentAlone})
	}
	roots, err := b.list(ctx, dir, "-m", "-f", "{{with .Dir}}{{.}}/...{{end}}")
	if err != nil {
		return hiding, err
	}
	const files = "{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}\n{{end}}{{range .TestGoFiles}}{{$dir}}/{{.}}\n{{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}}\n{{end}}"
	paths, err := b.listLines(ctx, dir, slices.Concat([]string{"-e", "-f", files}, flags, roots, patterns)...)
	if err != nil {
		return hiding, err
	}
	seen := map[string]bool{}
	for _, path := range paths {
		if !seen[path] {
			seen[path] = true
			if err := hiding.read(path); err != nil {
				return hiding, err
			}
		}
	}
	return hiding, nil
}

// read collects the directives in a Go file.
func (h *Hiding) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimLeft(lines.Text(), " \t")
		list := &h.Reaches
		rest, ok := strings.CutPrefix(line, reachesDirective)
		if !ok {
			list = &h.Constants
			if rest, ok = strings.CutPrefix(line, constantDirective); !ok {
				continue
			}
		}
		at := fmt.Sprintf("%s:%d", path, n)
		name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if dot := strings.LastIndexByte(name, '.'); dot < 1 || dot < strings.LastIndexByte(name, '/') || dot == len(name)-1 {
			return fmt.Errorf("%s: %q is not an import path, a dot and a variable", at, name)
		}
		*list = append(*list, Directive{name, at})
	}
	return lines.Err()
}
