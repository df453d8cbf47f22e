package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// shows returns an expression whose value would be another one if a struct had a field more, or a field of another type; nil if the
// program has none: the struct is compared, is the key of a map, or is given to a function that looks at all fields. exported says
// that the field would be so: encoders of packages such as encoding/json look at exported fields only. changed says that the type of
// a field changes.
func (p *program) shows(owner *types.Named, exported, changed bool) (found ast.Expr) {
	for _, f := range p.Files() {
		info := f.Info()
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if found != nil {
				return false
			}
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && contains(info.TypeOf(n.X), owner) {
					found = n
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && contains(info.TypeOf(n.Tag), owner) {
					found = n.Tag
				}
			case *ast.MapType:
				if contains(info.TypeOf(n.Key), owner) {
					found = n
				}
			case *ast.CallExpr:
				if p.showsFields(f, n, owner, exported, changed) {
					found = n
				}
			}
			return true
		})
	}
	return found
}

// showsFields reports whether a call gives a struct to a function that looks at all fields.
func (p *program) showsFields(f *static.File, call *ast.CallExpr, owner *types.Named, exported, changed bool) bool {
	info := f.Info()
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && info.Types[call.Fun].IsBuiltin() { // of package unsafe
		return strings.HasSuffix(sel.Sel.Name, "of") && len(call.Args) > 0 && contains(info.TypeOf(call.Args[0]), owner)
	}
	fn := static.Callee(info, call)
	if fn == nil || fn.Pkg() == nil || p.Declared(fn) != nil {
		return false
	}
	path := fn.Pkg().Path()
	printed, encoded := path == "fmt" || path == "log" || path == "testing", strings.HasPrefix(path, "encoding/")
	switch {
	case path == "testing" || printed && strings.HasSuffix(f.Path, "_test.go"): // messages of tests that fail
		return false
	case encoded && path != "encoding/binary" && !exported && !changed:
		return false
	case !printed && !encoded && path != "reflect" && path != "log/slog" && !strings.Contains(strings.Split(path, "/")[0], "."):
		return false
	}
	for i, arg := range call.Args {
		t := info.TypeOf(arg)
		if t == nil || !static.TakesAny(fn, i) {
			continue
		}
		if printed {
			if ptr, ok := types.Unalias(t).(*types.Pointer); ok && !printsItself(t) {
				t = ptr.Elem()
			}
			if elements(t, owner) && !printsItself(info.TypeOf(arg)) {
				return true
			}
		} else if leadsTo(t, owner, map[types.Type]bool{}) {
			return true
		}
	}
	return false
}

// printsItself reports whether a type has a method by which package fmt prints its values.
func printsItself(t types.Type) bool {
	for _, name := range []string{"String", "Error", "Format", "GoString"} {
		obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		if _, ok := obj.(*types.Func); ok {
			return true
		}
	}
	return false
}

// contains reports whether values of a type have a struct in them, other than by a pointer.
func contains(t types.Type, owner *types.Named) bool {
	if t == nil {
		return false
	}
	if isNamed(t, owner) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return contains(u.Elem(), owner)
	case *types.Struct:
		for field := range u.Fields() {
			if contains(field.Type(), owner) {
				return true
			}
		}
	}
	return false
}

// elements is contains, and also looks at the elements of slices and maps, as printing does.
func elements(t types.Type, owner *types.Named) bool {
	if contains(t, owner) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return elements(u.Elem(), owner)
	case *types.Map:
		return elements(u.Elem(), owner)
	}
	return false
}

// isNamed reports whether a type is a named one, or an instance of it.
func isNamed(t types.Type, owner *types.Named) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == owner.Obj().Name() && n.Obj().Pkg() != nil && owner.Obj().Pkg() != nil && n.Obj().Pkg().Path() == owner.Obj().Pkg().Path()
}

// holder returns the variable that has the struct of a field, if the struct is copied as a whole and all accesses to the field name
// it by that variable: then a lock guards the variable as a whole. It returns nil if there is none.
func (p *program) holder(t *target) *target {
	if !t.isField() || p.copied(t) == nil {
		return nil
	}
	owner := p.ownerOf(t)
	if owner == nil || hasReferences(owner) {
		return nil
	}
	var held *types.Var
	methods := map[*static.Function]bool{}
	for _, u := range p.uses(t) {
		if u.base == nil || u.fn == nil {
			return nil
		}
		v := static.Variable(u.fn.Info(), u.base)
		switch {
		case v == nil:
			return nil
		case u.fn.Recv() != nil && len(u.fn.Recv().List[0].Names) > 0 && u.fn.Info().Defs[u.fn.Recv().List[0].Names[0]] == v:
			methods[u.fn] = true
		case isPointer(v.Type()):
			return nil
		case !v.IsField() && !static.IsGlobal(v): // a copy
		case held == nil:
			held = v
		case p.Key(held) != p.Key(v):
			return nil
		}
	}
	for c := range p.calls {
		if !methods[c.Callee] {
			continue
		}
		sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		switch v := static.Variable(c.In.Info(), sel.X); {
		case v == nil:
			return nil
		case !v.IsField() && !static.IsGlobal(v) && !isPointer(v.Type()):
		case held == nil:
			held = v
		case p.Key(held) != p.Key(v):
			return nil
		}
	}
	for fn := range methods {
		if p.graph.IsValue(fn) {
			return nil
		}
	}
	if held == nil || !isNamed(held.Type(), owner) {
		return nil
	}
	return p.declare(held)
}

// hasReferences reports whether copies of a struct share something with it.
func hasReferences(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Array:
		return hasReferences(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			if hasReferences(field.Type()) {
				return true
			}
		}
		return false
	}
	return true
}
