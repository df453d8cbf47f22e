package infer

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/section"
)

// Access names a variable by an access to it, as findings do.
type Access struct {
	File string // absolute, or relative to the Source's folder
	Line int
	Expr string // such as "to.balance"; if it is empty, all variables are meant that goroutines may share and the line accesses
}

func (a Access) String() string { return fmt.Sprintf("%s:%d: %s", a.File, a.Line, a.Expr) }

// ErrNoVariable is wrapped by errors about an Access that names no variable of the packages.
var ErrNoVariable = errors.New("no such variable there")

// Uses returns the locations of all accesses to the named fields and variables, whatever expression
// they use. A field stands for that field of all values of its type; a slice, map or array includes
// its elements. The locations are ordered by file and line, and their files are absolute.
//
// If some of the packages cannot be analyzed, or some of the accesses name no variable, Uses
// returns the locations of the others and an error that wraps ErrPackages or ErrNoVariable. It
// costs as much as Infer.
func Uses(ctx context.Context, source Source, of ...Access) ([]section.Location, error) {
	l, err := source.LoadAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("find uses of variables: %w", err)
	}
	failed := []error{l.Err}
	named := named(l, source.Dir, of)
	graph, err := checker.Analyze([]*analysis.Analyzer{Accesses}, l.Packages, nil)
	if err != nil {
		return nil, fmt.Errorf("find uses of variables: %w", err)
	}
	var accesses []located
	for _, root := range graph.Roots {
		if root.Err != nil {
			failed = append(failed, fmt.Errorf("%w: %s: %w", ErrPackages, root.Package.PkgPath, root.Err))
			continue
		}
		p := root.Result.(*program)
		for _, list := range p.byFn {
			for _, a := range list {
				accesses = append(accesses, located{location(l.Fset, a), p.variable(a.path)})
			}
		}
	}
	wanted := map[variable]bool{}
	for i, a := range of {
		if a.Expr == "" {
			named[i] = onLine(accesses, absoluteIn(source.Dir, a.File), a.Line)
		}
		if len(named[i]) == 0 {
			failed = append(failed, fmt.Errorf("%v: %w", a, ErrNoVariable))
		}
		for _, v := range named[i] {
			wanted[v] = true
		}
	}
	seen := map[section.Location]bool{}
	var out []section.Location
	for _, a := range accesses {
		if !seen[a.at] && wanted[a.of] {
			seen[a.at] = true
			out = append(out, a.at)
		}
	}
	slices.SortFunc(out, compareLocations)
	return out, errors.Join(failed...)
}

// located is an access and the variable that it is to.
type located struct {
	at section.Location
	of variable
}

// onLine returns the variables that a line accesses.
func onLine(accesses []located, file string, line int) (all []variable) {
	for _, a := range accesses {
		if a.at.File == file && a.at.Line == line && a.of != (variable{}) {
			all = append(all, a.of)
		}
	}
	return all
}

// absoluteIn returns the absolute name of a file in a folder.
func absoluteIn(dir, file string) string {
	if !filepath.IsAbs(file) {
		if abs, err := filepath.Abs(filepath.Join(dir, file)); err == nil {
			return abs
		}
	}
	return filepath.Clean(file)
}

// variable identifies a field or variable by its declaration. Packages that import each other have
// different objects for the same declaration.
type variable struct {
	name string
	file string
	line int
}

func variableAt(fset *token.FileSet, name string, pos token.Pos) variable {
	at := fset.Position(pos)
	return variable{name, at.Filename, at.Line}
}

// variable returns the field or variable that a path ends in.
func (p *program) variable(at ssaload.Path) variable {
	last := at.Last()
	if last == nil {
		last = p.shared.variable(at.Root)
	}
	switch last := last.(type) {
	case *types.Var:
		return variableAt(p.pass.Fset, last.Name(), last.Pos())
	case *ssa.Global:
		return variableAt(p.pass.Fset, last.Name(), last.Pos())
	case *ssa.Alloc:
		return variableAt(p.pass.Fset, last.Comment, last.Pos())
	case *ssa.Parameter: // what it points to
		return variableAt(p.pass.Fset, last.Name(), last.Pos())
	}
	return variable{}
}

// named returns, for each of the accesses, the variables that it may name.
func named(l *ssaload.Loaded, dir string, of []Access) [][]variable {
	wanted := map[string][]int{} // the accesses in a file
	for i, a := range of {
		file := absoluteIn(dir, a.File)
		wanted[file] = append(wanted[file], i)
	}
	out := make([][]variable, len(of))
	for _, pkg := range l.Packages {
		for _, syntax := range pkg.Syntax {
			ast.Inspect(syntax, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				first, last := l.Fset.Position(e.Pos()), l.Fset.Position(e.End())
				for _, i := range wanted[first.Filename] {
					if first.Line > of[i].Line || of[i].Line > last.Line || ssaload.NameOf(e) != of[i].Expr {
						continue
					}
					if obj := objectOf(pkg, e); obj != nil {
						out[i] = append(out[i], variableAt(l.Fset, obj.Name(), obj.Pos()))
					}
				}
				return true
			})
		}
	}
	return out
}

// objectOf returns the field or variable that an expression ends in, or nil.
func objectOf(pkg *packages.Package, e ast.Expr) types.Object {
	var obj types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		obj = pkg.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		obj = pkg.TypesInfo.ObjectOf(e.Sel)
	case *ast.IndexExpr:
		return objectOf(pkg, e.X)
	case *ast.StarExpr:
		return objectOf(pkg, e.X)
	}
	if v, ok := obj.(*types.Var); ok {
		return v.Origin()
	}
	return nil
}
