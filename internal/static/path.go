package static

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// A Path is how a function names a variable: from another one, through fields. A pointer and what it points to have the
// same path.
type Path struct {
	Root   Key
	Fields string // such as ".state.mu"
	Global bool   // the root is a package-level variable
}

// Valid reports whether p names a variable.
func (p Path) Valid() bool { return p.Root.Name != "" }

// With returns the path of a field.
func (p Path) With(field string) Path { return Path{p.Root, p.Fields + "." + field, p.Global} }

// HasPrefix reports whether p leads through q or to it.
func (p Path) HasPrefix(q Path) bool {
	return p.Root == q.Root && (p.Fields == q.Fields || strings.HasPrefix(p.Fields, q.Fields+"."))
}

// DependsOn reports whether p leads elsewhere after q is assigned.
func (p Path) DependsOn(q Path) bool {
	return p.HasPrefix(q) || q.Fields == "" && strings.Contains(p.Fields, "["+indexName(q.Root)+"]")
}

func indexName(at Key) string { return at.Name + strconv.Itoa(at.Line) }

// PathOf returns the path of an expression. It is not valid for an expression whose value is not always the same variable,
// such as a call.
func (p *Program) PathOf(info *types.Info, e ast.Expr) Path {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := info.ObjectOf(e).(*types.Var); ok && v.Pos().IsValid() {
			return Path{Root: p.Key(v), Global: IsGlobal(v)}
		}
	case *ast.StarExpr:
		return p.PathOf(info, e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.PathOf(info, e.X)
		}
	case *ast.IndexExpr:
		base := p.PathOf(info, e.X)
		if lit, ok := e.Index.(*ast.BasicLit); ok && base.Valid() {
			return base.With("[" + lit.Value + "]")
		}
		if id, ok := e.Index.(*ast.Ident); ok && base.Valid() {
			if v, ok := info.ObjectOf(id).(*types.Var); ok {
				return base.With("[" + indexName(p.Key(v)) + "]")
			}
		}
	case *ast.SelectorExpr:
		selection := info.Selections[e]
		if selection == nil {
			if v, ok := info.Uses[e.Sel].(*types.Var); ok {
				return Path{Root: p.Key(v), Global: true}
			}
			return Path{}
		}
		if base := p.PathOf(info, e.X); base.Valid() && selection.Kind() == types.FieldVal {
			return base.Through(selection).With(e.Sel.Name)
		}
	}
	return Path{}
}

// Through adds the embedded fields that a selection leads through. A path that is not valid stays so.
func (p Path) Through(selection *types.Selection) Path {
	for _, field := range Embedded(selection) {
		if p.Valid() {
			p = p.With(field.Name())
		}
	}
	return p
}

// Embedded returns the embedded fields that a selection leads through.
func Embedded(selection *types.Selection) (fields []*types.Var) {
	t := selection.Recv()
	index := selection.Index()
	for _, i := range index[:len(index)-1] {
		st, ok := Deref(t).Underlying().(*types.Struct)
		if !ok || i >= st.NumFields() {
			return fields
		}
		fields = append(fields, st.Field(i))
		t = st.Field(i).Type()
	}
	return fields
}

// Variable returns the field or variable that an expression ends in: of an element, what has it; of a pointer, what points.
// It returns nil if there is none.
func Variable(info *types.Info, e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ := info.ObjectOf(e).(*types.Var)
		return v
	case *ast.SelectorExpr:
		v, _ := info.Uses[e.Sel].(*types.Var)
		return v
	case *ast.IndexExpr:
		return Variable(info, e.X)
	case *ast.StarExpr:
		return Variable(info, e.X)
	}
	return nil
}

// IsGlobal reports whether v is a package-level variable.
func IsGlobal(v *types.Var) bool {
	return !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// Deref returns the type that a pointer type points to, and other types as they are.
func Deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

// Translate returns the path in a callee for a path in its caller, if the callee can name the variable.
func (p *Program) Translate(c *Call, callee *Function, at Path) (Path, bool) {
	if at.Global || callee.Parent != nil { // a literal names the variables around it
		return at, true
	}
	for param, arg := range p.Arguments(c, callee) {
		from := p.ArgumentPath(c, arg)
		if from.Valid() && at.HasPrefix(from) {
			return Path{Root: param, Fields: at.Fields[len(from.Fields):]}, true
		}
	}
	return Path{}, false
}

// ArgumentPath returns the path of an argument; of a receiver, with the embedded fields that lead to it.
func (p *Program) ArgumentPath(c *Call, arg ast.Expr) Path {
	info := c.In.Info()
	at := p.PathOf(info, arg)
	if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok && sel.X == arg {
		if selection := info.Selections[sel]; selection != nil {
			at = at.Through(selection)
		}
	}
	return at
}

// Arguments returns the arguments of a call, the receiver among them, by the parameters of a callee.
func (p *Program) Arguments(c *Call, callee *Function) map[Key]ast.Expr {
	out := map[Key]ast.Expr{}
	info := callee.Info()
	add := func(name *ast.Ident, arg ast.Expr) {
		if obj := info.Defs[name]; obj != nil {
			out[p.Key(obj)] = arg
		}
	}
	if recv := callee.Recv(); recv != nil && len(recv.List) > 0 && len(recv.List[0].Names) > 0 {
		if sel, ok := ast.Unparen(c.Expr.Fun).(*ast.SelectorExpr); ok {
			add(recv.List[0].Names[0], sel.X)
		}
	}
	i := 0
	for _, field := range callee.Type.Params.List {
		for _, name := range field.Names {
			if _, variadic := field.Type.(*ast.Ellipsis); !variadic && i < len(c.Expr.Args) {
				add(name, c.Expr.Args[i])
			}
			i++
		}
	}
	return out
}
