package patch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// target is what one lock is to guard: a variable, or several fields of a struct.
type target struct {
	variables []*variable
	fn        *static.Function // that declares a local variable
	file      *static.File     // of the declaration
}

// variable is a declared variable.
type variable struct {
	object static.Key
	v      *types.Var
	ident  *ast.Ident // in the declaration
	key    string
}

func (t *target) isField() bool { return t.first().v.IsField() }

func (t *target) first() *variable { return t.variables[0] }

func (t *target) has(o static.Key) bool {
	return slices.ContainsFunc(t.variables, func(v *variable) bool { return v.object == o })
}

// names returns the names of the variables, such as "hits and misses".
func (t *target) names() string {
	var names []string
	for _, v := range t.variables {
		names = append(names, v.v.Name())
	}
	if n := len(names); n > 2 {
		names = []string{strings.Join(names[:n-1], ", "), names[n-1]}
	}
	return strings.Join(names, " and ")
}

// declare finds where a variable is declared. It returns nil for a variable of another module.
func (p *program) declare(v *types.Var) *target {
	o := p.Key(v)
	f := p.File(o.File)
	if f == nil {
		return nil
	}
	var ident *ast.Ident
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && ident == nil {
			if def, ok := f.Info().Defs[id].(*types.Var); ok && p.Key(def) == o {
				ident = id
			}
		}
		return ident == nil
	})
	if ident == nil {
		return nil
	}
	t := &target{fn: p.Around(ident), file: f}
	declared := f.Info().Defs[ident].(*types.Var)
	t.variables = []*variable{{object: o, v: declared, ident: ident, key: p.key(t, ident, declared)}}
	return t
}

// key names a variable in a way that does not depend on lines.
func (p *program) key(t *target, ident *ast.Ident, v *types.Var) string {
	at := t.file.Package.PkgPath + "."
	if spec := p.typeSpec(ident); spec != nil {
		at += spec.Name.Name + "."
	}
	if fn := t.fn; fn != nil {
		for fn.Parent != nil {
			fn = fn.Parent
		}
		if decl, ok := fn.Node.(*ast.FuncDecl); ok {
			at += decl.Name.Name
			if decl.Recv != nil {
				at += types.ExprString(decl.Recv.List[0].Type)
			}
		}
		before := 0 // variables of the same name in the function
		ast.Inspect(fn.Node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == ident.Name && id.Pos() < ident.Pos() && t.file.Info().Defs[id] != nil {
				before++
			}
			return true
		})
		at += strings.Repeat("'", before) + "."
	}
	return at + v.Name()
}

// byKey finds a variable by its key, in another version of the source.
func (p *program) byKey(key string) *target {
	_, name, _ := strings.Cut(key, ".")
	name = name[strings.LastIndex(name, ".")+1:]
	for _, f := range p.Files() {
		for id, obj := range f.Info().Defs {
			v, ok := obj.(*types.Var)
			if !ok || id.Name != name || p.File(p.Key(v).File) != f {
				continue
			}
			if t := p.declare(v); t != nil && t.first().key == key {
				return t
			}
		}
	}
	return nil
}

// typeSpec returns the declaration of the type around a node, or nil.
func (p *program) typeSpec(n ast.Node) *ast.TypeSpec {
	for ; n != nil; n = p.Parent(n) {
		if spec, ok := n.(*ast.TypeSpec); ok {
			return spec
		}
	}
	return nil
}

// structOf returns the struct type that declares a field.
func (p *program) structOf(field *ast.Ident) *ast.StructType {
	for n := ast.Node(field); n != nil; n = p.Parent(n) {
		if st, ok := n.(*ast.StructType); ok {
			return st
		}
	}
	return nil
}
