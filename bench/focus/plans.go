package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/heisen-go/heisen/focus"
)

// The plan of a program says of variables and of functions what is proved. Sections 6.1.1 to 6.1.3 of the paper are
// about using one, the other, or both.

// fieldsOnly returns a plan by which accesses to safe variables are not checked, and which says nothing of functions. All
// functions are compiled with hooks, and those of safe variables are removed from the program.
func fieldsOnly(p *focus.Plan) *focus.Plan {
	fields := *p
	fields.Functions = nil
	return &fields
}

// methodsOnly returns a plan by which typed functions are not checked, and others are checked as if nothing was known of
// their variables. The names of the plan's files are relative to a folder, whose import path is given. Typed
// functions access safe variables alone, so no checks are needed where others call them.
func methodsOnly(p *focus.Plan, folder, importPath string) (*focus.Plan, error) {
	methods := *p
	methods.Files = maps.Clone(p.Files)
	for name, file := range p.Files {
		if len(file.Reads) == 0 && len(file.Writes) == 0 {
			continue
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, path.Join(folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		typed := map[int]bool{} // by line
		for _, decl := range syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !typedWithLiterals(p, path.Join(importPath, path.Dir(name))+"."+nameOf(fn)) {
				continue
			}
			for line := fset.Position(fn.Pos()).Line; line <= fset.Position(fn.End()).Line; line++ {
				typed[line] = true
			}
		}
		within := func(lines focus.Lines) focus.Lines {
			var list []int
			for _, of := range lines {
				for line := of.First; line <= of.Last; line++ {
					if typed[line] {
						list = append(list, line)
					}
				}
			}
			return focus.LinesOf(list)
		}
		file.Reads, file.Writes = within(file.Reads), within(file.Writes)
		methods.Files[name] = file
	}
	return &methods, nil
}

// nameOf returns the name of a function in its package, as plans have it.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	switch recv := fn.Recv.List[0].Type.(type) {
	case *ast.Ident:
		return recv.Name + "." + fn.Name.Name
	case *ast.StarExpr:
		if of, ok := recv.X.(*ast.Ident); ok {
			return "(*" + of.Name + ")." + fn.Name.Name
		}
	}
	return "" // with type parameters
}

// typedWithLiterals reports whether a function is typed and so are the literals in it.
func typedWithLiterals(p *focus.Plan, name string) bool {
	if !p.Functions[focus.Function(name)].Typed {
		return false
	}
	for f, properties := range p.Functions {
		if strings.HasPrefix(string(f), name+".func") && !properties.Typed {
			return false
		}
	}
	return true
}

// untyped counts the functions of a plan, literals included.
func untyped(p *focus.Plan) (untyped, all int) {
	for _, properties := range p.Functions {
		all++
		if !properties.Typed {
			untyped++
		}
	}
	return untyped, all
}

// unsafe counts the variables of a plan.
func unsafe(p *focus.Plan) (unsafe, all int) {
	for _, v := range p.Variables {
		all++
		if v.Unsafe {
			unsafe++
		}
	}
	return unsafe, all
}

func readPlan(name string) (*focus.Plan, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return focus.DecodePlan(file)
}

func writePlan(name string, p *focus.Plan) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := p.Encode(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// module returns the import path of the module in the current folder.
func module() (string, error) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	if path := modfile.ModulePath(text); path != "" {
		return path, nil
	}
	return "", errors.New("go.mod names no module")
}
