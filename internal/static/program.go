package static

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// A Program is the source of a module as syntax with types: its files, its functions, and how they are used. It is
// not changed after NewProgram, so that several goroutines may use it.
type Program struct {
	Fset      *token.FileSet
	Packages  []*packages.Package
	Functions []*Function // in the order of the source: by the names of files, and in each from its beginning

	files    map[string]*File
	parents  map[ast.Node]ast.Node
	byNode   map[ast.Node]*Function
	declared map[Key]*Function
	methods  map[string][]*Function
	values   []*Function
}

// A File is a file of a Program.
type File struct {
	Path    string // where it is read; absolute
	Source  string // the file that its first line comes from: another one if a generator, such as cgo, has written it
	Syntax  *ast.File
	Package *packages.Package
}

// Cgo reports whether the syntax is what cgo has made of a file.
func (f *File) Cgo() bool { return f.Source != f.Path && filepath.Ext(f.Source) == ".go" }

// Info has the types of the file's package.
func (f *File) Info() *types.Info { return f.Package.TypesInfo }

// A Function is a function, method or function literal with a body.
type Function struct {
	*File
	Number int           // its index in Functions
	Node   ast.Node      // *ast.FuncDecl or *ast.FuncLit
	Decl   *ast.FuncDecl // itself, or the one that it stands in; nil in the initial value of a variable
	Type   *ast.FuncType
	Body   *ast.BlockStmt
	Parent *Function // the function that a literal stands in, or nil
}

// Name returns the name of a declared function, and says of a literal what it is.
func (fn *Function) Name() string {
	if decl, ok := fn.Node.(*ast.FuncDecl); ok {
		return decl.Name.Name
	}
	return "function literal"
}

// Recv returns the receiver of a method, or nil.
func (fn *Function) Recv() *ast.FieldList {
	if decl, ok := fn.Node.(*ast.FuncDecl); ok {
		return decl.Recv
	}
	return nil
}

// A Key identifies what is declared. Packages that import each other have different types.Objects for the same
// declaration.
type Key struct {
	Name, File string
	Line, Col  int
}

// NewProgram returns the source of packages, which are loaded with their syntax. A file that is part of several packages,
// such as one and the same with its tests, counts once.
func NewProgram(fset *token.FileSet, all []*packages.Package) *Program {
	p := &Program{
		Fset: fset, Packages: all, files: map[string]*File{}, parents: map[ast.Node]ast.Node{},
		byNode: map[ast.Node]*Function{}, declared: map[Key]*Function{}, methods: map[string][]*Function{},
	}
	for _, pkg := range all {
		for _, syntax := range pkg.Syntax {
			name := fset.PositionFor(syntax.Package, false).Filename
			if p.files[name] == nil {
				p.files[name] = &File{Path: name, Source: fset.Position(syntax.Package).Filename, Syntax: syntax, Package: pkg}
			}
		}
	}
	for _, f := range p.Files() {
		p.addFile(f)
	}
	p.findValues()
	return p
}

// Files returns the files, ordered by path.
func (p *Program) Files() (files []*File) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		files = append(files, p.files[name])
	}
	return files
}

// File returns the file with a path, or nil.
func (p *Program) File(path string) *File { return p.files[path] }

// Parent returns the node that has n, or nil.
func (p *Program) Parent(n ast.Node) ast.Node { return p.parents[n] }

// Of returns the function that a declaration or literal is, or nil.
func (p *Program) Of(n ast.Node) *Function { return p.byNode[n] }

// Around returns the function that a node stands in, or nil.
func (p *Program) Around(n ast.Node) *Function {
	for n = p.parents[n]; n != nil; n = p.parents[n] {
		if fn := p.byNode[n]; fn != nil {
			return fn
		}
	}
	return nil
}

// Declared returns the function with a body that fn is, or nil.
func (p *Program) Declared(fn *types.Func) *Function { return p.declared[p.Key(fn)] }

// Methods returns the methods with a name, of all types. A call through an interface calls one of them, or one of
// another module.
func (p *Program) Methods(name string) []*Function { return p.methods[name] }

// exportedMethods returns the exported methods of all types.
func (p *Program) exportedMethods() (out []*Function) {
	for _, fn := range p.Functions {
		if decl, ok := fn.Node.(*ast.FuncDecl); ok && decl.Recv != nil && decl.Name.IsExported() {
			out = append(out, fn)
		}
	}
	return out
}

// Values returns the functions that are used other than by calling them. A call of a function value calls one of them, or
// one of another module.
func (p *Program) Values() []*Function { return p.values }

// Key returns the identity of what is declared.
func (p *Program) Key(obj types.Object) Key {
	switch o := obj.(type) {
	case *types.Var:
		obj = o.Origin()
	case *types.Func:
		obj = o.Origin()
	}
	at := p.Fset.PositionFor(obj.Pos(), false)
	return Key{obj.Name(), at.Filename, at.Line, at.Column}
}

// addFile finds the functions of a file, and the parents of its nodes.
func (p *Program) addFile(f *File) {
	var stack []ast.Node
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			p.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body == nil {
				break
			}
			fn := p.add(&Function{File: f, Node: n, Decl: n, Type: n.Type, Body: n.Body})
			if obj, ok := f.Info().Defs[n.Name].(*types.Func); ok {
				p.declared[p.Key(obj)] = fn
			}
			if n.Recv != nil {
				p.methods[n.Name.Name] = append(p.methods[n.Name.Name], fn)
			}
		case *ast.FuncLit:
			fn := p.add(&Function{File: f, Node: n, Type: n.Type, Body: n.Body, Parent: p.Around(n)})
			if fn.Parent != nil {
				fn.Decl = fn.Parent.Decl
			}
		}
		return true
	})
}

func (p *Program) add(fn *Function) *Function {
	fn.Number = len(p.Functions)
	p.Functions = append(p.Functions, fn)
	p.byNode[fn.Node] = fn
	return fn
}

// findValues finds the functions that are used other than by calling them.
func (p *Program) findValues() {
	taken := map[*Function]bool{}
	for _, f := range p.Files() {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				if !p.called(n) {
					taken[p.byNode[n]] = true
				}
			case *ast.Ident:
				switch fn, ok := f.Info().Uses[n].(*types.Func); {
				case !ok || p.called(n):
				case throughInterface(fn):
					for _, method := range p.Methods(fn.Name()) {
						taken[method] = true
					}
				default:
					taken[p.Declared(fn)] = true
				}
			}
			return true
		})
	}
	for _, fn := range p.Functions {
		if taken[fn] {
			p.values = append(p.values, fn)
		}
	}
}

// called reports whether a literal or a name of a function is what a call calls: by itself, or as a method or an instance.
func (p *Program) called(n ast.Node) bool {
	for {
		switch outer := p.parents[n].(type) {
		case *ast.CallExpr:
			return outer.Fun == n
		case *ast.SelectorExpr:
			if outer.Sel != n {
				return false
			}
		case *ast.IndexExpr:
			if outer.X != n {
				return false
			}
		case *ast.IndexListExpr:
			if outer.X != n {
				return false
			}
		case *ast.ParenExpr:
		default:
			return false
		}
		n = p.parents[n]
	}
}

// Own calls visit with the nodes of a function without those in literals in it.
func Own(n ast.Node, visit func(ast.Node)) {
	ast.Inspect(n, func(inner ast.Node) bool {
		if inner == nil {
			return false
		}
		visit(inner)
		_, literal := inner.(*ast.FuncLit)
		return !literal || inner == n
	})
}
