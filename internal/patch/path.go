package patch

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// path is how a function names a variable: from another one, through fields. A pointer and what it points to
// have the same path.
type path struct {
	root   static.Key
	fields string // such as ".state.mu"
	global bool   // the root is a package-level variable
}

func (p path) valid() bool { return p.root.Name != "" }

func (p path) with(field string) path { return path{p.root, p.fields + "." + field, p.global} }

// hasPrefix reports whether p leads through q or to it.
func (p path) hasPrefix(q path) bool {
	return p.root == q.root && (p.fields == q.fields || strings.HasPrefix(p.fields, q.fields+"."))
}

// pathOf returns the path of an expression. It is not valid for an expression whose value is not always the
// same variable, such as a call.
func (p *program) pathOf(info *types.Info, e ast.Expr) path {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v, ok := info.ObjectOf(e).(*types.Var); ok && v.Pos().IsValid() {
			return path{root: p.Key(v), global: isGlobal(v)}
		}
	case *ast.StarExpr:
		return p.pathOf(info, e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.pathOf(info, e.X)
		}
	case *ast.IndexExpr:
		base := p.pathOf(info, e.X)
		if lit, ok := e.Index.(*ast.BasicLit); ok && base.valid() {
			return base.with("[" + lit.Value + "]")
		}
		if id, ok := e.Index.(*ast.Ident); ok && base.valid() {
			if v, ok := info.ObjectOf(id).(*types.Var); ok {
				at := p.Key(v)
				return base.with("[" + at.Name + strconv.Itoa(at.Line) + "]")
			}
		}
	case *ast.SelectorExpr:
		selection := info.Selections[e]
		if selection == nil {
			if v, ok := info.Uses[e.Sel].(*types.Var); ok {
				return path{root: p.Key(v), global: true}
			}
			return path{}
		}
		if selection.Kind() != types.FieldVal {
			return path{}
		}
		base := p.pathOf(info, e.X)
		if !base.valid() {
			return path{}
		}
		return through(base, selection).with(e.Sel.Name)
	}
	return path{}
}

// through adds the embedded fields that a selection leads through.
func through(base path, selection *types.Selection) path {
	for _, field := range embedded(selection) {
		base = base.with(field.Name())
	}
	return base
}

// embedded returns the embedded fields that a selection leads through.
func embedded(selection *types.Selection) (fields []*types.Var) {
	t := selection.Recv()
	index := selection.Index()
	for _, i := range index[:len(index)-1] {
		st, ok := deref(t).Underlying().(*types.Struct)
		if !ok || i >= st.NumFields() {
			return fields
		}
		fields = append(fields, st.Field(i))
		t = st.Field(i).Type()
	}
	return fields
}

func isGlobal(v *types.Var) bool {
	return !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

func deref(t types.Type) types.Type {
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		return ptr.Elem()
	}
	return t
}

// translate returns the path in a callee for a path in its caller, if the callee can name the variable.
func (p *program) translate(c *call, callee *function, at path) (path, bool) {
	if at.global || callee.Parent != nil { // a literal names the variables around it
		return at, true
	}
	for param, arg := range p.arguments(c, callee) {
		from := p.receiverPath(c, arg)
		if from.valid() && at.hasPrefix(from) {
			return path{root: param, fields: at.fields[len(from.fields):]}, true
		}
	}
	return path{}, false
}

// receiverPath returns the path of an argument; of a receiver, with the embedded fields that lead to it.
func (p *program) receiverPath(c *call, arg ast.Expr) path {
	info := c.in.Info()
	at := p.pathOf(info, arg)
	if sel, ok := ast.Unparen(c.expr.Fun).(*ast.SelectorExpr); ok && sel.X == arg && at.valid() {
		if selection := info.Selections[sel]; selection != nil {
			at = through(at, selection)
		}
	}
	return at
}

// arguments returns the arguments of a call by the parameters of a callee.
func (p *program) arguments(c *call, callee *function) map[static.Key]ast.Expr {
	out := map[static.Key]ast.Expr{}
	info := callee.Info()
	add := func(name *ast.Ident, arg ast.Expr) {
		if obj := info.Defs[name]; obj != nil {
			out[p.Key(obj)] = arg
		}
	}
	if callee.recv() != nil && len(callee.recv().List) > 0 && len(callee.recv().List[0].Names) > 0 {
		if sel, ok := ast.Unparen(c.expr.Fun).(*ast.SelectorExpr); ok {
			add(callee.recv().List[0].Names[0], sel.X)
		}
	}
	i := 0
	for _, field := range callee.Type.Params.List {
		for _, name := range field.Names {
			if _, variadic := field.Type.(*ast.Ellipsis); !variadic && i < len(c.expr.Args) {
				add(name, c.expr.Args[i])
			}
			i++
		}
	}
	return out
}
