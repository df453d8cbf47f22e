package source

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"net/url"
	"slices"
	"strings"
)

// The identity of a variable is a text that names its declaration, and so does not depend on the expression by which it is accessed, on
// lines, or on a run:
//
//	example.org/shop/metrics.Counter.failures    a field of a type
//	example.org/shop/metrics.total               a package-level variable
//	example.org/shop/metrics.(Counter).Add.n     a local variable of a function, or of a literal in it
//	example.org/shop/metrics.Counter.rows[]      the elements of a slice, array or map, or a channel
//	example.org/shop/metrics.pair[1]             the element of an array or slice that a constant names
//	example.org/shop/metrics.*Counter            all of a value of a struct type
//
// Where a function or a type declares a name more than once, a number tells which one it is. All values of a type have the same fields.

// identityOf returns the identity of what e denotes, then those of the variables around it. They are empty as far as they are not known.
func (f *finder) identityOf(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.identityOf(e.X)
	case *ast.Ident:
		return []string{f.declared(e)}
	case *ast.SelectorExpr:
		if path := f.packageName(e.X); path != "" {
			return []string{path + "." + e.Sel.Name}
		}
		id := f.declared(e.Sel)
		switch t := f.typeOf(e.X); {
		case t == nil:
			return []string{id}
		case isPointer(t):
			return []string{id, f.pointedTo(t)}
		}
		return append([]string{id}, f.identityOf(e.X)...)
	case *ast.IndexExpr:
		base := f.identityOf(e.X)
		if base[0] == "" {
			return base[:1]
		}
		element := part(base[0], "["+f.constantIndex(e)+"]")
		if _, isArray := under(f.typeOf(e.X)).(*types.Array); isArray {
			return append([]string{element}, base...)
		}
		return []string{element}
	case *ast.StarExpr:
		return []string{f.pointedTo(f.typeOf(e.X))}
	case *ast.SliceExpr:
		return f.identityOf(e.X)
	}
	return []string{""}
}

// part returns the identity of a part; an empty text if it is not known of what.
func part(of, part string) string {
	if of == "" {
		return ""
	}
	return of + part
}

// constantIndex returns the index of an element of an array or a slice if it is a constant; otherwise an empty text.
func (f *finder) constantIndex(e *ast.IndexExpr) string {
	if v := f.pkg.info.Types[e.Index].Value; v != nil && v.Kind() == constant.Int {
		return v.String()
	}
	return ""
}

// pointedTo returns the identity of what a pointer to a struct points to: the type, if this package declares it.
func (f *finder) pointedTo(pointer types.Type) string {
	p, ok := under(pointer).(*types.Pointer)
	if !ok {
		return ""
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok {
		return ""
	}
	if _, isStruct := named.Underlying().(*types.Struct); !isStruct {
		return ""
	}
	return f.inPackage("*", f.pkg.declared(named.Origin().Obj()))
}

// declared returns the identity of the variable that a name denotes.
func (f *finder) declared(name *ast.Ident) string {
	v, ok := f.pkg.info.ObjectOf(name).(*types.Var)
	if !ok {
		return ""
	}
	return f.inPackage("", f.pkg.declared(v.Origin()))
}

func (f *finder) inPackage(prefix, name string) string {
	if name == "" || f.importPath == "" {
		return ""
	}
	return f.importPath + "." + prefix + name
}

// importPathOf returns the import path of the package, in which a function is. The module of its folder tells it. The names of functions do
// so only if there is none: that of a function literal may begin with the package into which it was inlined, and package main is called main.
func (p *pkg) importPathOf(function string) string {
	if p.folder != "" {
		folder := strings.TrimPrefix(p.folder, "std/")
		if _, vendored, ok := strings.Cut(folder, "/vendor/"); ok {
			folder = vendored
		}
		if p.types != nil && strings.HasSuffix(p.types.Name(), "_test") {
			folder += "_test"
		}
		return folder
	}
	at := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[at:], ".")
	if plain, err := url.PathUnescape(function[:at] + name); err == nil {
		return plain
	}
	return function[:at] + name
}

// declared returns the name of a declaration in the package; an empty text for one of another package.
func (p *pkg) declared(obj types.Object) string {
	if p.names == nil {
		d := declarations{p, map[types.Object]string{}, map[string]int{}}
		for _, f := range p.parsed() {
			for _, one := range f.Decls {
				d.decl(one)
			}
		}
		p.names = d.names
	}
	return p.names[obj]
}

// declarations names what a package declares.
type declarations struct {
	p     *pkg
	names map[types.Object]string
	used  map[string]int
}

// name names an object. A name that is used already gets a number.
func (d *declarations) name(id *ast.Ident, within string) string {
	name := id.Name
	if within != "" {
		name = within + "." + name
	}
	if d.used[name]++; d.used[name] > 1 {
		name = fmt.Sprintf("%s#%d", name, d.used[name])
	}
	if obj := d.p.info.Defs[id]; obj != nil && id.Name != "_" {
		d.names[obj] = name
	}
	return name
}

// decl names a declaration of the package.
func (d *declarations) decl(decl ast.Decl) {
	fun, ok := decl.(*ast.FuncDecl)
	if !ok {
		d.walk(decl, "")
		return
	}
	within := fun.Name.Name
	if receiver, _ := ReceiverType(fun); receiver != "" {
		within = "(" + receiver + ")." + within
		d.walk(fun.Recv, within)
	} else if d.used[within]++; d.used[within] > 1 { // func init
		within = fmt.Sprintf("%s#%d", within, d.used[within])
	}
	d.walk(fun.Type, within)
	if fun.Body != nil {
		d.walk(fun.Body, within)
	}
}

// walk names what stands under a node of a declaration with a name.
func (d *declarations) walk(root ast.Node, within string) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			d.walk(n.Type, d.name(n.Name, within))
			return false
		case *ast.ValueSpec:
			of := within
			for i, id := range n.Names {
				if name := d.name(id, within); i == 0 {
					of = name // the fields of a struct type without a name
				}
			}
			if n.Type != nil {
				d.walk(n.Type, of)
			}
			for _, v := range n.Values {
				d.walk(v, of)
			}
			return false
		case *ast.Field:
			d.field(n, within)
			return false
		case *ast.Ident:
			if _, isVar := d.p.info.Defs[n].(*types.Var); isVar {
				d.name(n, within)
			}
		}
		return true
	})
}

// field names the fields, parameters or results of one declaration.
func (d *declarations) field(n *ast.Field, within string) {
	of := within
	for i, id := range n.Names {
		if name := d.name(id, within); i == 0 {
			of = name
		}
	}
	if len(n.Names) == 0 { // an embedded field has the name of its type
		ast.Inspect(n.Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && d.p.info.Defs[id] != nil {
				d.name(id, within)
			}
			return true
		})
		return
	}
	d.walk(n.Type, of)
}

// commonIdentity returns the identity that all candidates have, then those of the variables around it as the first has them.
func commonIdentity(candidates []candidate) []string {
	for i := range candidates {
		if candidates[i].identity[0] != candidates[0].identity[0] {
			return nil
		}
	}
	if len(candidates) == 0 || candidates[0].identity[0] == "" {
		return nil
	}
	return candidates[0].identity
}

// SameVariable returns the identity of the variable to which accesses are that overlap: of a variable and a part of it, that of the part.
// The identities are those of their choices. It is empty if none is known, or if they contradict each other.
func SameVariable(choices []Choice) (identity string) {
	var around []string
	for _, c := range choices {
		switch {
		case len(c.Identity) == 0 || c.Identity[0] == identity || slices.Contains(around, c.Identity[0]):
		case identity == "" || slices.Contains(c.Identity, identity):
			identity, around = c.Identity[0], c.Identity[1:]
		default:
			return ""
		}
	}
	return identity
}
