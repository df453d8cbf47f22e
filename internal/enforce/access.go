package enforce

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/static"
)

// access is an access to a variable by its name.
type access struct {
	variable string
	write    bool
	at       token.Pos
	made     bool // the variable is made here, so that nobody else can access it
	// object is what has the variable, if the source shows it; see Program.object.
	object *types.Var
	parts  bool   // the variable may be accessed in parts
	method bool   // it is a call of a method of sync.Map
	member string // of a group: the variable that is accessed; see Program.grouped
}

// accessesIn returns the accesses in a node, without those of literals in it.
func (p *Program) accessesIn(info *types.Info, root ast.Node) (out []access) {
	add := func(e ast.Expr, variable string, write bool) {
		object := p.object(info, e, variable)
		a := access{
			variable: variable, write: write, at: e.Pos(), object: object, parts: object != nil && p.inParts(info.TypeOf(e)),
			method: isSyncMap(types.Unalias(static.Deref(info.TypeOf(e)))),
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	made := func(e ast.Node, t types.Type) {
		for _, name := range p.structVariables(t) {
			if a := (access{variable: name, write: true, at: e.Pos(), made: true}); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	static.Own(root, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Ident, *ast.SelectorExpr:
			e := n.(ast.Expr)
			if sel, ok := p.src.Parent(n).(*ast.SelectorExpr); ok && sel.Sel == n {
				return
			}
			if id, ok := n.(*ast.Ident); ok && info.Uses[id] == nil {
				return
			}
			if kv, ok := p.src.Parent(n).(*ast.KeyValueExpr); ok && kv.Key == n {
				if lit, ok := p.src.Parent(kv).(*ast.CompositeLit); ok {
					if _, ok := underlying(info.TypeOf(lit)).(*types.Map); !ok {
						return // the name of a field, or an index
					}
				}
			}
			for _, name := range p.named(info, e) {
				p.use(info, e, func(read, write bool) {
					if read {
						add(e, name, false)
					}
					if write {
						add(e, name, true)
					}
				}, name)
			}
		case *ast.CompositeLit:
			made(n, info.TypeOf(n))
		case *ast.ValueSpec:
			for _, id := range n.Names {
				if v := info.Defs[id]; v != nil {
					made(id, v.Type())
				}
			}
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "new" && len(n.Args) == 1 {
				made(n, info.TypeOf(n.Args[0]))
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					made(left, info.TypeOf(left))
				}
			}
		case *ast.StarExpr, *ast.IndexExpr:
			e := n.(ast.Expr)
			if st := p.structVariables(info.TypeOf(e)); st != nil && info.Types[e].IsValue() && p.whole(info, e) {
				write := p.assigned(e)
				for _, name := range st {
					add(e, name, write)
				}
			}
		}
	})
	return out
}

// named returns the variables that an expression names: a package-level variable or a field, and the fields of a
// struct that is accessed as a whole.
func (p *Program) named(info *types.Info, e ast.Expr) (names []string) {
	var v *types.Var
	switch e := e.(type) {
	case *ast.Ident:
		v, _ = info.Uses[e].(*types.Var)
	case *ast.SelectorExpr:
		v, _ = info.Uses[e.Sel].(*types.Var)
	}
	if v == nil || synchronizes(v.Type()) {
		return nil
	}
	name := p.fields[p.src.Key(v)]
	if name == "" {
		return nil
	}
	if st := p.structVariables(v.Type()); st != nil {
		if p.whole(info, e) {
			return st
		}
		return nil
	}
	return []string{name}
}

// structVariables returns the variables of the fields of a struct type of the module; nil for other types.
func (p *Program) structVariables(t types.Type) (names []string) {
	if t == nil {
		return nil
	}
	if isAtomic(t) || isSyncMap(types.Unalias(t)) {
		return nil
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	names = []string{}
	for i := range st.NumFields() {
		f := st.Field(i)
		if synchronizes(f.Type()) {
			continue
		}
		if inner := p.structVariables(f.Type()); inner != nil {
			names = append(names, inner...)
		} else if name := p.fields[p.src.Key(f)]; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// synchronizes reports whether a type is one of package sync, other than Map, whose methods are accesses.
func synchronizes(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "sync" && !isSyncMap(n)
}

// isSyncMap reports whether a type is sync.Map.
func isSyncMap(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "sync" && n.Obj().Name() == "Map"
}

// looksIntoMap has the methods of sync.Map that only read.
var looksIntoMap = map[string]bool{"Load": true, "Range": true}

// isAtomic reports whether a type is one of package sync/atomic.
func isAtomic(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "sync/atomic"
}

// whole reports whether the struct that an expression names is read or written, and not only a part of it.
func (p *Program) whole(info *types.Info, e ast.Expr) bool {
	switch outer := p.src.Parent(e).(type) {
	case *ast.ParenExpr:
		return p.whole(info, outer)
	case *ast.SelectorExpr:
		if s := info.Selections[outer]; s != nil && s.Kind() == types.MethodVal {
			_, pointer := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
			return !pointer && !types.IsInterface(s.Recv())
		}
		return false
	case *ast.UnaryExpr:
		return outer.Op != token.AND
	case *ast.StarExpr:
		return false
	}
	return true
}

// assigned reports whether an expression stands on the left of an assignment.
func (p *Program) assigned(e ast.Expr) bool {
	switch outer := p.src.Parent(e).(type) {
	case *ast.ParenExpr:
		return p.assigned(outer)
	case *ast.AssignStmt:
		return slices.Contains(outer.Lhs, e)
	case *ast.IncDecStmt:
		return true
	case *ast.RangeStmt:
		return outer.Key == e || outer.Value == e
	}
	return false
}

// use finds out whether a variable is read or written where an expression names it.
func (p *Program) use(info *types.Info, e ast.Expr, found func(read, write bool), name string) {
	var inner ast.Node = e
	part := false // an element of the variable, or what it points to
	for {
		outer := p.src.Parent(inner)
		switch outer := outer.(type) {
		case *ast.ParenExpr:
		case *ast.StarExpr:
			part = true
		case *ast.SelectorExpr:
			s := info.Selections[outer]
			if s == nil || s.Kind() != types.MethodVal {
				found(true, false) // of a pointer; the field is another variable
				return
			}
			fn := s.Obj().(*types.Func)
			if isSyncMap(types.Unalias(static.Deref(s.Recv()))) {
				found(true, !looksIntoMap[fn.Name()])
				return
			}
			if fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" {
				load := fn.Name() == "Load"
				found(load, !load)
				return
			}
			_, pointer := fn.Signature().Recv().Type().(*types.Pointer)
			if _, already := info.TypeOf(inner.(ast.Expr)).Underlying().(*types.Pointer); pointer && !already {
				p.escapes(name, e.Pos())
			}
			found(true, false)
			return
		case *ast.IndexExpr:
			if outer.X != inner {
				found(true, false)
				return
			}
			part = true
			if !p.isPart(info, outer) {
				found(true, false)
				return
			}
		case *ast.SliceExpr:
			found(true, false)
			return
		case *ast.UnaryExpr:
			if outer.Op != token.AND {
				found(true, false)
				return
			}
			if call, ok := p.src.Parent(outer).(*ast.CallExpr); ok {
				if fn := static.Callee(info, call); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" {
					load := strings.HasPrefix(fn.Name(), "Load")
					found(load, !load)
					return
				}
			}
			p.escapes(name, e.Pos())
			found(true, true)
			return
		case *ast.IncDecStmt:
			found(true, true)
			return
		case *ast.RangeStmt:
			write := outer.Key == inner || outer.Value == inner
			found(!write, write)
			return
		case *ast.AssignStmt:
			for _, left := range outer.Lhs {
				if left == inner {
					found(outer.Tok != token.ASSIGN && outer.Tok != token.DEFINE || part, true)
					return
				}
			}
			found(true, false)
			return
		case *ast.CallExpr:
			if id, ok := ast.Unparen(outer.Fun).(*ast.Ident); ok && len(outer.Args) > 0 && outer.Args[0] == inner {
				if _, builtin := info.Uses[id].(*types.Builtin); builtin {
					switch id.Name {
					case "delete", "clear", "copy":
						found(true, true)
						return
					}
				}
			}
			found(true, false)
			return
		default:
			found(true, false)
			return
		}
		inner = outer
	}
}

// isPart reports whether an element is part of its variable, rather than a struct whose fields are variables.
func (p *Program) isPart(info *types.Info, e ast.Expr) bool {
	t := info.TypeOf(e)
	if t == nil || p.structVariables(t) != nil {
		return false
	}
	_, pointer := t.Underlying().(*types.Pointer)
	return !pointer || p.assigned(e)
}

// escapes notes that the address of a variable is taken.
func (p *Program) escapes(name string, at token.Pos) {
	if first, ok := p.addressed[name]; !ok || at < first {
		p.addressed[name] = at
	}
}

// findSites finds out which variables are accessed on each line. A statement of several lines accesses its variables
// on all of them, because the line tables of compilers differ.
func (p *Program) findSites() {
	addTo := func(sites map[place]map[bool][]string, at place, a access) {
		if sites[at] == nil {
			sites[at] = map[bool][]string{}
		}
		if !slices.Contains(sites[at][a.write], a.variable) {
			sites[at][a.write] = append(sites[at][a.write], a.variable)
		}
	}
	add := func(at place, a access) {
		addTo(p.sites, at, a)
		if a.method && !a.write { // a sync.Map may write to find what it reads
			addTo(p.sites, at, access{variable: a.variable, write: true})
			addTo(p.known, at, access{variable: a.variable, write: true})
		}
		if !a.made {
			addTo(p.known, at, a)
			p.written[a.variable] = p.written[a.variable] || a.write
		}
	}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			for _, part := range s.parts {
				first, last := p.lines(part)
				literal := hasLiteral(part)
				for _, a := range p.accessesIn(u.Info(), part) {
					from, to := first, last
					if literal { // its lines are those of another function
						from, to = p.lineOf(a.at), p.lineOf(a.at)
						add(place{u.Path, first}, a)
					}
					for line := from; line <= to; line++ {
						add(place{u.Path, line}, a)
					}
				}
			}
		}
	}
	p.findInitialSites(add)
	p.findCapturedSites(add)
	for _, byOp := range p.sites {
		for _, names := range byOp {
			slices.Sort(names)
		}
	}
}

// findInitialSites finds the accesses that make package-level variables, in their declarations.
func (p *Program) findInitialSites(add func(place, access)) {
	for _, f := range p.src.Files() {
		for _, d := range f.Syntax.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				all := p.accessesIn(f.Info(), s)
				for _, id := range s.(*ast.ValueSpec).Names {
					if name := p.fields[p.src.Key(f.Info().Defs[id])]; name != "" {
						all = append(all, access{variable: name, write: true, at: id.Pos(), made: true}, access{variable: name, at: id.Pos(), made: true})
					}
				}
				first, last := p.lines(s)
				if hasLiteral(s) { // its lines are those of a function
					last = first
				}
				for _, a := range all {
					for line := first; line <= last; line++ {
						add(place{f.Path, line}, a)
					}
				}
			}
		}
	}
}

func (p *Program) lineOf(pos token.Pos) int { return p.src.Fset.PositionFor(pos, false).Line }

// lines returns the first and last line of a node.
func (p *Program) lines(n ast.Node) (first, last int) { return p.lineOf(n.Pos()), p.lineOf(n.End()) }

func hasLiteral(n ast.Node) (found bool) {
	ast.Inspect(n, func(inner ast.Node) bool {
		_, ok := inner.(*ast.FuncLit)
		found = found || ok
		return !found
	})
	return found
}
