package ownership

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// packagePath returns the import path of a package. That of a test package is the path of the package that
// it tests, with _test.
func packagePath(pkg *types.Package) string { return pkg.Path() }

// typeName returns the name of a type of a package as a Variable without Name. A type that a function
// declares has none, because several functions may declare the same name.
func typeName(n *types.Named) (v focus.Variable, ok bool) {
	obj := n.Obj()
	if obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return focus.Variable{}, false
	}
	return focus.Variable{Package: packagePath(obj.Pkg()), Type: obj.Name()}, true
}

// globalName returns the name of a package-level variable.
func globalName(g *ssa.Global) (v focus.Variable, ok bool) {
	if g.Object() == nil || g.Pkg == nil {
		return focus.Variable{}, false // such as init$guard
	}
	return focus.Variable{Package: packagePath(g.Pkg.Pkg), Name: g.Name()}, true
}

// variableAt returns the field or package-level variable at the end of a path. Anything else is not ok: a local
// variable, an element, the target of a pointer.
func variableAt(p ssaload.Path) (m memory, ok bool) {
	end := len(p.Steps)
	var names []string
	for end > 0 && p.Steps[end-1].Kind == ssaload.FieldStep {
		step := p.Steps[end-1]
		end--
		names = append([]string{step.Field.Name()}, names...)
		if step.Owner == nil {
			continue // of a struct type without a name
		}
		if m.Variable, ok = typeName(step.Owner); !ok {
			return memory{}, false
		}
		m.Name = strings.Join(names, ".")
		return m, m.Name != "_"
	}
	g, isGlobal := p.Root.(*ssa.Global)
	if !isGlobal || end > 0 {
		return memory{}, false
	}
	if m.Variable, ok = globalName(g); !ok {
		return memory{}, false
	}
	if len(names) > 0 {
		m.Type, m.Name = m.Name, strings.Join(names, ".")
	}
	return m, true
}

// id identifies a function in all packages, even where only its type is known.
func id(fn *ssa.Function) string {
	fn = ssaload.Origin(fn)
	if obj, ok := fn.Object().(*types.Func); ok {
		if obj.Name() == "init" && obj.Signature().Recv() == nil {
			return packagePath(obj.Pkg()) + "." + fn.Name()
		}
		return obj.Origin().FullName()
	}
	if fn.Parent() != nil {
		return id(fn.Parent()) + "$" + fn.Name()[strings.LastIndexByte(fn.Name(), '$')+1:]
	}
	return fn.String()
}

// id returns id(fn), and remembers it.
func (a *analysis) id(fn *ssa.Function) string {
	name, ok := a.ids[fn]
	if !ok {
		name = id(fn)
		a.ids[fn] = name
	}
	return name
}

// functionNames returns the names that package runtime has for the functions and literals of a package.
// Functions whose names are not certain are left out: those with a loop over an iterator, whose body the
// compiler makes a function of its own, and literals in initial values.
func functionNames(pkg *types.Package, functions []*ssa.Function) map[*ssa.Function]focus.Function {
	out := map[*ssa.Function]focus.Function{}
	inits := 0
	for _, fn := range functions {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Name() == "_" {
			continue
		}
		name := obj.Name()
		if recv := obj.Signature().Recv(); recv != nil {
			_, pointer := types.Unalias(recv.Type()).(*types.Pointer)
			n := ssaload.Named(ssaload.Deref(types.Unalias(recv.Type())))
			if n == nil {
				continue
			}
			text := n.Obj().Name()
			if n.TypeParams().Len() > 0 {
				text += "[...]"
			}
			if pointer {
				text = "(*" + text + ")"
			}
			name = text + "." + name
		} else if name == "init" {
			name = fmt.Sprintf("init.%d", inits)
			inits++
		}
		if fn.Signature.TypeParams().Len() > 0 {
			name += "[...]"
		}
		nameWithLiterals(fn, pathPrefix(pkg)+name, out)
	}
	return out
}

// pathPrefix returns the import path as names of functions begin with it.
func pathPrefix(pkg *types.Package) string {
	v := focus.Variable{Package: packagePath(pkg), Name: "x"}.String()
	return v[:len(v)-1]
}

// nameWithLiterals adds the name of a function and those of its literals. The compiler numbers literals in
// the order of the source, first those of the outermost function and then those of each.
func nameWithLiterals(fn *ssa.Function, name string, out map[*ssa.Function]focus.Function) {
	literals := map[ast.Node]*ssa.Function{}
	for _, literal := range fn.AnonFuncs {
		if _, ok := literal.Syntax().(*ast.FuncLit); !ok {
			return // a loop over an iterator
		}
		literals[literal.Syntax()] = literal
	}
	out[fn] = focus.Function(name)
	if fn.Syntax() == nil {
		return
	}
	number := 0
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok || lit == fn.Syntax() {
			return true
		}
		number++
		if literal := literals[lit]; literal != nil {
			text := fmt.Sprintf("%s.func%d", name, number)
			if fn.Parent() != nil {
				text = fmt.Sprintf("%s.%d", name, number)
			}
			nameWithLiterals(literal, text, out)
		}
		return false
	})
}
