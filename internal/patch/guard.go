package patch

import (
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/heisen-go/heisen/internal/static"
)

// guard is the lock that is to guard a target.
type guard struct {
	class    static.Key
	rw       bool // a sync.RWMutex
	embedded bool // its methods are those of the struct
	existing bool

	absolute static.Path // a variable; not valid for a field
	name     string      // of the variable, or of the new field
	home     string      // the path of the package that declares the variable
	trim     int         // fields of the path of a use that do not lead to the lock
	suffix   string      // fields that lead to the lock from there
}

// on returns the path of the lock for a use.
func (g *guard) on(u *use) static.Path {
	if g.absolute.Valid() {
		return g.absolute
	}
	at := u.path
	for range g.trim {
		i := strings.LastIndexByte(at.Fields, '.')
		if i < 0 {
			return static.Path{}
		}
		at.Fields = at.Fields[:i]
	}
	if at.Valid() {
		at.Fields += g.suffix
	}
	return at
}

// expression returns the lock as source for a use. It returns "" if there is none.
func (g *guard) expression(p *program, u *use, text func(ast.Node) string) string {
	if g.absolute.Valid() {
		if g.home == "" || u.fn == nil || u.fn.Package.Types.Path() == g.home {
			return g.name
		}
		for _, spec := range u.fn.Syntax.Imports {
			if imported, ok := u.fn.Info().Implicits[spec].(*types.PkgName); ok && imported.Imported().Path() == g.home {
				return imported.Name() + "." + g.name
			}
			if spec.Name != nil {
				if imported, ok := u.fn.Info().Defs[spec.Name].(*types.PkgName); ok && imported.Imported().Path() == g.home {
					return imported.Name() + "." + g.name
				}
			}
		}
		return ""
	}
	base := u.base
	if base == nil || !u.path.Valid() {
		return ""
	}
	for range g.trim {
		sel, ok := ast.Unparen(base).(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		base = sel.X
	}
	base = ast.Unparen(base)
	if addr, ok := base.(*ast.UnaryExpr); ok {
		base = addr.X
	}
	expr := text(base)
	if star, ok := base.(*ast.StarExpr); ok {
		expr = text(star.X)
	}
	if g.embedded && strings.Count(g.suffix, ".") == 1 {
		return expr
	}
	return expr + g.suffix
}

// lockField returns the name that is used last to name the lock.
func (g *guard) lockField() string {
	if g.existing && !g.absolute.Valid() {
		return g.suffix[strings.LastIndexByte(g.suffix, '.')+1:]
	}
	return g.name
}

// holds reports whether a use holds the lock, on all paths to it. exclusive is set if it holds it exclusively.
func (g *guard) holds(p *program, u *use) (exclusive, ok bool) {
	h := p.locks.At(u.expr)
	if h == nil {
		return true, true // never reached
	}
	exclusive, ok = h.Must[static.LockName{Path: g.on(u), Class: g.class}]
	return exclusive, ok
}

// mayHold reports whether a use may hold the lock, or one of its class.
func (g *guard) mayHold(p *program, u *use) bool {
	h := p.locks.At(u.expr)
	if h == nil {
		return false
	}
	_, ok := h.May[g.class]
	return ok
}

// candidates returns the locks of the program that some of the uses hold and that may be meant for the target, those that
// most hold first.
func (p *program) candidates(uses []*use) (out []*guard) {
	count := map[guard]int{}
	for _, u := range uses {
		seen := map[guard]bool{}
		for l := range p.heldForSome(u) {
			g, ok := relate(l, u)
			if !ok || seen[g] {
				continue
			}
			v := p.variableOfClass(l.Class)
			if v == nil {
				continue
			}
			kind := static.KindOf(static.Deref(v.Type()))
			if kind == static.NotLock {
				continue
			}
			if g.absolute.Valid() {
				g.home = p.File(l.Class.File).Package.Types.Path()
			}
			g.rw, g.embedded = kind == static.RWMutex, v.Embedded()
			seen[g] = true
			count[g]++
		}
	}
	var all []guard
	for g := range count {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b guard) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.class.Name, b.class.Name), cmp.Compare(a.trim, b.trim), cmp.Compare(a.suffix, b.suffix))
	})
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

// heldForSome returns the locks that are held at a use on all paths from some call of its function.
func (p *program) heldForSome(u *use) map[static.LockName]bool {
	h := p.locks.At(u.expr)
	if h == nil {
		return nil
	}
	out := map[static.LockName]bool{}
	maps.Copy(out, h.Must)
	if !p.locks.CallersKnown(u.fn) {
		return out
	}
	for c := range p.calls {
		if c.Started || c.Only() != u.fn && !slices.Contains(c.InPlace, u.fn) {
			continue
		}
		there := p.locks.At(c.Expr)
		if there == nil {
			continue
		}
		for l, exclusive := range there.Must {
			if at, ok := p.Translate(c, u.fn, l.Path); ok {
				out[static.LockName{Path: at, Class: l.Class}] = exclusive
			}
		}
	}
	return out
}

// relate says how a use names a lock that it holds: from the struct of a field, or by name.
func relate(l static.LockName, u *use) (guard, bool) {
	g := guard{class: l.Class, existing: true}
	if l.Path.Global && l.Path.Fields == "" {
		g.absolute, g.name = l.Path, l.Path.Root.Name
		return g, true
	}
	if u.base != nil && u.path.Valid() && l.Path.Root == u.path.Root {
		at := u.path.Fields
		for !strings.HasPrefix(l.Path.Fields, at+".") {
			i := strings.LastIndexByte(at, '.')
			if i < 0 {
				return g, false
			}
			at = at[:i]
			g.trim++
		}
		g.suffix = l.Path.Fields[len(at):]
		return g, !strings.Contains(g.suffix, "[")
	}
	if u.base == nil && l.Path.Fields == "" { // two local variables
		g.absolute, g.name = l.Path, l.Path.Root.Name
		return g, true
	}
	return g, false
}

// variableOfClass returns the field or variable that has a lock.
func (p *program) variableOfClass(class static.Key) *types.Var {
	f := p.File(class.File)
	if f == nil {
		return nil
	}
	for id, obj := range f.Info().Defs {
		if v, ok := obj.(*types.Var); ok && id.Name == class.Name && p.Key(v) == class {
			return v
		}
	}
	for _, obj := range f.Info().Implicits { // not fields
		if v, ok := obj.(*types.Var); ok && p.Key(v) == class {
			return v
		}
	}
	return p.embeddedField(f, class)
}

// embeddedField finds an embedded field, which has no definition of its own.
func (p *program) embeddedField(f *static.File, class static.Key) (found *types.Var) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		if t, ok := f.Info().TypeOf(st).(*types.Struct); ok {
			for field := range t.Fields() {
				if p.Key(field) == class {
					found = field
				}
			}
		}
		return true
	})
	return found
}

// newField returns a new mutex beside a field.
func (p *program) newField(t *target, exported bool) *guard {
	st := p.structOf(t.first().ident)
	if st == nil {
		return nil
	}
	taken := map[string]bool{}
	if typ, ok := t.file.Info().TypeOf(st).(*types.Struct); ok {
		for field := range typ.Fields() {
			taken[field.Name()] = true
		}
	}
	if spec := p.typeSpec(t.first().ident); spec != nil {
		if named, ok := t.file.Info().Defs[spec.Name].Type().(*types.Named); ok {
			for m := range named.Methods() {
				taken[m.Name()] = true
			}
		}
	}
	names := []string{"mu", lowered(t.first().v.Name()) + "Mu"}
	if exported { // other packages of the module access it, too
		names = []string{"Mu", raised(t.first().v.Name()) + "Mu"}
	}
	name := unused(names, taken)
	if name == "" {
		return nil
	}
	return &guard{class: static.Key{Name: "new " + t.first().key}, name: name, suffix: "." + name}
}

// newVariable returns a new mutex in a variable: beside a local variable, or at package level.
func (p *program) newVariable(t *target, exported bool) *guard {
	taken := map[string]bool{}
	for _, f := range p.Files() {
		if f.Package.PkgPath != t.file.Package.PkgPath {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (t.fn == nil || within(t.fn.Node, id)) {
				taken[id.Name] = true
			}
			return true
		})
	}
	name := lowered(t.first().v.Name()) + "Mu"
	names := []string{name}
	if t.fn != nil && !t.isField() {
		names = []string{"mu", name}
	} else if spec := p.typeSpec(t.first().ident); spec != nil && t.isField() {
		names = []string{lowered(spec.Name.Name) + raised(name)}
	}
	if exported {
		for i := range names {
			names[i] = raised(names[i])
		}
	}
	g := &guard{class: static.Key{Name: "new " + t.first().key}, name: unused(names, taken), home: t.file.Package.Types.Path()}
	g.absolute = static.Path{Root: static.Key{Name: g.name, File: "new"}, Global: true}
	if g.name == "" {
		return nil
	}
	return g
}

func within(outer, inner ast.Node) bool {
	return outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
}

// unused returns the first name that is not taken, or "".
func unused(names []string, taken map[string]bool) string {
	for _, name := range names {
		if !taken[name] {
			return name
		}
	}
	return ""
}

func lowered(name string) string {
	upper := strings.TrimLeftFunc(name, unicode.IsUpper)
	n := len(name) - len(upper)
	if n > 1 && upper != "" {
		n-- // the last of several is the start of the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}

func raised(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
