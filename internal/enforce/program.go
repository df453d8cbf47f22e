package enforce

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// ErrSource is wrapped by errors of Load about source that does not compile.
var ErrSource = errors.New("the source cannot be analyzed")

// Program is the source of a module.
type Program struct {
	root    string
	version string // of the language, in go.mod
	fset    *token.FileSet
	files   map[string]*file // by absolute name
	units   []*unit          // in the order of the source
	byNode  map[ast.Node]*unit
	byFunc  map[key]*unit
	// methods has the methods of the module by name, for calls through interfaces.
	methods map[string][]*unit
	values  []*unit // used other than by calling them
	// groups has the functions that one call may call, by their numbers. A group is a target of calls with a number from
	// len(units) on.
	groups      [][]int
	groupOf     map[string]int
	callbacksBy map[types.Type][]int
	callers     [][]int // by target: functions and groups that may call it, each once
	fields      map[key]string
	parents     map[ast.Node]ast.Node

	sites     map[place]map[bool][]string // variables that are accessed on a line, by whether they are written
	known     map[place]map[bool][]string // the same without variables that are only made there
	addressed map[string]token.Pos        // variables whose address is taken
	written   map[string]bool             // variables that are written other than where they are made

	packages    map[string]bool         // of the module, by path
	definitions map[*types.Var]ast.Expr // of local variables that keep their value
	changed     map[*types.Var]bool     // variables that are assigned other than where they are defined, or whose address is taken
	looping     map[*types.Var]bool     // see findLooping

	reach map[string][]reaching // by variable and target; made when it is wanted

	redirects bool // it may read its own standard output
	bubbles   bool // it uses testing/synctest
}

// key identifies what is declared. Packages that import each other have different types.Objects for the same
// declaration.
type key struct {
	name, file string
	line, col  int
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// file is a file of the module.
type file struct {
	name   string
	syntax *ast.File
	pkg    *packages.Package
	cgo    bool // the syntax is what cgo has made of the file
}

// unit is a function or function literal with a body.
type unit struct {
	number int
	file   *file
	node   ast.Node // *ast.FuncDecl or *ast.FuncLit
	typ    *ast.FuncType
	body   *ast.BlockStmt
	parent *unit // around a literal
	decl   *ast.FuncDecl
	flow   *flow
	// outline has what is the same for all plans; nil until it is wanted.
	outline *heal.Function
	direct  map[string]bool // variables that it accesses, and whether it writes them
}

func (u *unit) info() *types.Info { return u.file.pkg.TypesInfo }

// Load type-checks the module in the folder root, with its tests. tags are build tags besides race.
func Load(ctx context.Context, root string, tags []string) (*Program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	l, err := ssaload.Source{Dir: root, Packages: []string{"./..."}, Tags: tags, Tests: true}.LoadAll(ctx)
	if err == nil {
		err = l.Err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	p := &Program{
		root: root, fset: l.Fset, files: map[string]*file{}, byNode: map[ast.Node]*unit{}, byFunc: map[key]*unit{},
		methods: map[string][]*unit{}, fields: map[key]string{},
		parents: map[ast.Node]ast.Node{}, sites: map[place]map[bool][]string{}, addressed: map[string]token.Pos{},
		known: map[place]map[bool][]string{}, written: map[string]bool{},
		packages: map[string]bool{}, groupOf: map[string]int{}, callbacksBy: map[types.Type][]int{},
		reach: map[string][]reaching{},
	}
	for _, pkg := range l.Packages {
		p.packages[pkg.PkgPath] = true
		p.packages[pkg.Types.Path()] = true
		if pkg.Module != nil {
			p.version = pkg.Module.GoVersion
		}
		for _, syntax := range pkg.Syntax {
			p.addFile(pkg, syntax)
		}
	}
	if p.version == "" {
		p.version = "1.16" // as the go command does
	}
	for _, f := range p.sortedFiles() {
		p.addTypes(f)
	}
	for _, f := range p.sortedFiles() {
		p.addFunctions(f)
	}
	p.findValues()
	p.findOutputs()
	p.findDefinitions()
	p.findLooping()
	for _, u := range p.units {
		u.flow = p.flowOf(u)
		u.direct = map[string]bool{}
		for _, s := range u.flow.steps {
			for _, a := range s.accesses {
				if !a.made {
					u.direct[a.variable] = u.direct[a.variable] || a.write
				}
			}
		}
	}
	p.findCallers()
	p.findSites()
	return p, nil
}

func (p *Program) addFile(pkg *packages.Package, syntax *ast.File) {
	name := p.fset.PositionFor(syntax.Package, false).Filename
	if p.files[name] != nil { // in another variant of the package
		return
	}
	rel, err := filepath.Rel(p.root, name)
	f := &file{name: name, syntax: syntax, pkg: pkg}
	f.cgo = err != nil || !filepath.IsLocal(rel) || p.fset.Position(syntax.Package).Filename != name
	p.files[name] = f
	var stack []ast.Node
	ast.Inspect(syntax, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			p.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
}

func (p *Program) sortedFiles() []*file {
	var all []*file
	for _, f := range p.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	return all
}

// key returns the identity of what is declared.
func (p *Program) key(obj types.Object) key {
	switch o := obj.(type) {
	case *types.Var:
		obj = o.Origin()
	case *types.Func:
		obj = o.Origin()
	}
	at := p.fset.PositionFor(obj.Pos(), false)
	return key{obj.Name(), at.Filename, at.Line, at.Column}
}

// addTypes names the package-level variables of a file and the fields of its struct types.
func (p *Program) addTypes(f *file) {
	pkg := strings.TrimSuffix(f.pkg.PkgPath, ".test")
	for _, d := range f.syntax.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if v, ok := f.pkg.TypesInfo.Defs[name].(*types.Var); ok {
						p.fields[p.key(v)] = pkg + "." + v.Name()
						p.addStruct(f, pkg+"."+v.Name(), s.Type)
					}
				}
			case *ast.TypeSpec:
				p.addStruct(f, pkg+"."+s.Name.Name, s.Type)
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool { // types within functions, and without names
		switch n := n.(type) {
		case *ast.TypeSpec:
			p.addStruct(f, pkg+"."+n.Name.Name, n.Type)
		case *ast.StructType:
			at := p.fset.PositionFor(n.Pos(), false)
			p.addStruct(f, fmt.Sprintf("%s.struct@%s:%d", pkg, filepath.Base(at.Filename), at.Line), n)
		}
		return true
	})
}

// addStruct names the fields of a struct type.
func (p *Program) addStruct(f *file, name string, typ ast.Expr) {
	st, ok := typ.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range st.Fields.List {
		names := field.Names
		if len(names) == 0 {
			if id := embeddedName(field.Type); id != nil {
				names = []*ast.Ident{id}
			}
		}
		for _, id := range names {
			v, ok := f.pkg.TypesInfo.Defs[id].(*types.Var)
			if !ok {
				if v, ok = embeddedField(f.pkg.TypesInfo, st, id); !ok {
					continue
				}
			}
			if k := p.key(v); p.fields[k] == "" {
				p.fields[k] = name + "." + v.Name()
				p.addStruct(f, name+"."+v.Name(), field.Type)
			}
		}
	}
}

func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	}
	return nil
}

// embeddedField returns the embedded field with the name id.
func embeddedField(info *types.Info, st *ast.StructType, id *ast.Ident) (*types.Var, bool) {
	t, ok := info.TypeOf(st).(*types.Struct)
	if !ok {
		return nil, false
	}
	for i := range t.NumFields() {
		if v := t.Field(i); v.Embedded() && v.Name() == id.Name {
			return v, true
		}
	}
	return nil, false
}

// addFunctions finds the functions and literals of a file.
func (p *Program) addFunctions(f *file) {
	var decl *ast.FuncDecl
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			decl = n
			if n.Body == nil {
				return false
			}
			u := p.addUnit(&unit{file: f, node: n, typ: n.Type, body: n.Body, decl: n})
			if obj, ok := f.pkg.TypesInfo.Defs[n.Name].(*types.Func); ok {
				p.byFunc[p.key(obj)] = u
			}
			if n.Recv != nil {
				p.methods[n.Name.Name] = append(p.methods[n.Name.Name], u)
			}
		case *ast.GenDecl:
			if p.parents[n] == f.syntax {
				decl = nil
			}
		case *ast.FuncLit:
			p.addUnit(&unit{file: f, node: n, typ: n.Type, body: n.Body, decl: decl, parent: p.around(n)})
		}
		return true
	})
}

func (p *Program) addUnit(u *unit) *unit {
	u.number = len(p.units)
	p.units = append(p.units, u)
	p.byNode[u.node] = u
	return u
}

// around returns the function that a node stands in, or nil.
func (p *Program) around(n ast.Node) *unit {
	for n = p.parents[n]; n != nil; n = p.parents[n] {
		if u := p.byNode[n]; u != nil {
			return u
		}
	}
	return nil
}

// findCallers finds the functions and groups that may call each function and group.
func (p *Program) findCallers() {
	p.callers = make([][]int, len(p.units)+len(p.groups))
	add := func(caller, target int) {
		all := p.callers[target]
		if n := len(all); n == 0 || all[n-1] != caller { // callers come in order
			p.callers[target] = append(all, caller)
		}
	}
	for i, u := range p.units {
		for _, s := range u.flow.steps {
			for _, c := range s.calls {
				for _, target := range c.targets {
					add(i, target)
				}
			}
		}
	}
	for i, members := range p.groups {
		for _, member := range members {
			add(len(p.units)+i, member)
		}
	}
}

// findValues finds the functions that are used other than by calling them.
func (p *Program) findValues() {
	taken := map[*unit]bool{}
	for _, f := range p.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				if call, ok := p.parents[n].(*ast.CallExpr); !ok || call.Fun != n {
					taken[p.byNode[n]] = true
				}
			case *ast.Ident:
				fn, ok := f.pkg.TypesInfo.Uses[n].(*types.Func)
				if !ok {
					return true
				}
				var whole ast.Node = n
				for {
					outer := p.parents[whole]
					if sel, ok := outer.(*ast.SelectorExpr); ok && sel.Sel == whole {
						whole = sel
					} else if index, ok := outer.(*ast.IndexExpr); ok && index.X == whole {
						whole = index
					} else {
						break
					}
				}
				if call, ok := p.parents[whole].(*ast.CallExpr); ok && call.Fun == whole {
					return true
				}
				if u := p.byFunc[p.key(fn)]; u != nil {
					taken[u] = true
				}
			}
			return true
		})
	}
	for _, u := range p.units {
		if taken[u] {
			p.values = append(p.values, u)
		}
	}
}

func (p *Program) relative(name string) string {
	if rel, err := filepath.Rel(p.root, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name
}
