package enforce

import (
	"go/ast"
	"go/token"
	"go/types"
)

// object returns the variable of the source by which an access names the object that has a variable of the profile: the
// receiver, a parameter or a local variable that points to the object or is it, or a package-level variable. It returns
// nil if the source does not show that the name stands for one object from one definition of it to the next.
func (p *Program) object(info *types.Info, e ast.Expr, name string) *types.Var {
	switch e := e.(type) {
	case *ast.Ident:
		if v, _ := info.Uses[e].(*types.Var); v != nil && (p.fields[p.src.Key(v)] == name || p.hasField(v.Type(), name) && p.steady(v)) {
			return v
		}
	case *ast.StarExpr:
		if id, named := ast.Unparen(e.X).(*ast.Ident); named && p.hasField(info.TypeOf(e), name) {
			if v, _ := info.Uses[id].(*types.Var); v != nil && !v.IsField() && p.steady(v) {
				return v
			}
		}
	case *ast.SelectorExpr:
		v, _ := info.Uses[e.Sel].(*types.Var)
		if v == nil || p.fields[p.src.Key(v)] != name { // a field of a struct that is accessed as a whole
			return nil
		}
		if !v.IsField() {
			return v
		}
		id, named := ast.Unparen(e.X).(*ast.Ident)
		if s := info.Selections[e]; s == nil || len(s.Index()) != 1 || !named {
			return nil
		}
		if of, _ := info.Uses[id].(*types.Var); of != nil && !of.IsField() && p.steady(of) {
			return of
		}
	}
	return nil
}

// hasField reports whether a variable of the profile is a field of a type, and not one of a struct in it.
func (p *Program) hasField(t types.Type, name string) bool {
	st, ok := underlying(t).(*types.Struct)
	if !ok {
		return false
	}
	for i := range st.NumFields() {
		if p.fields[p.src.Key(st.Field(i))] == name {
			return true
		}
	}
	return false
}

// steady reports whether a variable of the source is one object, or points to one, from one definition of it to the next.
func (p *Program) steady(v *types.Var) bool {
	if p.looping[v] {
		return false
	}
	if _, pointer := v.Type().Underlying().(*types.Pointer); !pointer {
		return true
	}
	return !p.waits.Definitions.Changes(v) && v.Parent() != v.Pkg().Scope()
}

// findLooping finds the variables of the clauses of for statements, which each iteration has anew without a definition,
// and results with names, which a return statement changes.
func (p *Program) findLooping() {
	p.looping = map[*types.Var]bool{}
	for _, f := range p.src.Files() {
		note := func(id *ast.Ident) {
			if v, ok := f.Info().Defs[id].(*types.Var); ok {
				p.looping[v] = true
			}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				if init, ok := n.Init.(*ast.AssignStmt); ok && init.Tok == token.DEFINE {
					for _, left := range init.Lhs {
						if id, ok := left.(*ast.Ident); ok {
							note(id)
						}
					}
				}
			case *ast.FuncType:
				if n.Results != nil {
					for _, field := range n.Results.List {
						for _, id := range field.Names {
							note(id)
						}
					}
				}
			}
			return true
		})
	}
}

// inParts reports whether a variable of a type may be accessed in parts, such as the elements of a slice or what a pointer
// points to. Each part is a range of bytes of its own in a profile.
func (p *Program) inParts(t types.Type) bool {
	if isAtomic(t) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return p.structVariables(u.Elem()) == nil // fields are variables of their own
	case *types.Basic, *types.Chan, *types.Signature, *types.Interface:
		return false
	}
	return true
}

// objectOf returns the object of all accesses of a step to a variable; nil if it is not known. whole is set if accesses to
// the same object are accesses to the same memory.
func (s *step) objectOf(variable string) (object *types.Var, whole bool) {
	first := true
	whole = true
	for _, a := range s.accesses {
		if a.variable != variable || a.made {
			continue
		}
		if first {
			object, first = a.object, false
		} else if a.object != object {
			return nil, false
		}
		whole = whole && !a.parts
	}
	return object, whole && object != nil
}

// definition returns the step that defines a variable of the source; -1 if it is defined elsewhere.
func (f *flow) definition(v *types.Var) int {
	if v == nil {
		return -1
	}
	for _, s := range f.steps {
		for _, part := range s.parts {
			if part.Pos() <= v.Pos() && v.Pos() < part.End() {
				return s.id
			}
		}
	}
	return -1
}
